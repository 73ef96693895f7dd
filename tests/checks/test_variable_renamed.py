"""variable-renamed: the old name works, the new one is better."""

import pytest

from gpudoctor.facts import Launch, Library, Variables
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("variable-renamed")

NAMES = [
    "NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
]
KNOWN = Variables(libraries=[Library(path="libtorch_cuda.so", names=NAMES)])


def look(known: Variables | None = KNOWN, **variables: str) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "variables": known}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


def test_the_old_name_is_a_note() -> None:
    result, [finding] = look(NCCL_ASYNC_ERROR_HANDLING="1")
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.NOTE
    assert (
        finding.fixes[0].command
        == "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1; unset NCCL_ASYNC_ERROR_HANDLING"
    )


@pytest.mark.parametrize(("new", "severities"), [("1", []), ("3", [Severity.WARNING])])
def test_both_names_must_agree(new: str, severities: list[Severity]) -> None:
    _, found = look(NCCL_ASYNC_ERROR_HANDLING="1", TORCH_NCCL_ASYNC_ERROR_HANDLING=new)
    assert [finding.severity for finding in found] == severities


def test_the_allocators_two_names_are_alloc_confs() -> None:
    assert look(PYTORCH_CUDA_ALLOC_CONF="a:1", PYTORCH_ALLOC_CONF="b:1")[1] == []


def test_the_new_name_and_an_old_torch_are_fine() -> None:
    assert look(TORCH_NCCL_ASYNC_ERROR_HANDLING="1")[0].status is CheckStatus.PASSED
    old = Variables(libraries=[Library(path="libtorch_cuda.so", names=NAMES[:1])])
    assert look(old, NCCL_ASYNC_ERROR_HANDLING="1")[0].status is CheckStatus.PASSED


def test_without_the_libraries_nobody_can_tell() -> None:
    assert look(None, NCCL_BLOCKING_WAIT="1")[0].status is CheckStatus.UNKNOWN
    assert look(None)[0].status is CheckStatus.PASSED


def test_of_two_of_nccls_counts_the_stricter_holds() -> None:
    known = Variables(libraries=[Library(path="libnccl.so.2", names=["NCCL_MAX_NRINGS", "NCCL_MAX_CTAS"])])
    _, [finding] = look(known, NCCL_MAX_NRINGS="4", NCCL_MAX_CTAS="16")
    assert finding.message.endswith("NCCL takes the lower of the two")
