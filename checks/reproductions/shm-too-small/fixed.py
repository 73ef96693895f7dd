"""DataLoader workers pass batches through /dev/shm, and it is smaller than the batches in flight."""
# run: python fixed.py
# needs: torch
# needs: root
# needs: Linux

import os
import sys

SHM_SIZE = "1g"  # docker run --shm-size=1g

if len(sys.argv) == 1:  # start again inside a "container", which has its own /dev/shm
    mount = f'mount -t tmpfs -o size={SHM_SIZE} tmpfs /dev/shm && exec "$@"'
    again = [sys.executable, __file__, "train"]
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", mount, "sh"] + again)

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((3, 224, 224), float(index))


for batch in DataLoader(Images(), batch_size=64, num_workers=2, timeout=15):  # 37 MiB a batch
    print("trained on", tuple(batch.shape))
