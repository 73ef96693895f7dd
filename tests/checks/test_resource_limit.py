"""resource-limit: address space, data, file size and CPU time."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Limit
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("resource-limit")
GIB = 1 << 30
EIGHT = Gpus(devices=[Gpu(index=n, memory_bytes=80 * GIB) for n in range(8)])


def run(limits, **facts):
    host = Host(memory_bytes=512 * GIB, limits={name: Limit(soft=soft) for name, soft in limits.items()})
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"host": host, **facts}))


@pytest.mark.parametrize(
    ("limits", "facts", "severity", "says"),
    [
        (
            {"as": 4 * GIB},
            {},
            Severity.ERROR,
            "4.0 GiB of address space (ulimit -v), and `import torch` alone",
        ),
        ({"as": 64 * GIB}, {"gpus": EIGHT}, Severity.WARNING, "of all GPUs, 1.1 TiB here: it may not start"),
        ({"data": 2 * GIB}, {}, Severity.ERROR, "2.0 GiB of data (ulimit -d)"),
        ({"fsize": GIB}, {}, Severity.WARNING, "may write 1.0 GiB into a file (ulimit -f)"),
        ({"cpu": 7200}, {}, Severity.WARNING, "may use 2.0 hours of CPU time"),
        ({"cpu": 600}, {}, Severity.WARNING, "may use 600 seconds of CPU time"),
    ],
)
def test_found(limits, facts, severity, says):
    _, [finding] = run(limits, **facts)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    ("limits", "facts"),
    [
        ({"as": None, "data": None, "fsize": None, "cpu": None}, {"gpus": EIGHT}),
        ({"as": 64 * GIB}, {}),
        ({"as": 2048 * GIB}, {"gpus": EIGHT}),
        ({"nofile": 1024}, {}),
    ],
)
def test_passed(limits, facts):
    result, found = run(limits, **facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run({})[0].status is CheckStatus.UNKNOWN
