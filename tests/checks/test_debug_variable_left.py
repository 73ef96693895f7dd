"""debug-variable-left: what was set to find a failure, and slows training down."""

import pytest

from gpudoctor.facts import Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("debug-variable-left")

ONE = Torch(imported=True, cuda="13.2", device_count=1)


def look(torch: Torch | None = None, **variables: str) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


def test_without_the_launch_nobody_can_tell() -> None:
    result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot())
    assert result.status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", Severity.WARNING),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", "0", Severity.WARNING),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", "", Severity.WARNING),
        ("CUDA_INJECTION64_PATH", "/opt/nsys/libInjection.so", Severity.WARNING),
        ("TORCH_DISTRIBUTED_DEBUG", "detail", Severity.WARNING),
        ("TORCH_NCCL_DESYNC_DEBUG", "true", Severity.WARNING),
        ("NCCL_CHECK_MODE", "DEBUG_LOCAL", Severity.WARNING),
        ("LD_DEBUG", "libs", Severity.WARNING),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO", Severity.NOTE),
        ("TORCH_CPP_LOG_LEVEL", "INFO", Severity.NOTE),
        ("NVIDIA_TF32_OVERRIDE", "0", Severity.NOTE),
        ("COMPUTE_PROFILE", "1", Severity.NOTE),
        ("TORCHDYNAMO_DISABLE", "1", Severity.NOTE),
    ],
)
def test_what_was_left(name: str, value: str, severity: Severity) -> None:
    result, [finding] = look(ONE, **{name: value})
    assert result.status is CheckStatus.FOUND
    assert finding.severity is severity
    assert finding.message.startswith(f"{name}={value}: ")
    assert finding.fixes[0].command == f"unset {name}"


def test_without_a_gpu_cuda_is_not_slowed_down() -> None:
    login = Torch(imported=True, cuda="13.2", device_count=0)
    assert look(login, CUDA_LAUNCH_BLOCKING="1")[1][0].severity is Severity.WARNING
    none = Torch(imported=True, cuda=None, device_count=0)
    _, [finding] = look(none, CUDA_LAUNCH_BLOCKING="1")
    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("without a GPU it changes nothing")
    assert look(none, TORCH_DISTRIBUTED_DEBUG="DETAIL")[1][0].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA_LAUNCH_BLOCKING", "0"), ("CUDA_LAUNCH_BLOCKING", ""), ("TORCH_DISTRIBUTED_DEBUG", "OFF"),
        ("TORCH_NCCL_DESYNC_DEBUG", "False"), ("NVIDIA_TF32_OVERRIDE", "1"),
        ("TORCH_CPP_LOG_LEVEL", "WARNING"), ("CUDA_DEVICE_MAX_CONNECTIONS", "1"), ("PYTHONMALLOC", "malloc"),
        ("TORCHDYNAMO_DISABLE", "0"), ("TORCH_LOGS", ""), ("NCCL_CHECK_MODE", "DEFAULT"),
    ],
)  # fmt: skip
def test_what_is_no_debugging(name: str, value: str) -> None:
    assert look(ONE, **{name: value})[0].status is CheckStatus.PASSED
