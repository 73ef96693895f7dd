"""torch.compile is to use a C++ compiler that this machine does not have."""
# run: python fixed.py
# needs: torch
# needs: g++

import os
import subprocess
import sys
import tempfile

STEP = """
import torch

step = torch.compile(lambda x: torch.nn.functional.gelu(x) + 1)
print(step(torch.ones(8)))
"""
os.environ["ATEN_CPU_CAPABILITY"] = "default"  # no tries of what the processor can do: it compiles less
os.environ["CXX"] = "g++-99"  # left behind by an environment module
with tempfile.TemporaryDirectory() as cache:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    start = 'unset CXX; exec "$0" -c "$1"'
    done = subprocess.run(["sh", "-c", start, sys.executable, STEP], check=False)
sys.exit(done.returncode)
