"""numa-remote-gpu: a rank's processors and the place of its GPU."""

import pytest

from gpudoctor.facts import Affinity, Gpu, Gpus, Launch, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("numa-remote-gpu")


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


ONE = Gpus(devices=[Gpu(index=0, uuid="GPU-b", pci_address="0000:01:00.0")])


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"affinity": may_use(0, 1), "launch": rank(1)}, "its GPU 1 (0000:01:00.0) is attached to node 1"),
        ({"affinity": may_use(4, 5), "launch": rank(0)}, "2 processors of NUMA node 1"),
        ({"affinity": may_use(4), "launch": rank(0, CUDA_VISIBLE_DEVICES="0")}, "GPU 0"),
        ({"affinity": may_use(4), "launch": rank(1, CUDA_VISIBLE_DEVICES="1,0")}, "GPU 0"),
        ({"affinity": may_use(0), "launch": Launch(), "gpus": ONE}, "is attached to node 1"),
    ],
)
def test_found(facts, says):
    _, [finding] = run(**{"pci": BUS, "gpus": GPUS, **facts})
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"affinity": may_use(0, 1), "launch": rank(0)},
        {"affinity": may_use(3, 4), "launch": rank(1)},
        {"affinity": may_use(*range(8)), "launch": rank(1)},
        {"affinity": may_use(0), "launch": Launch()},  # which GPU it will use is not known
        {"affinity": may_use(0), "launch": rank(5)},
        {"affinity": may_use(0, online=2), "launch": rank(1)},  # /sys is another machine's
        {"affinity": may_use(0), "launch": rank(0, CUDA_VISIBLE_DEVICES="MIG-1")},
    ],
)
def test_passes(facts):
    result, findings = run(**{"pci": BUS, "gpus": GPUS, **facts})
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("affinity", [None, Affinity()])
def test_unknown(affinity):
    known = {"affinity": affinity} if affinity else {}
    assert run(pci=BUS, gpus=GPUS, launch=rank(1), **known)[0].status is CheckStatus.UNKNOWN
