"""A barrier is called before the process group knows its GPU."""
# run: torchrun --standalone --nproc-per-node=1 fixed.py
# needs: torch
# needs: 1 GPU

import os
import warnings

import torch
import torch.distributed as dist

warnings.filterwarnings("error", message="(?s).*barrier")  # it ends the run here
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
dist.barrier()
print("all are here, on", device)
dist.destroy_process_group()
