"""The user may have few processes and threads, and the loader wants many workers."""
# run: python fixed.py
# needs: torch
# needs: Linux

import ctypes
import os
import resource

import torch
from torch.utils.data import DataLoader, TensorDataset

images = TensorDataset(torch.arange(64))
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 0)  # nobody: root has no such limit
    ctypes.CDLL(None).setfsuid(0)  # but Python may lie where only root reads
mine = [p for p in os.listdir("/proc") if p.isdigit() and os.stat(f"/proc/{p}").st_uid == os.geteuid()]
threads = sum(len(os.listdir(f"/proc/{p}/task")) for p in mine)
resource.setrlimit(resource.RLIMIT_NPROC, (threads + 16, threads + 16))  # ulimit -u

loader = DataLoader(images, num_workers=2)
print("loaded", sum(int(x) for (x,) in loader))
