"""rank-argument-type: a rank that is a text, seen in logs."""

SOME = "the rank, or the number of ranks, is a text, and must be a number"
STORE = (
    "TypeError: __init__(): incompatible constructor arguments. The following argument types are supported:\n"
    "    1. torch._C._distributed_c10d.TCPStore(host_name: str, port: int, world_size: Optional[int] = None)\n\n"
)
SPAWN = '  File "/venv/torch/multiprocessing/spawn.py", line 262, in start_processes\n'
NPROCS = "nprocs of mp.spawn is a text, and must be a number"
EXAMPLES = {
    "RuntimeError: `rank` must be an integer. 0": "the rank is 0 as a text, and must be a number",
    "[rank1]: RuntimeError: `world_size` must be an integer. 2": "the world_size is 2 as a text, and must be a number",
    (
        '  File "/venv/torch/distributed/distributed_c10d.py", line 2591, in init_process_group\n'
        "    if not rank >= 0:\n"
        "           ^^^^^^^^^\n"
        "TypeError: '>=' not supported between instances of 'str' and 'int'"
    ): SOME,
    (
        '  File "/venv/torch/utils/data/distributed.py", line 83, in __init__\n'
        "    if rank >= num_replicas or rank < 0:\n"
        "TypeError: '>=' not supported between instances of 'int' and 'str'"
    ): SOME,
    f"{STORE}Invoked with: '127.0.0.1', 29500, '2', True": "a number was given as a text: '2'",
    f"{STORE}Invoked with: kwargs: host_name='127.0.0.1', port='29500', world_size=1": (
        "a number was given as a text: '29500'"
    ),
    (
        "TypeError: (): incompatible function arguments. The following argument types are supported:\n"
        "    1. (self: torch._C._distributed_c10d.BroadcastOptions, arg0: int) -> None\n\n"
        "Invoked with: <torch.distributed.distributed_c10d.BroadcastOptions object at 0x7f01cd7750b0>, '0'"
    ): "a number was given as a text: '0'",
    "TypeError: ranks must be a sequence of integers": SOME,
    "RuntimeError: Invalid device string: '0'": (
        "the device was given as the text '0': a number alone must be an int, a text is 'cuda:0'"
    ),
    (
        f"{SPAWN}    error_files = [None] * nprocs\n                  ~~~~~~~^~~~~~~~~\n"
        "TypeError: can't multiply sequence by non-int of type 'str'"
    ): NPROCS,
    f"{SPAWN}    for i in range(nprocs):\nTypeError: 'str' object cannot be interpreted as an integer": NPROCS,
}
NOT_THIS = [
    "TypeError: '<' not supported between instances of 'str' and 'int'",
    (
        '  File "/venv/torch/distributed/distributed_c10d.py", line 2591, in init_process_group\n'
        "    return self.compare()\n"
        '  File "/project/store.py", line 4, in compare\n'
        "TypeError: '<' not supported between instances of 'str' and 'int'"
    ),
    f"{STORE}Invoked with: 'localhost', 29500, 2, False, None",
    "RuntimeError: Invalid device string: 'gpu'",
    "TypeError: can't multiply sequence by non-int of type 'str'",
]

FLAGGED = [
    """
import argparse
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, world_size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=world_size)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--np", default=1)  # <-
    args = parser.parse_args()
    world_size = args.np
    mp.spawn(work, args=(world_size,), nprocs=world_size)
""",
    """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--rank", default=0)  # <-
parser.add_argument("--world-size", default=2, type=int)
args = parser.parse_args()
dist.init_process_group("gloo", init_method="tcp://10.0.0.1:0", rank=args.rank, world_size=args.world_size)
dist.destroy_process_group()
""",
    """
import argparse
import torch

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", help="GPU to use")  # <-
    args = parser.parse_args()
    torch.cuda.set_device(args.gpu)

main()
""",
    """
import os
import torch.distributed as dist

def main():
    rank = os.environ["RANK"]
    dist.init_process_group("gloo")
    if rank == 0:  # <-
        print("begun")
    dist.destroy_process_group()

main()
""",
    """
import os
import torch.distributed as dist

def main():
    if os.environ.get("WORLD_SIZE", 1) > 1:  # <-
        dist.init_process_group("gloo")
        dist.destroy_process_group()

main()
""",
]
FINE = [
    """
import argparse, torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:1", help="cuda, cpu")
args = parser.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(args.device)
""",
    """
import os
import torch

if os.environ["RANK"] == "0":
    print("begin")
""",
    """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", help="GPU to use")
args = parser.parse_args()
torch.cuda.set_device(int(args.gpu))
""",
    """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int)
args = parser.parse_args()
torch.cuda.set_device(args.gpu)
""",
    """
import os
import torch.distributed as dist

def main():
    if os.environ.get("RANK", -1) != -1:
        dist.init_process_group("gloo")
    if int(os.environ.get("RANK", 0)) == 0 or os.environ["RANK"] == "0":
        print("begun")
    local_rank = os.environ["LOCAL_RANK"]
    local_rank = int(local_rank)
    if local_rank == 0:
        print("one on each machine")
    dist.destroy_process_group()

main()
""",
]
