"""variable-dangerous: what lets a failure hang, or hides it."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, NamedFile, NcclConfiguration, Python, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("variable-dangerous")

BUILT = Torch(imported=True, cuda="13.2")


def look(torch: Torch | None = None, **variables: str) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


def test_without_the_launch_nobody_can_tell() -> None:
    result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot())
    assert result.status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", "wait without end"),
        ("NCCL_ASYNC_ERROR_HANDLING", "0", "wait without end"),
        ("TORCH_NCCL_BLOCKING_WAIT", "true", "slow"),
        ("TORCH_NCCL_ENABLE_MONITORING", "0", "never ended"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "864000", "after 10 days"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "0", "may be ended"),
        ("NCCL_IB_TIMEOUT", "0", "without end"),
        ("NCCL_IB_TIMEOUT", "40", "without end"),
        ("NCCL_IB_RETRY_CNT", "0", "first packet"),
        ("NCCL_COMM_ID", "10.0.0.1:4000", "another job"),
        ("NCCL_HOSTID", "x", "taken for one"),
        ("NCCL_IGNORE_DISABLED_P2P", "1", "stays"),
        ("NCCL_IGNORE_COLLNET_MISMATCH", "1", "stays"),
        ("NCCL_ENABLE_VERSION_CHECK", "0", "different versions"),
        ("NCCL_MULTI_RANK_GPU_ENABLE", "1", "LOCAL_RANK"),
    ],
)
def test_what_does_harm(name: str, value: str, says: str) -> None:
    result, [finding] = look(BUILT, **{name: value})
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert says in finding.message
    _, [finding] = look(Torch(imported=True, cuda=None), **{name: value})
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(("name", "value"), [("KMP_DUPLICATE_LIB_OK", "TRUE"), ("TORCH_FR_BUFFER_SIZE", "0")])
def test_what_may_do_harm_is_a_note(name: str, value: str) -> None:
    assert look(BUILT, **{name: value})[1][0].severity is Severity.NOTE


@pytest.mark.parametrize(
    ("nvlinks", "protocol", "found"),
    [(None, "LL128", 1), (12, "LL128", 0), (None, "^LL128", 0), (None, "Simple", 0)],
)
def test_ll128_belongs_on_nvlink(nvlinks: int | None, protocol: str, found: int) -> None:
    here = Gpus(devices=[Gpu(index=n, nvlinks_active=nvlinks) for n in range(2)])
    facts = {"launch": Launch(variables={"NCCL_PROTO": protocol}), "gpus": here}
    assert len(examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))[1]) == found


@pytest.mark.parametrize(
    "variables",
    [
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"},
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3", "NCCL_ASYNC_ERROR_HANDLING": "0"},  # the new name wins
        {"TORCH_NCCL_BLOCKING_WAIT": "0"},
        {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "3600", "NCCL_IB_TIMEOUT": "22", "NCCL_IB_RETRY_CNT": "7"},
        {"NCCL_COMM_ID": "", "NCCL_HOSTID": "", "NCCL_IGNORE_DISABLED_P2P": "0", "NCCL_PROTO": "LL128"},
    ],
)
def test_what_is_right_is_left_in_peace(variables: dict[str, str]) -> None:
    assert look(BUILT, **variables)[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(
    "name", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCHELASTIC_ERROR_FILE"]
)
def test_a_record_of_a_hang_that_cannot_be_written(name: str) -> None:
    path = "/gone/trace_"
    launch = Launch(variables={name: path})
    gone = NamedFile(variable=name, path=path, error="Permission denied")
    facts = {"launch": launch, "nccl_configuration": NcclConfiguration(named=[gone])}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert (finding.severity, "(Permission denied)" in finding.message) == (Severity.WARNING, True)
    there = {**facts, "nccl_configuration": NcclConfiguration()}
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot(there))[1] == []


@pytest.mark.parametrize(("missing", "found"), [(["/opt/libjemalloc.so.2"], 1), ([], 0), (None, 0)])
def test_a_library_that_cannot_be_preloaded(missing: list[str] | None, found: int) -> None:
    launch = Launch(variables={"LD_PRELOAD": "/opt/libjemalloc.so.2"})
    facts = {"launch": launch, "python": Python(not_preloaded=missing)}
    findings = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))[1]
    assert [(f.severity, "could not load /opt/libjemalloc.so.2" in f.message) for f in findings] == [
        (Severity.WARNING, True)
    ] * found


def test_what_is_the_default_is_no_danger() -> None:
    assert look(BUILT, NCCL_IGNORE_NET_MISMATCH="1")[0].status is CheckStatus.PASSED
