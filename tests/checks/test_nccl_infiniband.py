"""nccl-infiniband: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Gid, Host, IbDevice, IbPort, Infiniband, Launch, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "a transfer from 10.0.0.2 ended with status 12: the other side did not answer, and the retries are used up"
EXAMPLES = {
    "gpu-03:811:902 [2] transport/net_ib.cc:51 NCCL WARN NET/IB : Unable to query port 1": (
        "the InfiniBand adapters cannot be used: Unable to query port"
    ),
    "gpu-03:811:902 [2] include/ibvwrap.h:60 NCCL WARN ibv_post_send() failed with error Cannot allocate memory, Bad WR 0x7fe2, First WR 0x7fe2": (
        "ibv_post_send failed: Cannot allocate memory"
    ),
    "gpu-03:811:902 [2] transport/net_ib.cc:52 NCCL WARN NET/IB : Can't merge net devices with different link_layer. i=0 remMeta.ndevs=2": (
        "the InfiniBand adapters cannot be used: Can't merge net devices with different link_layer"
    ),
    "gpu-03:811:902 [2] transport/net_ib.cc:52 NCCL WARN NET/IB : Local mergedDev=mlx5_4 has a different number of devices=1 as remoteDev=mlx5_5 nRemDevs=2": (
        "the InfiniBand adapters cannot be used: Local mergedDev=mlx5_4 has a different number of devices"
    ),
    "gpu-03:811:902 [2] NCCL WARN NET/IB: ncclIbTest: Got completion with error (devIndex=1, wc->status=(remote operation error)11, wc->opcode=(SEND)0, wc->wr_id=9)": (
        "the InfiniBand adapters cannot be used: remote operation error"
    ),
    "gpu-03:811:902 [2] NCCL WARN NET/IB: Fatal error. Detected 3 failed devices out of 4 devices on the recv communicator (comm=0x7fe2).": (
        "the InfiniBand adapters cannot be used: Detected 3 failed devices out of 4"
    ),
    "node0:4711:4790 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129": (
        "a transfer ended with status 12: the other side did not answer, and the retries are used up"
    ),
    "[rank3]: NET/IB : Got completion from peer 10.0.0.2<38560> with error 12, opcode 0, len 0, vendor err 129": MESSAGE,
    "NET/IB : Got completion from peer 10.0.0.2<38560> with status=4 opcode=129 len=65536 vendor err 81 (Recv) localGid ::ffff:10.0.0.1": (
        "a transfer from 10.0.0.2 ended with status 4: this adapter may not access the memory that it was given"
    ),
    "NET/IB: Got completion from peer 10.0.0.2<38560> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 (Send)": MESSAGE,
    "node0:4711:4790 [0] ib_plugin.c:1615 NCCL WARN NET/IBP:Got completion from peer 10.0.0.2<38560> with status=13 opcode=0 len=0": (
        "a transfer from 10.0.0.2 ended with status 13: the other side had no buffer ready, and the retries "
        "are used up"
    ),
    "node0:4711:4790 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable": (
        "ibv_modify_qp failed: Network is unreachable"
    ),
    (
        "node0:4711:4790 [0] misc/ibvwrap.cc:187 (wrap_ibv_modify_qp) NCCL WARN Call to ibv_modify_qp failed with 101 Network is unreachable, "
        "on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 3"
    ): "ibv_modify_qp failed: Network is unreachable",
    "[rank0]: Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory": (
        "ibv_reg_mr_iova2 failed: Cannot allocate memory"
    ),
    "node0:4711:4790 [0] misc/ibvwrap.cu:269 NCCL WARN Call to ibv_create_qp failed": (
        "ibv_create_qp failed"
    ),
    "node0:4711:4790 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_0:1 async fatal event: local catastrophic error": (
        "mlx5_0:1 reports local catastrophic error"
    ),
    "NCCL WARN NET/IB : Remote mlx5 device is incompatible with the local [0]mlx5_0:1/IB. Try selecting NICs of only one link type": (
        "the InfiniBand adapters cannot be used: Remote mlx5 device is incompatible with the local"
    ),
    "NCCL WARN NET/IB : Unable to open device mlx5_0": (
        "the InfiniBand adapters cannot be used: Unable to open device mlx5_0"
    ),
    "node0:4711:4790 [0] transport/net_ib.cc:102 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error": (
        "mlx5_0:1 reports port error"
    ),
    "NCCL WARN Detected mixed local Net device counts across ranks (min 1, max 8). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.": (
        "the InfiniBand adapters cannot be used: Detected mixed local Net device counts across ranks"
    ),
    (
        "[1756714211.123456] [node0:4711 :0] ib_md.c:300  UCX  ERROR ibv_reg_mr(address=0x7f10, length=4096, access=0xf) failed: Cannot "
        "allocate memory : Please set max locked memory to unlimited"
    ): "ibv_reg_mr failed: Cannot allocate memory",
    "[node0:4711 :0:4790] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)": (
        "mlx5_0:1/RoCE reports that the other side did not answer"
    ),
    "The OpenFabrics (openib) BTL failed to initialize while trying to allocate some locked memory.": (
        "the InfiniBand adapters cannot be used: OpenFabrics (openib) BTL failed to initialize while trying to "
        "allocate some locked memory"
    ),
    "[33058.244475] infiniband mlx5_0: create_mkey_warn:158:(pid 2163): async reg mr failed. status -121": (
        "the kernel could not register memory with mlx5_0"
    ),
    "Failed to modify QP to RTR: Connection timed out": (
        "the InfiniBand adapters cannot be used: Failed to modify QP to RTR: Connection timed out"
    ),
    "[Rank    0]: Error 22 (Invalid argument) at (GPI2_IB.c:813):Failed to modify QP (libibverbs)": (
        "the InfiniBand adapters cannot be used: Failed to modify QP"
    ),
    "ibv_modify_qp failed (errno 19) (Ib failure: No such device)": "ibv_modify_qp failed",
    "node0:4711:4711 [0] misc/socket.cc:441 NCCL WARN socketFinalizeAccept: wrong type 4 != 3": (
        "one rank goes over InfiniBand and another one over TCP: the adapters do not work, or are turned off, on one node"
    ),
}
NOT_THIS = [
    "node0:4711:4790 [0] transport/net_ib.cc:102 NCCL WARN NET/IB : mlx5_0:1 Got async event : port active",
    "node0:4711:4711 [0] NCCL INFO NET/IB : No device found.",
    "node0:4711:4711 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
    "node0:4711:4711 [0] NCCL INFO Failed to open libibverbs.so[.1]",
    "node0:4711:4711 [0] NCCL INFO Call to ibv_query_ece not supported",
    "node0:4711:4790 [0] NCCL INFO Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, retrying 1/34 after 100 msec of sleep",
    "NET/IB : Got completion from peer 10.0.0.2<38560> with status=5 opcode=0 len=0 vendor err 249 (Send)",
    "NCCL WARN NET/IB : req 0/1 tag 0 peer 10.0.0.2<58683> collective mismatch error, local size 496640 remote size 65536",
]

CHECK = Registry().check("nccl-infiniband")
EIGHT = Pci(nvidia=[PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302") for n in range(8)])


def device(number: int, **fields: Any) -> IbDevice:
    port = {
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "rate_gbps": 400,
        "lanes": 4,
        "speed": "NDR",
        "link_layer": "InfiniBand",
    }
    about = {name: fields.pop(name) for name in ("driver", "board", "virtual_function") if name in fields}
    return IbDevice(
        name=f"mlx5_{number}",
        pci_address=f"0000:{number + 16:02x}:00.0",
        ports=[IbPort(**{**port, **fields})],
        **{"driver": "mlx5_core", **about},
    )


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


ROCE = [Gid(index=0, type="IB/RoCE v1", kind="link-local"), Gid(index=3, type="RoCE v2", kind="ipv4")]


def board(count: int = 8, verbs: int = 8, libibverbs: bool | None = True, **port: Any) -> Infiniband:
    return Infiniband(
        devices=[device(n, **port) for n in range(count)],
        verbs=[f"uverbs{n}" for n in range(verbs)],
        libibverbs=libibverbs,
    )


def told(**variables: str) -> Launch:
    return Launch(variables=variables)


def test_no_nodes_for_this_process() -> None:
    result, [finding] = run(infiniband=board(verbs=0), pci=EIGHT)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert "there is no /dev/infiniband/uverbs* for this process, so NCCL goes over TCP" in finding.message
    one = Pci(nvidia=EIGHT.nvidia[:1])
    assert run(infiniband=board(count=1, verbs=0), pci=one)[1][0].severity is Severity.NOTE
    assert run(infiniband=board(verbs=0), pci=EIGHT, launch=told(NCCL_IB_DISABLE="1"))[1] == []


def test_a_container_on_one_node_needs_no_adapter() -> None:
    facts = {"infiniband": board(verbs=0), "pci": EIGHT, "host": Host(container="docker")}
    assert [f.severity for f in run(**facts)[1]] == [Severity.NOTE]
    two_nodes = told(WORLD_SIZE="16", LOCAL_WORLD_SIZE="8", RANK="9")
    assert [f.severity for f in run(**facts, launch=two_nodes)[1]] == [Severity.WARNING]


def test_nodes_that_may_not_be_opened_and_no_library() -> None:
    from msgspec.structs import replace

    refused = replace(board(verbs=1), verbs_refused=["uverbs0"])
    assert "may not open /dev/infiniband/uverbs0" in run(infiniband=refused, pci=EIGHT)[1][0].message
    assert (
        "libibverbs.so.1 is not installed" in run(infiniband=board(libibverbs=False), pci=EIGHT)[1][0].message
    )


def test_the_gid_index() -> None:
    roce = board(link_layer="Ethernet", gids=ROCE)
    [empty] = run(infiniband=roce, pci=EIGHT, launch=told(NCCL_IB_GID_INDEX="5"))[1]
    assert empty.severity is Severity.ERROR
    assert "mlx5_0 has no address there (RoCE v2 with its IPv4 address is 3)" in empty.message
    [old] = run(infiniband=roce, pci=EIGHT, launch=told(NCCL_IB_GID_INDEX="0"))[1]
    assert old.severity is Severity.WARNING
    for fine in ("3", "-1", "200"):
        assert run(infiniband=roce, pci=EIGHT, launch=told(NCCL_IB_GID_INDEX=fine))[1] == []


def test_an_adapter_that_is_not_there() -> None:
    [finding] = run(infiniband=board(), pci=EIGHT, launch=told(NCCL_IB_HCA="mlx4_0"))[1]
    assert "fits no adapter" in finding.message
    [port] = run(infiniband=board(), pci=EIGHT, launch=told(NCCL_IB_HCA="=mlx5_0:2"))[1]
    assert "fits no adapter" in port.message
    for fine in ("mlx5", "=mlx5_0:1,mlx5_1", "^mlx5_7"):
        assert run(infiniband=board(), pci=EIGHT, launch=told(NCCL_IB_HCA=fine))[1] == []


def test_a_servers_ethernet_is_left_in_peace() -> None:
    ethernet = board(count=2, verbs=0, link_layer="Ethernet")
    assert run(infiniband=ethernet, pci=EIGHT)[0].status is CheckStatus.PASSED
    assert run(infiniband=board(verbs=0))[0].status is CheckStatus.PASSED  # no GPU


def test_unknown() -> None:
    assert run()[0].reason == "infiniband: not in this report"
