"""What NCCL makes of the value of a variable that is a number."""

import re

from gpudoctor.facts.misreading import Misread

# What NCCL 2.30.7 reads with NCCL_PARAM (src/misc/param.cc): the names that its functions ncclParam...() hand to
# ncclLoadParam, taken from the library itself; and NCCL_P2P_DISABLE, read the same way elsewhere.
# That is strtoll(value, NULL, 0): "4M" is 4 and "true" is 0, without a word. Run with it: NCCL_NVTX_DISABLE=true
# and ="1" with its quotes are 0, NCCL_SOCKET_RCVBUF=7M is 7.
NUMBERS = frozenset(
    "NCCL_" + name
    for name in (
        "ALLGATHERV_ENABLE ALLOC_P2P_NET_LL_BUFFERS BUFFSIZE CGA_CLUSTER_SIZE CHECK_POINTERS CHUNK_SIZE "
        "COLLNET_ENABLE COLLNET_NODE_THRESHOLD COMM_BLOCKING COMM_SHRINK_SHARE_RESOURCES "
        "COMM_SPLIT_SHARE_RESOURCES CONNECT_ROUND_MAX_PEERS CROSS_NIC CUMEM_ENABLE CUMEM_HOST_ENABLE DEV_API_JIT "
        "DISABLE_MEM_MANAGER DMABUF_ENABLE ELASTIC_BUFFER_REGISTER ENABLE_VERSION_CHECK GDAKI_USE_RELIABLE_DB "
        "GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE GIN_ENABLE "
        "GIN_ERROR_QUERY_SEC GIN_GDAKI_MAX_DEST_RD_ATOMIC GIN_GDAKI_MAX_QP_RD_ATOMIC GIN_GDAKI_NIC_HANDLER "
        "GIN_GDAKI_QP_DEPTH GIN_IB_TC GIN_NCONNECTIONS GIN_PLUGIN_REF_COUNT GIN_PROXY_QUEUE_SIZE GIN_TYPE "
        "GRAPH_DUMP_FILE_RANK GRAPH_HELPER_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER GRAPH_STREAM_ORDERING "
        "GROUP_CUDA_STREAM IB_ADAPTIVE_ROUTING IB_AR_THRESHOLD IB_DATA_DIRECT IB_DEVICE_PCI_ORDER IB_DISABLE "
        "IB_ECE_ENABLE IB_FIFO_TC IB_GID_INDEX IB_MERGE_NICS IB_MERGE_VFS IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT "
        "IB_MQP_RETRY_SLEEP_MSEC IB_OOO_RQ IB_PCI_RELAXED_ORDERING IB_PKEY IB_PREPOST_RECEIVE_WORK_REQUESTS "
        "IB_QPS_PER_CONNECTION IB_QUERY_PORT_SPEED IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RESILIENCY_PORT_FAILOVER "
        "IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY "
        "IB_RESILIENCY_PORT_RECOVERY IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT "
        "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE "
        "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT "
        "IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX IB_RESILIENCY_PORT_RECOVERY_START_DELAY IB_RETRY_CNT "
        "IB_RETURN_ASYNC_EVENTS IB_ROCE_VERSION_NUM IB_ROUTABLE_FLID_GID_INDEX IB_SL IB_SPLIT_DATA_ON_QPS "
        "IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN IB_TC IB_TIMEOUT IB_USE_INLINE IB_WARN_RAIL_LOCAL "
        "IGNORE_COLLNET_MISMATCH IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P IGNORE_NET_MISMATCH "
        "IPC_USE_ABSTRACT_SOCKET L1_SHARED_MEMORY_CARVEOUT LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL "
        "LEGACY_CUDA_REGISTER LL128_BUFFSIZE LL128_C2C LL128_NTHREADS LL_BUFFSIZE LOCAL_REGISTER LSA_TEAM_SIZE "
        "MAX_CTAS MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS "
        "MIN_P2P_NCHANNELS MLOPART_RDMA_ENABLE MNNVL_CLIQUE_ID MNNVL_CROSS_CLIQUE MNNVL_ENABLE "
        "MNNVL_RAIL_PER_HOST MNNVL_SCATTER_NETS_ENABLE MNNVL_UUID MULTI_RANK_GPU_ENABLE MULTI_SEGMENT_REGISTER "
        "NCHANNELS_PER_NET_PEER NET_DISABLE_INTRA NET_FORCE_FLUSH NET_GDR_C2C NET_GDR_MLOPART NET_GDR_READ "
        "NET_OPTIONAL_RECV_COMPLETION NET_OVERHEAD NET_PLUGIN_REF_COUNT NET_SHARED_BUFFERS NET_SHARED_COMMS "
        "NSOCKS_PERTHREAD NTHREADS NUM_RMA_CTX NVB_DISABLE NVB_PRECONNECT NVLINK_UTIL_CENTRIC_SCHED_ENABLE "
        "NVLSTREE_MAX_CHUNKSIZE NVLS_CHUNKSIZE NVLS_ENABLE NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE "
        "P2P_DIRECT_DISABLE P2P_DISABLE P2P_EPOCH_ENABLE P2P_LL_THRESHOLD P2P_MAX_PEERS P2P_NET_CHUNKSIZE "
        "P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_PER_CHANNEL_NET_BW P2P_PXN_LEVEL P2P_READ_ENABLE "
        "P2P_SCHEDULE_GROUP_SIZE P2P_USE_CUDA_MEMCPY PAT_ENABLE PROGRESS_APPENDOP_FREQ PROXY_APPEND_BATCH_SIZE "
        "PROXY_DUMP_SIGNAL PXN_C2C PXN_DISABLE RAS_ENABLE RAS_TIMEOUT_FACTOR REPORT_CONNECT_PROGRESS RMA_DISABLE "
        "RMA_PLUGIN_REF_COUNT RMA_PROXY_DUMP_SIGNAL RMA_PROXY_QUEUE_SIZE RUNTIME_CONNECT SET_CPU_STACK_SIZE "
        "SET_STACK_SIZE SHADOW_MEMPOOL_MAX_SIZE SHM_DISABLE SHM_LOCALITY SINGLE_PROC_MEM_REG_ENABLE SOCKET_INLINE "
        "SOCKET_MIN_TASKSIZE SOCKET_NTHREADS SOCKET_POLL_TIMEOUT_MSEC SOCKET_RCVBUF SOCKET_RETRY_CNT "
        "SOCKET_RETRY_SLEEP_MSEC SOCKET_SNDBUF SYM_CE_THRESHOLD SYM_CTAS SYM_GIN_KERNELS_ENABLE SYM_NOWIN_ENABLE "
        "SYM_REUSE_SYSMEM_HANDLES SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE TOPO_DUMP_FILE_RANK TOPO_SPLIT_MLOPART "
        "UID_STAGGER_RATE UID_STAGGER_THRESHOLD UNPACK_DOUBLE_NCHANNELS WIN_ENABLE WIN_STRIDE WORK_ARGS_BYTES "
        "WORK_FIFO_BYTES"
    ).split()
)
YES, NO = ("true", "yes", "on", "y"), ("false", "no", "off", "n")
WHOLE = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|\d+)\s*")
LEADING = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|\d+))")
RANGES = {
    # env.rst
    "NCCL_IB_RETRY_CNT": (0, 7),
    "NCCL_CROSS_NIC": (0, 2),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128),
    "NCCL_SOCKET_NTHREADS": (1, 16),
    "NCCL_CGA_CLUSTER_SIZE": (0, 8),
    "NCCL_IB_PCI_RELAXED_ORDERING": (0, 2),
    "NCCL_MAX_CTAS": (1, 64),
    "NCCL_MIN_CTAS": (1, 64),
    "NCCL_MEM_SYNC_DOMAIN": (0, 1),
    "NCCL_MNNVL_ENABLE": (0, 2),
    "NCCL_NVLS_ENABLE": (0, 2),
    "NCCL_P2P_PXN_LEVEL": (0, 2),
    "NCCL_SHM_LOCALITY": (1, 2),  # src/transport/shm.cc
    "NCCL_IB_SUBNET_PREFIX_LEN": (1, 32),  # its own warning: "is out of range [1,32]"
    # InfiniBand: four bits, and eight; -1 is NCCL's own default
    "NCCL_IB_SL": (-1, 15),
    "NCCL_IB_TC": (-1, 255),
    "NCCL_IB_FIFO_TC": (-1, 255),
}
LARGEST = (1 << 63) - 1


def number(value: str) -> int | None:
    """Return a value as NCCL's numbers are read: the digits that it begins with, 0 without any; ``None`` if empty."""
    if not value:
        return None
    found = LEADING.match(value)
    if found is None:
        return 0
    digits = found[1].lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
    try:
        size = int(digits, 8 if octal else 0)
    except ValueError:  # 09: strtoll stops before the 9
        size = 0
    return -size if found[1].startswith("-") else size


def nccl_number(name: str, value: str) -> Misread | None:
    """Return what NCCL makes of a variable's value that is no number, or none that it takes; ``None``: it fits."""
    read = number(value)
    if read is None:
        return None
    if abs(read) > LARGEST:  # param.cc: strtoll sets errno, "using default"
        return Misread("the number does not fit into 64 bits, and NCCL takes its default instead")
    return _no_number(value, read) if not WHOLE.fullmatch(value) else _out_of_range(name, read)


def _no_number(value: str, read: int) -> Misread | None:
    word = value.strip().strip("\"'").lower()
    meant = "1" if word in YES else "0" if word in NO else None
    if meant == str(read):
        return None  # "false" is 0, as it is meant
    plain = value.strip().strip("\"'")
    return Misread(
        f"it is a number, of which NCCL takes the leading digits: here that is {read}, without a warning",
        meant or (plain if WHOLE.fullmatch(plain) else _bytes(plain)),
    )


def _out_of_range(name: str, read: int) -> Misread | None:
    if name == "NCCL_WORK_FIFO_BYTES" and read > 0 and read & (read - 1):
        return Misread("NCCL ignores a size that is no power of 2", str(1 << (read.bit_length() - 1)))
    low, high = RANGES.get(name, (read, read))
    if not low <= read <= high:
        return Misread(f"it goes from {low} to {high}")
    if name in ("NCCL_NTHREADS", "NCCL_LL128_NTHREADS") and read > 0 and read % 32:
        return Misread("NCCL takes multiples of 32, and puts its own maximum in the place of another", "512")
    return None


def _bytes(text: str) -> str:
    """Return a size such as 4M in bytes; empty for what is none."""
    found = re.fullmatch(r"(\d+) ?([KMG])i?B?", text, re.IGNORECASE)
    return str(int(found[1]) << {"K": 10, "M": 20, "G": 30}[found[2].upper()]) if found else ""
