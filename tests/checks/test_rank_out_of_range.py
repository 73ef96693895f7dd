"""rank-out-of-range: a rank that cannot exist."""

import pytest

from gpudoctor.facts import Launch
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("rank-out-of-range")
EXAMPLES = {
    "AssertionError: Launching training without ssh, but --node_rank is not set correctly.": (
        "a rank's number is not below the number of ranks; they are counted from 0"
    ),
    "RuntimeError: [enforce fail at third_party/gloo/gloo/context.cc:23] rank < size. 2 vs 2": (
        "a rank's number, 2, is not below the number of ranks, 2; they are counted from 0"
    ),
    "ValueError: Invalid rank 2, rank should be in the interval [0, 1]": (
        "a rank's number, 2, is not below the number of ranks: the last one is 1; they are counted from 0"
    ),
    "init.cc:1815 NCCL WARN Invalid rank requested : 8/8": (
        "a rank's number, 8, is not below the number of ranks, 8; they are counted from 0"
    ),
    "my rank: 4, world size: 4\ntorch.distributed.DistNetworkError: The client socket has timed out after 9000ms while trying to reach it": (
        "a rank says that it is number 4 of 4, and meets nobody: the numbers go from 0 to 3"
    ),
    "ValueError: The node_rank must be less than the number of nodes.": (
        "a rank's number is not below the number of ranks; they are counted from 0"
    ),
    "ValueError: This would mean a process with rank(8), and all processes must have smaller rank than the world_size(8).": (
        "a rank's number, 8, is not below the number of ranks, 8; they are counted from 0"
    ),
    "ValueError: rank '4' must be less than world size '4'": (
        "a rank's number, 4, is not below the number of ranks, 4; they are counted from 0"
    ),
}
NOT_THIS = [
    "op.preamble.length <= op.nbytes. 8 vs 4",
    "[rank1]: matrix rank 2 < size of the matrix",
    "RuntimeError: Invalid rank of the input tensor",
    "rank=4 world_size=4 (counted from 1)\nstep 1 loss 2.0",
    "rank=3 world_size=4\nDistStoreError: wait timeout after 9000ms, keys: /a",
]


def run(**variables):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"launch": Launch(variables=variables)}))


@pytest.mark.parametrize(("number", "size"), [("2", "2"), ("-1", "2"), ("5", "1")])
def test_a_number_out_of_range(number, size):
    result, [finding] = run(RANK=number, WORLD_SIZE=size)
    assert result.status is CheckStatus.FOUND
    assert finding.message.startswith(f"RANK is {number} and WORLD_SIZE is {size}")


def test_the_local_rank_too():
    _, [finding] = run(RANK="3", WORLD_SIZE="4", LOCAL_RANK="3", LOCAL_WORLD_SIZE="2")
    assert finding.message == "LOCAL_RANK is 3 and LOCAL_WORLD_SIZE is 2: the numbers go from 0 to 1"


def test_passes():
    for variables in ({}, {"RANK": "1", "WORLD_SIZE": "2"}, {"RANK": "1"}, {"RANK": "x", "WORLD_SIZE": "2"}):
        assert run(**variables)[0].status is CheckStatus.PASSED, variables


def test_unknown_without_the_launch():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot({}))[0].status is CheckStatus.UNKNOWN
