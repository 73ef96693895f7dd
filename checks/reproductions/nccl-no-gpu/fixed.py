"""The script asks for NCCL on a machine without a GPU."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch
# needs: CUDA build of torch
# needs: no NVIDIA driver

import torch
import torch.distributed as dist

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
dist.all_reduce(torch.ones(1))
print("trained")
dist.destroy_process_group()
