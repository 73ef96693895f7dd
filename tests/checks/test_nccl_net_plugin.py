"""nccl-net-plugin: in logs and before the training."""

from typing import Any

from gpudoctor.facts import IbDevice, IbPort, Infiniband, Launch, NamedFile, NcclConfiguration, Plugins
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "NCCL INFO NET/Plugin: libnccl-net-ofi.so: /opt/lib/libibverbs.so.1: version `IBVERBS_1.99' not found (required by": (
        "NCCL's network plug-in does not work here: libnccl-net-ofi.so: /opt/lib/libibverbs.so.1: version `IBVERBS_1.99' "
        "not found"
    ),
    "node0:4711:4790 [0] nccl_net_ofi_rdma.c:5100 NCCL WARN NET/OFI Creating new endpoint for domain 0x7f9b00 failed: Invalid argument": (
        "NCCL's network plug-in does not work here: OFI: Creating new endpoint for domain 0x7f9b00 failed: "
        "Invalid argument"
    ),
    "node0:4711:4790 [0] nccl_net_ofi.c:88 NCCL WARN NET/gIB : cannot find any device": (
        "NCCL's network plug-in does not work here: gIB: cannot find any device"
    ),
    "[rank4]: NET/OFI Request completed with error. RC: 21. Error: unknown error. Completed length: 0": (
        "NCCL's network plug-in does not work here: OFI: Request completed with error. RC: 21. Error: unknown "
        "error. Completed length: 0"
    ),
    "NCCL INFO NET/Plugin: Plugin load returned 2 : libnccl-net.so: undefined symbol: fi_getinfo_v2 : when loading libnccl-net.so": (
        "NCCL's network plug-in does not work here: libnccl-net.so: undefined symbol: fi_getinfo_v2"
    ),
    "python: symbol lookup error: /opt/amazon/ofi/lib/libnccl-net.so: undefined symbol: fi_dupinfo": (
        "NCCL's network plug-in does not work here: libnccl-net.so: undefined symbol: fi_dupinfo"
    ),
    "node0:4711:4711 [0] net.cc:210 NCCL WARN Error: network AWS Libfabric not found.": (
        "NCCL's network plug-in does not work here: AWS Libfabric: not found"
    ),
    "[rank0]: Error: network IB not found.": "NCCL's network plug-in does not work here: IB: not found",
    "node0:4711:4711 [0] plugin/net.cc:300 (ncclNetInit) NCCL WARN Failed to initialize any NET plugin": (
        "NCCL's network plug-in does not work here"
    ),
    "NCCL WARN External network plugin libnccl-net-old.so is unsupported": (
        "NCCL's network plug-in does not work here: libnccl-net-old.so: unsupported"
    ),
    "NCCL WARN NCCL_DEVICE_UNPACK plugin has incompatible version 7, this NCCL build is compatible with 8, not using it": (
        "NCCL's network plug-in does not work here: NCCL_DEVICE_UNPACK: incompatible version"
    ),
    "OSError: libfabric.so.1: version `FABRIC_1.6' not found (required by /opt/plugin/libnccl-net.so)": (
        "NCCL's network plug-in does not work here: libfabric.so.1: version `FABRIC_1.6' not found"
    ),
    "node2:10366:10377 [0] ucx_plugin.c:498 NCCL WARN Failed: UCX error ucx_plugin.c:498 '-5' Invalid parameter": (
        "NCCL's network plug-in does not work here: UCX: '-5' Invalid parameter"
    ),
    "[1038619.687627] infiniband efa_0: Failed to process command REG_MR (opcode 7) comp_status 1 err -12": (
        "NCCL's network plug-in does not work here: efa_0: Failed to process command REG_MR (opcode 7) "
        "comp_status 1 err -12"
    ),
    "NET/OFI Request 0x7f14cc5b60c0 completed with error. RC: 113. Error: 2 (UNDELIVERABLE). Completed length: 0": (
        "NCCL's network plug-in does not work here: OFI: Request 0x7f14cc5b60c0 completed with error. RC: 113. "
        "Error: 2 (UNDELIVERABLE). Completed length: 0"
    ),
}
NOT_THIS = [
    "node0:4711:4711 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
    "node0:4711:4711 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so.",
    "NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory",
    "node0:4711:4711 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.",
    "node0:4711:4711 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)",
    "node0:4711:4711 [0] NCCL INFO TUNER/Plugin: Failed to find ncclTunerPlugin_v3 symbol.",
    "node0:4711:4711 [0] NCCL INFO Using network Socket",
    "Error response from daemon: network training_default not found",
]

CHECK = Registry().check("nccl-net-plugin")
EFA = Infiniband(
    devices=[IbDevice(name="rdmap0", driver="efa", ports=[IbPort(state="ACTIVE", link_layer="Unspecified")])]
)
OFI = Plugins(found=["libnccl-net-ofi.so"])


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def told(**variables: str) -> Launch:
    return Launch(variables=variables)


def test_a_network_that_is_not_here() -> None:
    result, [finding] = run(launch=told(NCCL_NET="AWS Libfabric"), plugins=OFI, infiniband=Infiniband())
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert "this machine has no EFA adapter" in finding.message
    _, [finding] = run(launch=told(NCCL_NET="IB"), plugins=Plugins(), infiniband=EFA)
    assert "no active InfiniBand or RoCE port" in finding.message


def test_a_network_that_nobody_brings() -> None:
    _, [finding] = run(launch=told(NCCL_NET="TCP"), plugins=Plugins())
    assert "NCCL_NET is TCP, and NCCL has no network of that name" in finding.message
    own = told(NCCL_NET="Mine", NCCL_NET_PLUGIN="/opt/mine/libnccl-net-mine.so")
    for facts in ({"launch": own, "plugins": Plugins()}, {"launch": told(NCCL_NET="Mine"), "plugins": OFI}):
        assert run(**facts)[1] == []
    assert run(launch=told(NCCL_NET="SOCKET"), plugins=Plugins())[1] == []


def test_a_plugin_that_is_not_found() -> None:
    _, [finding] = run(launch=told(NCCL_NET_PLUGIN="gib"), plugins=OFI)
    assert finding.severity is Severity.WARNING


def test_a_tuner_that_is_not_found() -> None:
    for name in ("libnccl-tuner-mine.so", "mine"):
        _, [finding] = run(launch=told(NCCL_TUNER_PLUGIN=name), plugins=Plugins())
        assert "NCCL goes on with its own choice of algorithms" in finding.message
    here = Plugins(found=["libnccl-tuner-mine.so.1"])
    for name in ("libnccl-tuner-mine.so", "mine"):
        assert run(launch=told(NCCL_TUNER_PLUGIN=name), plugins=here)[1] == []
    # A library of another name is not looked for, and a network plug-in may hold the tuner.
    assert run(launch=told(NCCL_TUNER_PLUGIN="libmine.so"), plugins=Plugins())[1] == []
    assert run(launch=told(NCCL_TUNER_PLUGIN="mine"), plugins=OFI)[1] == []


def test_efa_without_a_plugin() -> None:
    two = told(WORLD_SIZE="16", LOCAL_WORLD_SIZE="8")
    assert "rdmap0 is an EFA adapter" in run(launch=two, plugins=Plugins(), infiniband=EFA)[1][0].message
    assert run(launch=two, plugins=OFI, infiniband=EFA)[1] == []
    assert run(launch=told(), plugins=Plugins(), infiniband=EFA)[1] == []


def test_a_plugin_that_is_no_library() -> None:
    damaged = Plugins(found=["libnccl-net.so"], damaged=["/opt/p/libnccl-net.so"])
    _, [finding] = run(launch=told(), plugins=damaged)
    assert finding.severity is Severity.WARNING
    assert "/opt/p/libnccl-net.so is no library" in finding.message
    assert run(launch=told(NCCL_NET_PLUGIN="none"), plugins=damaged)[1] == []
    assert run(launch=told(), plugins=Plugins(damaged=["/opt/p/libnccl-tuner-x.so"]))[1] == []


def test_passes() -> None:
    for variables in ({}, {"NCCL_NET_PLUGIN": "none"}, {"NCCL_NET_PLUGIN": "ofi"}, {"NCCL_NET": "Socket"}):
        assert run(launch=told(**variables), plugins=OFI, infiniband=EFA)[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run(launch=told())[0].reason == "plugins: not in this report"


def test_a_plugin_by_a_path_that_is_not_there() -> None:
    path = "/opt/ofi/lib/libnccl-ofi-tuner.so"
    gone = NamedFile(variable="NCCL_TUNER_PLUGIN", path=path, error="No such file or directory")
    facts = {"launch": told(NCCL_TUNER_PLUGIN=path), "plugins": Plugins()}
    [finding] = run(**facts, nccl_configuration=NcclConfiguration(named=[gone]))[1]
    assert finding.severity is Severity.WARNING
    assert (
        "cannot be opened (No such file or directory), and NCCL goes on with its own choice"
        in finding.message
    )
    there = NamedFile(variable="NCCL_TUNER_PLUGIN", path=path)
    assert run(**facts, nccl_configuration=NcclConfiguration(named=[there]))[1] == []
