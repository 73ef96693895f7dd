"""Two jobs are launched on one machine; a port written into the launch command serves only one of them."""
# run: python fixed.py
# needs: torch

import datetime
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist


def train():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    time.sleep(2)  # both jobs are training at the same time
    print(f"job {sys.argv[1]}: trained")
    dist.destroy_process_group()


def launch(job):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=1"]
    return subprocess.Popen(torchrun + ["--standalone", __file__, job])


if "RANK" in os.environ:
    train()
else:
    jobs = [launch("1"), launch("2")]
    codes = [job.wait() for job in jobs]
    sys.exit(any(codes))
