"""A rank of the last run still lives, and holds most of the GPU's memory."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import subprocess
import sys

import torch

LAST_RUN = """
import time, torch
memory = torch.cuda.get_device_properties(0).total_memory
held = torch.empty(memory * 6 // 10, dtype=torch.uint8, device="cuda:0")
print("holds it", flush=True)
time.sleep(60)
"""

last = subprocess.Popen([sys.executable, "-c", LAST_RUN], stdout=subprocess.PIPE)
last.stdout.readline()
try:
    memory = torch.cuda.get_device_properties(0).total_memory
    batch = torch.empty(memory * 6 // 10, dtype=torch.uint8, device="cuda:0")
    print(f"has its {batch.numel()} bytes")
finally:
    last.kill()
