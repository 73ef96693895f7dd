"""A file of the project has the name of a module that torch imports."""
# run: python broken.py
# needs: torch

import os
import subprocess
import sys
import tempfile

OWN = "random.py"

with tempfile.TemporaryDirectory() as project:
    for name, text in [(OWN, "def pick(items):\n    return items[0]\n"), ("train.py", "import torch")]:
        with open(os.path.join(project, name), "w") as file:
            file.write(text)
    sys.exit(subprocess.run([sys.executable, "train.py"], cwd=project, check=False).returncode)
