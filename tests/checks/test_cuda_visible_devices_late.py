"""cuda-visible-devices-late: seen in a script, and in logs."""

FLAGGED = [
    """
import os
from torch import nn
from parts import Net

model = nn.DataParallel(Net())
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"  # <-
model.cuda()
""",
    """
import os
import torch

x = torch.zeros(1).cuda()
os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # <-
""",
    """
import os
import torch

print(torch.cuda.get_device_name(0))
os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # <-
model = torch.nn.Linear(2, 2).cuda()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def main():
    model = nn.Linear(2, 2).to("cuda")
    choose("2,3")
    return model

def choose(gpus):
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus  # <-

if __name__ == "__main__":
    main()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

if torch.cuda.is_available():
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # <-
model = nn.Linear(2, 2).to("cuda")
""",
]
FINE = [
    """
import os
import torch


def select(device):
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    return torch.cuda.get_device_properties(0).name


print(select("0"))
print(select("0"))
""",
    """
import os
import torch

os.environ["CUDA_VISIBLE_DEVICES"] = "1"
print(torch.cuda.get_device_name(0))
""",
    """
import os
import torch
import torch.multiprocessing as mp

def work(rank):
    torch.cuda.set_device(rank)

def main(gpus):
    if torch.cuda.is_available() and len(gpus) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        mp.spawn(work, nprocs=len(gpus))

if __name__ == "__main__":
    main(["2", "3"])
""",
]
EXAMPLES = {
    "AssertionError: CUDA_VISIBLE_DEVICES was set too late: cuda:1 is still there": "CUDA_VISIBLE_DEVICES was set after CUDA had read it, so it has no effect"
}
NOT_THIS = ["CUDA_VISIBLE_DEVICES was set to 1"]
