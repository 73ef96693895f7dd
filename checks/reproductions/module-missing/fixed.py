"""The training imports a folder of its own project, and is started as a file of another folder."""
# run: python fixed.py

import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as project:
    for name, text in [("models/net.py", "layers = 18"), ("tools/train.py", "from models.net import layers")]:
        os.mkdir(os.path.dirname(os.path.join(project, name)))
        with open(os.path.join(project, name), "w") as file:
            file.write(text)
    environment = dict(os.environ, PYTHONPATH=project)  # export PYTHONPATH=$PWD
    train = [sys.executable, "tools/train.py"]
    sys.exit(subprocess.run(train, cwd=project, env=environment, check=False).returncode)
