"""spawn-arguments: mp.spawn with arguments that the function does not take, seen in logs."""

SPAWN = (
    "Traceback (most recent call last):\n"
    '  File "/venv/torch/multiprocessing/spawn.py", line 89, in _wrap\n'
    "    fn(i, *args)\n"
)
EXAMPLES = {
    f"{SPAWN}TypeError: run() takes 1 positional argument but 2 were given": (
        "run() takes 1 of the 2 arguments that it got: the rank, and what args holds"
    ),
    f"{SPAWN}TypeError: main() takes from 1 to 2 positional arguments but 63 were given": (
        "main() takes 2 arguments and got 63: what was given as args is no tuple, and was taken apart"
    ),
    f"{SPAWN}TypeError: run() missing 1 required positional argument: 'config'": (
        "run() got no 'config': it is called with the rank, and with what args holds"
    ),
    (
        '  File "/usr/lib/python3.11/multiprocessing/process.py", line 108, in run\n'
        "    self._target(*self._args, **self._kwargs)\n"
        "TypeError: train() missing 2 required positional arguments: 'rank' and 'world_size'"
    ): "train() got no 'rank' and 'world_size': it is called with the rank, and with what args holds",
    f"{SPAWN}TypeError: Value after * must be an iterable, not int": (
        "what was given as args is of the type int, and must be a tuple: (config,) and not (config)"
    ),
    f"{SPAWN}TypeError: __main__.run() argument after * must be an iterable, not Namespace": (
        "what was given as args is of the type Namespace, and must be a tuple: (config,) and not (config)"
    ),
    f"{SPAWN}TypeError: 'NoneType' object is not callable": (
        "what was given as the function is of the type NoneType: it was called, run(…), instead of named, run"
    ),
    "TypeError: spawn() got an unexpected keyword argument 'kwargs'": (
        "mp.spawn takes no kwargs: only args, a tuple, goes to the function"
    ),
    "TypeError: spawn() got multiple values for argument 'args'": (
        "mp.spawn gets args twice: its own arguments are the function, args and nprocs, in this order"
    ),
    "TypeError: main_worker() takes 2 positional arguments but 3 were given": "main_worker() takes 2 of the 3 arguments that it got: the rank, and what args holds",
}
NOT_THIS = [
    "TypeError: run() takes 1 positional argument but 2 were given",
    (
        f"{SPAWN}"
        '  File "/project/train.py", line 12, in run\n'
        "    model(x, y)\n"
        "TypeError: Net.forward() takes 2 positional arguments but 3 were given"
    ),
    f"{SPAWN}  File \"train.py\", line 12, in run\n    loss()\nTypeError: 'NoneType' object is not callable",
]

FLAGGED = [
    """
import torch.distributed as dist
import torch.multiprocessing as mp

class Runner:
    def __init__(self, size):
        self.size = size

    def run(self, rank, size):
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29544", rank=rank, world_size=size)
        dist.destroy_process_group()

    def start(self):
        mp.spawn(self.run, nprocs=self.size)  # <-

if __name__ == "__main__":
    Runner(2).start()
""",
    """
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(args, gpu, count):
    dist.init_process_group("gloo", init_method=args.url, rank=gpu, world_size=count)

def main(args, count):
    mp.spawn(worker, nprocs=count, args=(args, count))  # <-

if __name__ == "__main__":
    main(object(), 2)
""",
    (
        "spawn.py",
        {
            "args=(world_size, 5), nprocs": "args=(0, world_size, 5), nprocs",
            "    mp.spawn(worker": "    # the number comes by itself\n    mp.spawn(worker",
            "join=True)": "join=True)  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "def worker(rank, world_size, epochs):": "def worker(rank, world_size, epochs=5):",
            "args=(world_size, 5), nprocs=world_size, join=True)": "args=world_size, nprocs=world_size, join=True)  # <-",
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def worker(rank):
    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=2)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker(0), nprocs=2)  # <-
""",
]
FINE = [
    """
from functools import partial

import torch.distributed as dist
import torch.multiprocessing as mp


def check(rank, world_size, port):
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=world_size)
    dist.destroy_process_group()


def spawn(func, nprocs=1, **kwargs):
    mp.spawn(partial(func, world_size=nprocs, port=29511, **kwargs), nprocs=nprocs)


if __name__ == "__main__":
    spawn(check, 4)
""",
    """
import torch.distributed as dist
import torch.multiprocessing as mp

class Runner:
    def __init__(self, size):
        self.size = size

    def run(self, rank, size):
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29544", rank=rank, world_size=size)
        dist.destroy_process_group()

    def start(self):
        mp.spawn(self.run, args=(self.size,), nprocs=self.size)

if __name__ == "__main__":
    Runner(2).start()
""",
    """
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(gpu, args, count):
    dist.init_process_group("gloo", init_method=args.url, rank=gpu, world_size=count)

def main(args, count):
    mp.spawn(worker, nprocs=count, args=(args, count))

if __name__ == "__main__":
    main(object(), 2)
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def worker(rank, *rest):
    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=2)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, (1, 2, 3), nprocs=2)
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def worker(rank, size, verbose=False):
    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=size)
    dist.destroy_process_group()

def launch(fn, given):
    mp.spawn(fn, args=given, nprocs=2)

if __name__ == "__main__":
    launch(worker, (2,))
    mp.spawn(worker, args=(2,), nprocs=2)
""",
]
