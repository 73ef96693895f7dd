"""nccl-workaround-left: transports that are switched off."""

import pytest

from gpudoctor.facts import ConfigurationFile, Gpu, GpuPair, Gpus, Launch, NcclConfiguration, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-workaround-left")


def gpus(count: int, nvlinks: int | None = None, p2p: str = "OK") -> Gpus:
    pairs = [GpuPair(first=0, second=n, p2p=p2p) for n in range(1, count)]
    return Gpus(devices=[Gpu(index=n, name="GPU", nvlinks_active=nvlinks) for n in range(count)], pairs=pairs)


def look(here: Gpus | None, torch: Torch | None = None, **variables: str) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "gpus": here, "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


@pytest.mark.parametrize(
    ("here", "severity", "says"),
    [
        (gpus(8, 18), Severity.WARNING, "the NVLinks of 8 GPUs lie idle"),
        (gpus(4), Severity.WARNING, "through main memory"),
        (gpus(2, p2p="CNS"), Severity.NOTE, "no peer access anyway"),
        (gpus(1), Severity.NOTE, "with 1 GPU here that changes nothing"),
        (Gpus(), Severity.WARNING, "through main memory"),  # a login node
        (None, Severity.WARNING, "through main memory"),
    ],
)
@pytest.mark.parametrize(("name", "value"), [("NCCL_P2P_DISABLE", "1"), ("NCCL_P2P_LEVEL", "LOC")])
def test_it_costs_what_the_machine_has(
    here: Gpus | None, severity: Severity, says: str, name: str, value: str
) -> None:
    result, [finding] = look(here, **{name: value})
    assert result.status is CheckStatus.FOUND
    assert finding.severity is severity
    assert says in finding.message
    assert "all_reduce_perf" in finding.fixes[0].command
    assert finding.fixes[1].command == f"unset {name}"


@pytest.mark.parametrize(
    ("nodes", "severity"), [("2", Severity.WARNING), ("1", Severity.NOTE), ("", Severity.NOTE)]
)
@pytest.mark.parametrize(
    "variable", ["NCCL_IB_DISABLE=1", "NCCL_NET=Socket", "NCCL_NET_GDR_LEVEL=0", "NCCL_NET_PLUGIN=none"]
)
def test_between_machines_it_matters_with_several(nodes: str, severity: Severity, variable: str) -> None:
    name, _, value = variable.partition("=")
    _, [finding] = look(gpus(8, 18), SLURM_NNODES=nodes, **{name: value})
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("name", "value"),
    [("NCCL_NVLS_ENABLE", "0"), ("NCCL_CUMEM_ENABLE", "0"), ("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "LL")],
)
def test_what_frameworks_set_themselves_is_a_note(name: str, value: str) -> None:
    _, [finding] = look(gpus(8, 18), **{name: value})
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_DISABLE", "0"), ("NCCL_P2P_DISABLE", ""), ("NCCL_P2P_DISABLE", "true"), ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_NVLS_ENABLE", "1"), ("NCCL_CUMEM_ENABLE", ""), ("NCCL_NET", "IB"), ("NCCL_IB_DISABLE", "0"),
        ("NCCL_SHM_DISABLE", "0"), ("NCCL_DEBUG", "WARN"),
    ],
)  # fmt: skip
def test_what_is_switched_on_is_left_in_peace(name: str, value: str) -> None:
    assert look(gpus(8, 18), **{name: value})[0].status is CheckStatus.PASSED


def test_a_torch_without_cuda_has_no_nccl() -> None:
    _, [finding] = look(Gpus(), Torch(imported=True, cuda=None, device_count=0), NCCL_P2P_DISABLE="1")
    assert finding.severity is Severity.NOTE
    assert "with 0 GPUs here that changes nothing" in finding.message


def test_another_vendors_library_is_not_judged() -> None:
    rocm = Torch(imported=True, hip="6.4")
    assert look(gpus(8), rocm, NCCL_P2P_DISABLE="1")[0].status is CheckStatus.PASSED


def test_a_file_is_named() -> None:
    file = ConfigurationFile(path="/etc/nccl.conf", settings={"NCCL_SHM_DISABLE": "1"})
    facts = {"launch": Launch(), "nccl_configuration": NcclConfiguration(files=[file])}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.message.startswith("NCCL_SHM_DISABLE=1 in /etc/nccl.conf: ")
    assert finding.fixes[1].command == "grep -n NCCL_SHM_DISABLE /etc/nccl.conf"


def test_without_the_launch_nobody_can_tell() -> None:
    result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot())
    assert result.status is CheckStatus.UNKNOWN


FLAGGED = [
    """
import os
import torch

os.environ["NCCL_P2P_DISABLE"] = "1"  # <-
os.environ["NCCL_DEBUG"] = "WARN"
torch.distributed.init_process_group("nccl")
torch.distributed.destroy_process_group()
""",
]

FINE = [
    """
import os
import torch

if "RTX 40" in torch.cuda.get_device_name():
    os.environ["NCCL_P2P_DISABLE"] = "1"
os.environ["NCCL_IB_DISABLE"] = "0"
torch.distributed.init_process_group("nccl")
torch.distributed.destroy_process_group()
""",
]
