"""nccl-debug-left: NCCL prints more than a training needs."""

import pytest

from gpudoctor.facts import Launch, NamedFile, NcclConfiguration, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-debug-left")

ONE = Torch(imported=True, cuda="13.2", device_count=1)


def look(torch: Torch | None = None, **variables: str) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


def test_without_the_launch_nobody_can_tell() -> None:
    result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot())
    assert result.status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("variables", "severity", "says"),
    [
        ({"NCCL_DEBUG": "INFO"}, Severity.NOTE, "hundreds of lines"),
        ({"NCCL_DEBUG": "info", "NCCL_DEBUG_SUBSYS": "INIT,NET"}, Severity.NOTE, "hundreds of lines"),
        ({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,coll"}, Severity.WARNING, "COLL prints"),
        (
            {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "^INIT"},
            Severity.WARNING,
            "CALL, COLL, PROXY, TUNING prints",
        ),
        ({"NCCL_DEBUG": "Trace"}, Severity.WARNING, "every call"),
        ({"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "~/nccl.%p"}, Severity.NOTE, "does not know ~"),
        ({"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/tmp/log"}, Severity.NOTE, "each over the others"),
        ({"NCCL_TOPO_DUMP_FILE": "/tmp/t.xml"}, Severity.NOTE, "dump"),
    ],
)
def test_what_prints(variables: dict[str, str], severity: Severity, says: str) -> None:
    result, [finding] = look(ONE, **variables)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is severity
    assert says in finding.message


def test_without_nccl_it_is_a_note() -> None:
    login = Torch(imported=True, cuda="13.2", device_count=0)
    assert look(login, NCCL_DEBUG="TRACE")[1][0].severity is Severity.WARNING
    none = Torch(imported=True, cuda=None, device_count=0)
    assert look(none, NCCL_DEBUG="TRACE")[1][0].severity is Severity.NOTE


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NCCL_DEBUG": "WARN"},
        {"NCCL_DEBUG": "VERSION"},
        {"NCCL_DEBUG": ""},
        {"NCCL_DEBUG_SUBSYS": "ALL"},
        {"NCCL_DEBUG_FILE": "/tmp/log"},
        {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/tmp/nccl.%h.%p.log"},
        {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/dev/stderr"},
    ],
)
def test_what_is_quiet(variables: dict[str, str]) -> None:
    assert look(ONE, **variables)[0].status is CheckStatus.PASSED


def test_a_file_that_cannot_be_made() -> None:
    path = "/gone/nccl.%h.%p.log"
    launch = Launch(variables={"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": path})
    gone = NamedFile(variable="NCCL_DEBUG_FILE", path=path, error="No such file or directory")
    facts = {"launch": launch, "nccl_configuration": NcclConfiguration(named=[gone])}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert "cannot be made (No such file or directory)" in finding.message
