"""The endpoint is an address of this machine that its own name does not lead to: nobody opens the store."""
# run: python broken.py
# needs: torch
# needs: root
# needs: namespaces
# needs: ip

import ctypes
import os
import subprocess
import sys

from torch.distributed.run import main

if "RANK" in os.environ:
    sys.exit(print("trained"))

ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET: a network of its own
subprocess.run(["sh", "-ec", "ip link set lo up; ip addr add 10.0.0.9/32 dev lo"], check=True)
launch = ["--rdzv-backend=c10d", "--rdzv-id=job"]
launch += ["--rdzv-endpoint=10.0.0.9:29500", "--rdzv-conf=read_timeout=4"]
main(["--nnodes=1", "--nproc-per-node=1"] + launch + [__file__])
