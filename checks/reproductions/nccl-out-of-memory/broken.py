"""PyTorch holds the whole memory of the GPUs, and NCCL finds none for its buffers."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch
# needs: 2 GPUs

import os

import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl")  # connects at the first collective
loss = torch.ones(1).to(device)
held, size = [], 1 << 30
while size >= 1 << 20:  # as a batch that just fits
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device=device))
    except torch.cuda.OutOfMemoryError:
        size //= 2
dist.all_reduce(loss)
print(f"rank {dist.get_rank()}: loss {loss.item()}")
dist.destroy_process_group()
