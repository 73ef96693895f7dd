"""deprecated-dist-api: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("deprecated-dist-api")
WARNINGS = {
    (
        "/data/train.py:12: FutureWarning: `torch.distributed.reduce_op` is deprecated, please use "
        "`torch.distributed.ReduceOp` instead"
    ): "torch.distributed.reduce_op is deprecated; the run goes on",
    "UserWarning: torch.distributed.reduce_op is deprecated, please use torch.distributed.ReduceOp instead": (
        "torch.distributed.reduce_op is deprecated; the run goes on"
    ),
    (
        "/opt/venv/lib/python3.10/site-packages/torch/distributed/launch.py:208: FutureWarning: The module "
        "torch.distributed.launch is deprecated"
    ): "torch.distributed.launch is deprecated; the run goes on",
    "The module torch.distributed.launch is deprecated and going to be removed in future.Migrate to torch.distributed.run": (
        "torch.distributed.launch is deprecated; the run goes on"
    ),
    "Note that --use-env is set by default in torchrun.": "--use-env is deprecated; the run goes on",
    "WARNING:torch.distributed.run:--use_env is deprecated and will be removed in future releases.": (
        "--use_env is deprecated; the run goes on"
    ),
    (
        "UserWarning: torch.distributed.all_reduce_multigpu will be deprecated. If you must use it, please revisit our "
        "documentation later"
    ): "torch.distributed.all_reduce_multigpu is deprecated; the run goes on",
    "FutureWarning: `torch.distributed.all_reduce_coalesced` will be deprecated. If you must use it, please revisit": (
        "torch.distributed.all_reduce_coalesced is deprecated; the run goes on"
    ),
    (
        "[rank0]: UserWarning: torch.distributed._all_gather_base is a private function and will be deprecated. Please use "
        "torch.distributed.all_gather_into_tensor instead."
    ): "torch.distributed._all_gather_base is deprecated; the run goes on",
    (
        "torch.distributed.distributed_c10d._get_global_rank is deprecated please use "
        "torch.distributed.distributed_c10d.get_global_rank"
    ): "torch.distributed.distributed_c10d._get_global_rank is deprecated; the run goes on",
    (
        "FutureWarning: FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, "
        "get_state_dict() and set_state_dict()"
    ): "FSDP.state_dict_type() is deprecated; the run goes on",
    "FutureWarning: `broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead.": (
        "broadcast_buffers is deprecated; the run goes on"
    ),
    "UserWarning: The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using it.": (
        "check_reduction is deprecated; the run goes on"
    ),
}
FAILURES = {
    "AttributeError: module 'torch.distributed' has no attribute 'all_reduce_multigpu'": (
        "all_reduce_multigpu is no longer part of torch.distributed"
    ),
    "ImportError: cannot import name 'reduce_op' from 'torch.distributed' (/opt/venv/lib/python3.10/site-packages/torch/x.py)": (
        "reduce_op is no longer part of torch.distributed"
    ),
    "[rank1]: AttributeError: 'int' object has no attribute 'allreduce'": (
        "a number was passed as the group of allreduce; a group is an object, and the default is all ranks"
    ),
    (
        '  File "/opt/venv/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 1906, in broadcast\n'
        "AttributeError: 'int' object has no attribute 'broadcast'"
    ): "a number was passed as the group of broadcast; a group is an object, and the default is all ranks",
    "ValueError: TCP backend has been deprecated. Please use Gloo or MPI backend for collective operations on CPU tensors.": (
        "TCP backend is no longer part of torch.distributed"
    ),
}
EXAMPLES = WARNINGS | FAILURES
NOT_THIS = [
    "train.py: error: unrecognized arguments: --local-rank=0",
    "FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)`",
    "AttributeError: 'int' object has no attribute 'size'",
    "UserWarning: 'has_cuda' is deprecated, please use 'torch.backends.cuda.is_built()'",
    "python -m torch.distributed.launch --nproc_per_node=4 --use_env train.py",
]


def said(text):
    return matches(text, [CHECK])[0].finding


@pytest.mark.parametrize("text", WARNINGS)
def test_a_warning_is_a_note(text):
    assert said(text).severity is Severity.NOTE


@pytest.mark.parametrize("text", FAILURES)
def test_what_is_gone_is_an_error(text):
    assert said(text).severity is Severity.ERROR


def test_a_number_is_no_group():
    assert "dist.new_group" in said(list(FAILURES)[2]).fixes[1].command


FLAGGED = [
    """
import torch
from torch.nn.parallel import DistributedDataParallel, DistributedDataParallelCPU  # <-

model = DistributedDataParallel(torch.nn.Linear(2, 2))
""",
    ("average.py", {"op=dist.ReduceOp.SUM)": "op=dist.reduce_op.SUM)  # <-"}),
    ("average.py", {"op=dist.ReduceOp.SUM)": "op=dist.ReduceOp.SUM, group=0)  # <-"}),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
dist.all_reduce_multigpu([torch.zeros(1).cuda()])  # <-
dist.destroy_process_group()
""",
]
FINE = [
    """
import torch

try:
    from torch.nn.parallel import DistributedDataParallelCPU
except ImportError:
    DistributedDataParallelCPU = torch.nn.parallel.DistributedDataParallel
""",
    ("average.py", {"op=dist.ReduceOp.SUM)": "op=dist.ReduceOp.SUM, group=dist.group.WORLD)"}),
    ("average.py", {"op=dist.ReduceOp.SUM)": "group=None)"}),
]
