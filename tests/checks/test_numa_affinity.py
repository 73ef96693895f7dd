"""numa-affinity: the processors and memory of a process that will use several GPUs."""

import pytest

from gpudoctor.facts import Affinity, Gpu, Gpus, Launch, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("numa-affinity")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


BUS = Pci(
    nvidia=[
        PciDevice(
            address=f"0000:{n:02x}:00.0",
            device_class="0x0302",
            driver="nvidia",
            numa_node=node,
            local_cpus=cpus,
        )
        for n, (node, cpus) in enumerate([(0, "0-3"), (1, "4-7")])
    ]
)
GPUS = Gpus(devices=[Gpu(index=n, name="L40S", pci_address=f"0000:{n:02x}:00.0") for n in range(2)])
NODES = {"0": "0-3", "1": "4-7"}


def may_use(*cpus: int, memory: tuple[int, ...] = (0, 1), online: int = 8) -> Affinity:
    return Affinity(cpus=list(cpus), online=list(range(online)), memory_nodes=list(memory), nodes=NODES)


def rank(number: int, **more: str) -> Launch:
    return Launch(variables={"LOCAL_RANK": str(number), **more})


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"affinity": may_use(0, 1, 2, 3)}, "none of which is near 1 of its 2 GPUs (0000:01:00.0)"),
        ({"affinity": may_use(0)}, "may run on 1 of 8 processors"),
        (
            {"affinity": may_use(*range(8), memory=(0,)), "launch": rank(1)},
            "memory of NUMA node 0 only, and 1 GPU",
        ),
    ],
)
def test_found(facts, says):
    _, [finding] = run(**{"pci": BUS, "gpus": GPUS, **facts})
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"affinity": may_use(*range(8))},
        {"affinity": may_use(1, 6)},
        {"affinity": may_use(0), "launch": rank(1)},  # numa-remote-gpu
        {"affinity": may_use(*range(8), memory=(1,)), "launch": rank(1)},
        {"affinity": may_use(0, online=2)},
        {"affinity": may_use(*range(8), memory=())},
        {"affinity": may_use(0), "gpus": Gpus(devices=GPUS.devices[:1])},
        {"affinity": may_use(0), "pci": Pci()},
    ],
)
def test_passes(facts):
    result, findings = run(**{"pci": BUS, "gpus": GPUS, **facts})
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("affinity", [None, Affinity(cpus=[0])])
def test_unknown(affinity):
    known = {"affinity": affinity} if affinity else {}
    assert run(pci=BUS, gpus=GPUS, **known)[0].status is CheckStatus.UNKNOWN
