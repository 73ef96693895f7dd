"""A module that was loaded names the home of a Python that is not there."""
# run: python fixed.py

import os
import subprocess
import sys

environment = dict(os.environ)
environment.pop("PYTHONHOME", None)  # unset PYTHONHOME
sys.exit(subprocess.run([sys.executable, "-c", "print('trained')"], env=environment, check=False).returncode)
