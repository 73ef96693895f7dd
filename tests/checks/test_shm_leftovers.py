"""shm-leftovers: segments that no process uses."""

import pytest

from gpudoctor.facts import Host, Processes, SharedSegment
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("shm-leftovers")
MIB = 1 << 20


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def left(*sizes):
    return Processes(segments=[SharedSegment(name=f"nccl-{n}", bytes=size) for n, size in enumerate(sizes)])


def test_found_with_names_and_size():
    _, [finding] = run(processes=left(*[9637888] * 4), host=Host(shm_bytes=64 * MIB))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        "4 segments in /dev/shm (nccl-0, nccl-1, nccl-2 and 1 more), 36.8 MiB of 64.0 MiB"
    )


def test_what_is_small_is_a_note():
    _, [finding] = run(processes=left(4096), host=Host(shm_bytes=1 << 40))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("processes", [Processes(), left(0, 0)])
def test_passes(processes):
    assert run(processes=processes)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
