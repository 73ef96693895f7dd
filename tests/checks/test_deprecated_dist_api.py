"""deprecated-dist-api: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("deprecated-dist-api")
WARNINGS = [
    (
        "/data/train.py:12: FutureWarning: `torch.distributed.reduce_op` is deprecated, please use "
        "`torch.distributed.ReduceOp` instead"
    ),
    "UserWarning: torch.distributed.reduce_op is deprecated, please use torch.distributed.ReduceOp instead",
    (
        "/opt/venv/lib/python3.10/site-packages/torch/distributed/launch.py:208: FutureWarning: The module "
        "torch.distributed.launch is deprecated"
    ),
    "The module torch.distributed.launch is deprecated and going to be removed in future.Migrate to torch.distributed.run",
    "Note that --use-env is set by default in torchrun.",
    "WARNING:torch.distributed.run:--use_env is deprecated and will be removed in future releases.",
    (
        "UserWarning: torch.distributed.all_reduce_multigpu will be deprecated. If you must use it, please revisit our "
        "documentation later"
    ),
    "FutureWarning: `torch.distributed.all_reduce_coalesced` will be deprecated. If you must use it, please revisit",
    (
        "[rank0]: UserWarning: torch.distributed._all_gather_base is a private function and will be deprecated. Please use "
        "torch.distributed.all_gather_into_tensor instead."
    ),
    (
        "torch.distributed.distributed_c10d._get_global_rank is deprecated please use "
        "torch.distributed.distributed_c10d.get_global_rank"
    ),
    (
        "FutureWarning: FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, "
        "get_state_dict() and set_state_dict()"
    ),
    "FutureWarning: `broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead.",
    "UserWarning: The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using it.",
]
FAILURES = [
    "AttributeError: module 'torch.distributed' has no attribute 'all_reduce_multigpu'",
    "ImportError: cannot import name 'reduce_op' from 'torch.distributed' (/opt/venv/lib/python3.10/site-packages/torch/x.py)",
    "[rank1]: AttributeError: 'int' object has no attribute 'allreduce'",
    (
        '  File "/opt/venv/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 1906, in broadcast\n'
        "AttributeError: 'int' object has no attribute 'broadcast'"
    ),
    "ValueError: TCP backend has been deprecated. Please use Gloo or MPI backend for collective operations on CPU tensors.",
]
EXAMPLES = WARNINGS + FAILURES
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
    assert said(text).message.endswith("is deprecated; the run goes on")


@pytest.mark.parametrize("text", FAILURES)
def test_what_is_gone_is_an_error(text):
    assert said(text).severity is Severity.ERROR


def test_a_number_is_no_group():
    assert "passed as the group of allreduce" in said(FAILURES[2]).message
    assert "dist.new_group" in said(FAILURES[2]).fixes[1].command
