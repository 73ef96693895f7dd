"""The configuration is looked for where the job starts, and lies beside the script."""
# run: python fixed.py
# needs: torch

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import json
from pathlib import Path

import torch

config = json.load(open(Path(__file__).parent / "configs/train_config.json"))
model = torch.nn.Linear(4, config["width"])
print("built a layer of", model.out_features)
"""

with tempfile.TemporaryDirectory() as folder:
    project = Path(folder) / "project"
    os.makedirs(project / "configs")
    (project / "configs" / "train_config.json").write_text(json.dumps({"width": 2}))
    (project / "train.py").write_text(SCRIPT)
    # a scheduler starts the job in another folder than the project's
    sys.exit(subprocess.run([sys.executable, project / "train.py"], cwd=folder).returncode)
