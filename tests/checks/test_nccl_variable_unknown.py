"""nccl-variable-unknown: names that no library holds, and values that are taken for others."""

import pytest

from gpudoctor.facts import (
    ConfigurationFile,
    Launch,
    Library,
    NamedFile,
    NcclConfiguration,
    Torch,
    Variables,
)
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-variable-unknown")

NCCL = Library(
    path="/venv/nvidia/nccl/lib/libnccl.so.2",
    version="2.30.7+cuda13.3",
    names=[
        "NCCL_CONF_FILE",
        "NCCL_DEBUG",
        "NCCL_IB_DISABLE",
        "NCCL_NET_PLUGIN",
        "NCCL_P2P_LEVEL",
        "NCCL_SOCKET_IFNAME",
        "NCCL_TOPO_FILE",
    ],
)
TORCH = Library(
    path="/venv/torch/lib/libtorch_cpu.so",
    names=[
        "GLOO_SOCKET_IFNAME",
        "TORCH_DISTRIBUTED_DEBUG",
        "TORCH_NCCL_TRACE_BUFFER_SIZE",
        "TORCH_SHOW_CPP_STACKTRACES",
    ],
)
KNOWN = Variables(libraries=[TORCH, NCCL])


def look(
    known: Variables | None = KNOWN, torch: Torch | None = None, **variables: str
) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "variables": known, "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


def test_the_nearest_name_is_named() -> None:
    result, [finding] = look(NCCL_SOCKET_IFACE="eth0")
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "NCCL_SOCKET_IFACE=eth0: nothing reads a variable of this name, neither NCCL 2.30.7 nor torch; "
        "the nearest name that is read is NCCL_SOCKET_IFNAME"
    )
    assert finding.fixes[0].command == "export NCCL_SOCKET_IFNAME=eth0; unset NCCL_SOCKET_IFACE"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NCCL_DEBUGG", "NCCL_DEBUG"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("NCCL_DISABLE_IB", "NCCL_IB_DISABLE"),
        ("NCCL_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("GLOO_INTERFACE", "GLOO_SOCKET_IFNAME"),
        ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        ("TORCH_SHOW_CPP_STACKTRACE", "TORCH_SHOW_CPP_STACKTRACES"),
    ],
)
def test_names_that_are_nearly_right(name: str, near: str) -> None:
    _, [finding] = look(**{name: "1"})
    assert f"is read is {near}" in finding.message


def test_the_opposite_takes_the_opposite_value() -> None:
    _, [finding] = look(NCCL_IB_ENABLE="0")
    assert finding.fixes[0].command == "export NCCL_IB_DISABLE=1; unset NCCL_IB_ENABLE"


def test_a_name_like_no_other_may_be_a_plug_ins() -> None:
    _, [finding] = look(NCCL_QUITE_ELSE="1", NCCL_NET_PLUGIN="own")
    assert finding.severity is Severity.NOTE
    assert "NCCL_QUITE_ELSE=1" in finding.message


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0", "GLOO_SOCKET_IFNAME": "eth0"},
        {
            "NCCL_VERSION": "2.27.3-1",
            "NCCL_FASTRAK_NSOCKS": "8",
            "TORCH_HOME": "/models",
            "TORCH_DTYPE": "bf16",
        },
        {"NCCL_TREE_THRESHOLD": "0", "NCCL_ASYNC_ERROR_HANDLING": "1"},  # nccl-variable-removed
        {"TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_ERROR_FILE": "/tmp/e.json"},
    ],
)
def test_what_is_read_is_left_in_peace(variables: dict[str, str]) -> None:
    result, found = look(**variables)
    assert result.status is CheckStatus.PASSED
    assert found == []


def test_what_a_script_reads_is_left_in_peace() -> None:
    known = Variables(libraries=[TORCH, NCCL], readers={"NCCL_TIMEOUT": "a script in the working folder"})
    assert look(known, NCCL_TIMEOUT="30")[0].status is CheckStatus.PASSED
    assert "init_process_group(timeout=" in look(NCCL_TIMEOUT="30")[1][0].message


def test_what_was_not_looked_at_is_not_judged() -> None:
    assert look(Variables(libraries=[TORCH]), NCCL_SOCKET_IFACE="eth0")[0].status is CheckStatus.PASSED
    rocm = Torch(imported=True, hip="6.4")
    assert look(torch=rocm, NCCL_SOCKET_IFACE="eth0")[0].status is CheckStatus.PASSED
    result, _ = look(None, NCCL_SOCKET_IFNAME="eth0")
    assert result.status is CheckStatus.UNKNOWN
    assert result.reason == "which variables the installed libraries read is not known"
    assert look(None)[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NCCL_SOCKET_IFACE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_P2P_DISABLED", "NCCL_P2P_DISABLE"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("TORCH_NCCL_BLOCK_WAIT", "TORCH_NCCL_BLOCKING_WAIT"),
    ],
)
def test_of_a_pasted_text_a_slip_is_known_by_the_names_of_all_releases(name: str, near: str) -> None:
    result, [finding] = look(None, **{name: "1"})
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert f"the nearest name that is read is {near}" in finding.message


@pytest.mark.parametrize(
    "name",
    ["NCCL_BLOCKING_WAIT", "NCCL_IB_GDR_LEVEL", "NCCL_TOPO_DUMP_FILE", "NCCL_OF_A_LATER_RELEASE", "NCCL_FASTRAK_NUM_FLOWS"],
)  # fmt: skip
def test_of_a_pasted_text_what_may_be_read_is_left_in_peace(name: str) -> None:
    result, found = look(None, **{name: "1"})
    assert (result.status, found) == (CheckStatus.UNKNOWN, [])


def test_of_a_pasted_text_a_script_may_read_the_name() -> None:
    assert [finding.severity for finding in look(None, NCCL_TIMEOUT="30")[1]] == [Severity.NOTE]


def test_a_value_is_judged_without_the_libraries() -> None:
    _, [finding] = look(None, NCCL_IB_DISABLE="true")
    assert finding.severity is Severity.WARNING
    assert finding.fixes[0].command == "export NCCL_IB_DISABLE=1"
    _, [finding] = look(torch=Torch(imported=True, cuda=None), NCCL_IB_DISABLE="true")
    assert finding.severity is Severity.NOTE


def test_a_value_that_ends_the_import_is_an_error() -> None:
    _, [finding] = look(TORCH_DISTRIBUTED_DEBUG="VERBOSE")
    assert finding.severity is Severity.ERROR


def test_nccls_files_are_read_to_the_letter() -> None:
    file = ConfigurationFile(
        path="/etc/nccl.conf",
        settings={"export NCCL_DEBUG": "INFO", "NCCL_DEBUGG": "INFO"},
        without_equals=[4],
    )
    launch = Launch(variables={"NCCL_CONF_FILE": "/gone"})
    facts = {"launch": launch, "variables": KNOWN, "nccl_configuration": NcclConfiguration(files=[file])}
    _, found = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert [finding.message[:45] for finding in found] == [
        "/etc/nccl.conf sets 'export NCCL_DEBUG': in t",
        "line 4 of /etc/nccl.conf has no `=`, and NCCL",
        "NCCL_CONF_FILE=/gone: there is no such file, ",
        "NCCL_DEBUGG=INFO in /etc/nccl.conf: nothing r",
    ]


@pytest.mark.parametrize(
    ("name", "severity", "says"),
    [
        ("NCCL_TOPO_FILE", Severity.WARNING, "takes the topology that it finds by itself"),
        ("NCCL_GRAPH_FILE", Severity.ERROR, "the first communicator fails"),
    ],
)
def test_a_file_that_cannot_be_read(name: str, severity: Severity, says: str) -> None:
    launch = Launch(variables={name: "/gone.xml"})
    gone = NamedFile(variable=name, path="/gone.xml", error="No such file or directory")
    facts = {"launch": launch, "nccl_configuration": NcclConfiguration(named=[gone])}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert (finding.severity, says in finding.message) == (severity, True)
    assert "(No such file or directory)" in finding.message
    assert finding.fixes[0].command == f"unset {name}"
    there = NcclConfiguration(named=[NamedFile(variable=name, path="/gone.xml")])
    assert (
        examine(CHECK, Source.ENVIRONMENT, Snapshot({"launch": launch, "nccl_configuration": there}))[1] == []
    )


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"NCCL_OOB_NET_IFNAME": "eth0"}, "with NCCL_OOB_NET_ENABLE=1 alone"),
        ({"NCCL_OOB_NET_IFNAME": "eth0", "NCCL_OOB_NET_ENABLE": "1"}, None),
        ({"NCCL_OOB_NET_ENABLE": "true"}, "NCCL takes the leading digits"),
        ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "30s"}, "ValueError"),
        ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "30"}, None),
    ],
)
def test_values_without_effect(variables: dict[str, str], says: str | None) -> None:
    facts = {"launch": Launch(variables=variables), "nccl_configuration": NcclConfiguration()}
    _, found = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert [says in finding.message for finding in found] == ([True] if says else [])


def test_a_slip_is_one_before_every_package_was_searched() -> None:
    hurried = Variables(libraries=[TORCH, NCCL], searched=False)
    [finding] = look(hurried, GLOO_SOCKET_IFACE="eth0")[1]
    assert "the nearest name that is read is GLOO_SOCKET_IFNAME" in finding.message
    assert look(hurried, TORCH_DIST_OF_MY_OWN_KIND="1")[1] == []
