"""A module that was loaded names the home of a Python that is not there."""
# run: python broken.py

import os
import subprocess
import sys

environment = dict(os.environ)
environment["PYTHONHOME"] = "/opt/python-that-is-gone"
sys.exit(subprocess.run([sys.executable, "-c", "print('trained')"], env=environment, check=False).returncode)
