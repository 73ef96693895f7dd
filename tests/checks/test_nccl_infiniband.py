"""nccl-infiniband: seen in logs."""

MESSAGE = "a transfer from 10.0.0.2 ended with status 12: the other side did not answer, and the retries are used up"
EXAMPLES = {
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
