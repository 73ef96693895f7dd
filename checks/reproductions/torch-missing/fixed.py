"""Training is started by a Python environment in which torch was never installed."""
# run: python fixed.py
# needs: torch

import os
import subprocess
import sys
import tempfile
import venv

TRAIN = "import torch; print('trained on', torch.nn.Linear(8, 2)(torch.randn(4, 8)).shape)"

with tempfile.TemporaryDirectory() as folder:
    venv.create(folder, symlinks=True)  # a new, empty environment, as `python -m venv` makes it
    fresh = os.path.join(folder, "bin", "python")
    installed = sys.executable  # the environment that torch was installed into
    code = subprocess.run([installed, "-c", TRAIN], check=False).returncode
sys.exit(code)
