"""MASTER_ADDR is this machine's own name, and neither /etc/hosts nor DNS knows that name."""
# run: python broken.py
# needs: torch
# needs: root
# needs: Linux

import datetime
import os
import socket
import sys

if len(sys.argv) == 1:  # start again as a machine of that name; the real one keeps its own
    rename = 'hostname trainer-7.invalid && exec "$@"'
    again = [sys.executable, __file__, "train"]
    os.execvp("unshare", ["unshare", "--uts", "sh", "-c", rename, "sh"] + again)

import torch
import torch.distributed as dist

os.environ["MASTER_ADDR"] = socket.gethostname()
os.environ["MASTER_PORT"] = "0"  # any free one
dist.init_process_group("gloo", rank=0, world_size=1, timeout=datetime.timedelta(seconds=3))

gradient = torch.ones(8)
dist.all_reduce(gradient)
print(f"trained on {socket.gethostname()}")

dist.destroy_process_group()
