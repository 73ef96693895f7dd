"""nccl-variable-removed: names of an older NCCL or torch."""

import pytest

from gpudoctor.facts import Launch, Library, Torch, Variables
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-variable-removed")

KNOWN = Variables(
    libraries=[
        Library(path="libtorch_cpu.so", names=["TORCH_DISTRIBUTED_DEBUG", "TORCH_FR_BUFFER_SIZE"]),
        Library(
            path="libnccl.so.2",
            version="2.30.7",
            names=["NCCL_P2P_LEVEL", "NCCL_TOPO_FILE", "NCCL_MIN_NRINGS"],
        ),
    ]
)


def look(
    known: Variables | None = KNOWN, torch: Torch | None = None, **variables: str
) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "variables": known, "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


@pytest.mark.parametrize(
    ("name", "says", "severity"),
    [
        ("NCCL_TREE_THRESHOLD", "NCCL_ALGO forces one algorithm", Severity.WARNING),
        ("NCCL_IB_GDR_LEVEL", "it is NCCL_NET_GDR_LEVEL now", Severity.WARNING),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "it is TORCH_FR_BUFFER_SIZE now", Severity.WARNING),
        ("TORCH_NCCL_AVOID_RECORD_STREAMS", "always done", Severity.NOTE),
        ("NCCL_CHECKS_DISABLE", "off by default", Severity.NOTE),
    ],
)
def test_what_replaced_it_is_said(name: str, says: str, severity: Severity) -> None:
    result, [finding] = look(**{name: "4"})
    assert result.status is CheckStatus.FOUND
    assert says in finding.message
    assert finding.severity is severity


def test_a_renamed_one_keeps_its_value() -> None:
    _, [finding] = look(NCCL_IB_GDR_LEVEL="2")
    assert finding.fixes[0].command == "export NCCL_NET_GDR_LEVEL=2; unset NCCL_IB_GDR_LEVEL"
    _, [finding] = look(NCCL_IB_GDR_LEVEL="2", NCCL_NET_GDR_LEVEL="PHB")
    assert finding.severity is Severity.NOTE
    assert "NCCL_NET_GDR_LEVEL=PHB is what counts" in finding.message


def test_what_is_still_read_is_left_in_peace() -> None:
    assert look()[0].status is CheckStatus.PASSED
    assert look(NCCL_MIN_NRINGS="4", NCCL_DEBUG="WARN")[0].status is CheckStatus.PASSED
    rocm = Torch(imported=True, hip="6.4")
    assert look(torch=rocm, NCCL_CHECKS_DISABLE="1")[0].status is CheckStatus.PASSED


def test_a_torch_2_comes_with_an_nccl_without_them() -> None:
    torch = Torch(imported=True, version="2.4.1+cu121", cuda="12.1")
    result, [finding] = look(None, torch, NCCL_TREE_THRESHOLD="0", TORCH_NCCL_AVOID_RECORD_STREAMS="1")
    assert result.status is CheckStatus.FOUND
    assert finding.message.startswith("NCCL_TREE_THRESHOLD=0: the installed NCCL no longer reads it")
    old = Torch(imported=True, version="1.4.0", cuda="10.1")
    assert look(None, old, NCCL_TREE_THRESHOLD="0")[0].status is CheckStatus.UNKNOWN
    assert look(None, torch, TORCH_NCCL_AVOID_RECORD_STREAMS="1")[0].status is CheckStatus.UNKNOWN


def test_without_the_libraries_nobody_can_tell() -> None:
    assert look(None, NCCL_TREE_THRESHOLD="0")[0].status is CheckStatus.UNKNOWN
    assert look(Variables(), NCCL_TREE_THRESHOLD="0")[0].status is CheckStatus.PASSED
