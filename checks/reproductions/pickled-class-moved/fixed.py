"""A whole model was saved, and its module has moved."""
# run: python fixed.py
# needs: torch

import os
import subprocess
import sys
import tempfile

import torch

folder = tempfile.mkdtemp()
os.chdir(folder)
os.makedirs("project")
open("project/__init__.py", "w").close()
with open("models.py", "w") as file:
    file.write("from torch import nn\n\n\nclass Net(nn.Linear):\n    pass\n")
save = "import torch, models\ntorch.save(models.Net(2, 2), 'model.pt')"
subprocess.run([sys.executable, "-c", save], check=True, env={**os.environ, "PYTHONPATH": folder})
os.rename("models.py", "project/models.py")
sys.path.insert(0, folder)
import project.models

sys.modules["models"] = project.models
print(torch.load("model.pt", map_location="cpu", weights_only=False))
