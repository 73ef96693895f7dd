"""The compiled operators of torchvision, built for another torch, do not load: nms is missing."""
# run: python broken.py
# needs: torch
# needs: torchvision
# needs: Linux

import importlib.util
import os
import subprocess
import sys
import tempfile

TRAIN = """
import torch, torchvision
boxes = torch.tensor([[0.0, 0.0, 9.0, 9.0], [1.0, 1.0, 9.0, 9.0]])
print("kept", torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.5))
"""

torchvision = importlib.util.find_spec("torchvision").submodule_search_locations[0]  # not imported
with tempfile.TemporaryDirectory() as folder:
    copy = os.path.join(folder, "torchvision")  # links to all of it
    os.mkdir(copy)
    for name in os.listdir(torchvision):
        if name.startswith("_C"):  # the compiled operators: to a foreign torch, as good as absent
            continue
        os.symlink(os.path.join(torchvision, name), os.path.join(copy, name))
    environment = dict(os.environ, PYTHONPATH=folder)
    code = subprocess.run([sys.executable, "-c", TRAIN], env=environment, check=False).returncode
sys.exit(code)
