"""An installation of torch that was cut short (disk full, interrupted pip) lacks one of its libraries."""
# run: python fixed.py
# needs: torch
# needs: Linux

import importlib.util
import os
import subprocess
import sys
import tempfile

TRAIN = "import torch; print('trained on', torch.nn.Linear(8, 2)(torch.randn(4, 8)).shape)"


def install(source, target, leave_out=()):
    """Make target a folder of links to everything in source."""
    os.mkdir(target)
    for name in os.listdir(source):
        if name not in leave_out:
            os.symlink(os.path.join(source, name), os.path.join(target, name))


torch = importlib.util.find_spec("torch").submodule_search_locations[0]  # found, not imported
with tempfile.TemporaryDirectory() as folder:
    copy = os.path.join(folder, "torch")
    install(torch, copy, leave_out=["lib"])
    install(os.path.join(torch, "lib"), os.path.join(copy, "lib"))
    environment = dict(os.environ, PYTHONPATH=folder)
    code = subprocess.run([sys.executable, "-c", TRAIN], env=environment, check=False).returncode
sys.exit(code)
