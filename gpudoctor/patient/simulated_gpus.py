"""Run a script on GPUs that are not there: ``python simulated_gpus.py 2 train.py``.

Tensors are torch's own fake ones (FakeTensorMode): they have a device, a shape and a type, and no numbers. What torch
decides in Python before a kernel runs, by device and shape, is then what it decides on real GPUs; a kernel, NCCL, a
stream or a backward pass there is not. DataParallel's copies between GPUs, C++ in torch, are written out here.
"""

import contextlib
import runpy
import sys
import threading
import types

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.parallel import comm


def broadcast(tensors, devices):
    """Copy the tensors to every device."""
    return [[tensor.to(f"cuda:{device}") for tensor in tensors] for device in devices]


def scatter(tensor, devices, sizes=None, dim=0, streams=None):
    """Cut a tensor into a piece for each device; there may be fewer pieces, as in torch."""
    pieces = tensor.split(sizes, dim) if sizes else tensor.chunk(len(devices), dim)
    return tuple(piece.to(f"cuda:{device}") for piece, device in zip(pieces, devices))


def gather(tensors, dim=0, destination=None):
    """Put the pieces of all devices together on one."""
    target = "cpu" if destination in (-1, "cpu") else f"cuda:{destination or 0}"
    return torch.cat([tensor.to(target) for tensor in tensors], dim)


def apply(module, change, recurse=True):
    """Change a module's tensors; torch's own way swaps them in place, which a fake one with weak references refuses."""
    for child in module.children() if recurse else ():
        child._apply(change)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            with torch.no_grad():
                changed = change(parameter)
            module._parameters[name] = nn.Parameter(changed, parameter.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = change(buffer)
    return module


def tensor(data, *, dtype=None, device=None, requires_grad=False, made=torch.tensor):
    """Make a tensor as large as what is given; torch's own asks the driver for the device, whatever the mode."""
    known = made(data, dtype=dtype)
    return torch.empty(known.shape, dtype=known.dtype, device=device, requires_grad=requires_grad)


def nothing(*_):
    """Stand in for what a device without streams and without a driver needs not."""
    return contextlib.nullcontext()


class InTurn:
    """A thread that does its work when it is started: a fake mode holds for one thread, and serves one at a time."""

    def __init__(self, target, args=()):
        """Take what is to be called."""
        self.target, self.args = target, args

    def start(self):
        """Do the work."""
        self.target(*self.args)

    def join(self):
        """Wait for nothing."""


def simulate(count):
    """Let torch see GPUs."""
    torch.cuda.is_available = torch.accelerator.is_available = lambda: True
    torch.cuda.device_count = torch.accelerator.device_count = lambda: count
    torch.cuda.current_device = lambda: 0
    torch.cuda._lazy_init = lambda: None
    card = types.SimpleNamespace(name="simulated", total_memory=1 << 34, multi_processor_count=64)
    torch.cuda._get_device_properties = lambda device: card
    torch.cuda.device = torch.cuda.stream = nothing
    torch.cuda.current_stream = torch.accelerator.current_stream = torch.accelerator.device_index = nothing
    comm.broadcast_coalesced, comm.scatter, comm.gather = broadcast, scatter, gather
    torch.backends.cudnn.enabled = False
    replicas = sys.modules["torch.nn.parallel.parallel_apply"]
    replicas.threading = types.SimpleNamespace(Lock=threading.Lock, Thread=InTurn)
    nn.Module._apply, torch.tensor = apply, tensor


def main():
    """Run the script that the command line names."""
    count, script = sys.argv[1:3]
    sys.argv[:] = sys.argv[2:]
    simulate(int(count))
    with FakeTensorMode(), torch.no_grad():  # a node of the graph asks the device for its stream
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
