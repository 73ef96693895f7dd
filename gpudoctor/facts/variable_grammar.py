"""What NCCL and torch make of a variable's value: how each is parsed, and what becomes of one that does not fit."""

import re

from msgspec import Struct

from gpudoctor.facts.nccl_configuration import Setting

# NCCL_PARAM (src/misc/param.cc): strtoll(value, NULL, 0), so that "4M" is 4 and "true" is 0, without a word. Run with
# NCCL 2.30.7: NCCL_NVTX_DISABLE=true and ="1" with its quotes are 0, NCCL_SOCKET_RCVBUF=7M is 7.
NUMBERS = frozenset(
    "NCCL_" + name
    for name in (
        "ALLOC_P2P_NET_LL_BUFFERS BUFFSIZE CGA_CLUSTER_SIZE CHECK_POINTERS COLLNET_ENABLE COLLNET_NODE_THRESHOLD "
        "COMM_BLOCKING COMM_SPLIT_SHARE_RESOURCES CROSS_NIC CUMEM_ENABLE CUMEM_HOST_ENABLE DMABUF_ENABLE "
        "GDRCOPY_ENABLE GDR_FLUSH_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER IB_ADAPTIVE_ROUTING "
        "IB_AR_THRESHOLD IB_DISABLE IB_ECE_ENABLE IB_FIFO_TC IB_GID_INDEX IB_MERGE_NICS IB_MERGE_VFS "
        "IB_PCI_RELAXED_ORDERING IB_PKEY IB_QPS_PER_CONNECTION IB_RETRY_CNT IB_RETURN_ASYNC_EVENTS "
        "IB_ROCE_VERSION_NUM IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT IB_USE_INLINE IGNORE_CPU_AFFINITY "
        "IGNORE_DISABLED_P2P LL128_BUFFSIZE LL128_NTHREADS LL_BUFFSIZE LAUNCH_RACE_FATAL LOCAL_REGISTER MAX_CTAS "
        "MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS "
        "NCHANNELS_PER_NET_PEER NET_DISABLE_INTRA NET_GDR_READ NET_OPTIONAL_RECV_COMPLETION NET_SHARED_BUFFERS "
        "NET_SHARED_COMMS OOB_NET_ENABLE NSOCKS_PERTHREAD NTHREADS NVB_DISABLE NVLS_CHUNKSIZE NVLS_ENABLE "
        "NVLS_NCHANNELS NVTX_DISABLE P2P_DIRECT_DISABLE P2P_DISABLE P2P_LL_THRESHOLD P2P_NET_CHUNKSIZE "
        "P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_PXN_LEVEL P2P_READ_ENABLE P2P_USE_CUDA_MEMCPY PAT_ENABLE "
        "PXN_C2C PXN_DISABLE RAS_ENABLE RUNTIME_CONNECT SET_STACK_SIZE SET_THREAD_NAME SHM_DISABLE SHM_LOCALITY "
        "SOCKET_NTHREADS SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC WORK_FIFO_BYTES"
    ).split()
)
WHOLE = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|\d+)\s*")
LEADING = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|\d+))")
RANGES = {
    # env.rst
    "NCCL_IB_RETRY_CNT": (0, 7),
    "NCCL_CROSS_NIC": (0, 2),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128),
    "NCCL_SOCKET_NTHREADS": (1, 16),
}
# src/debug.cc of 2.30, taken without regard to case; DESTROY and ALLOC_HOST are of 2.30, older ones have the rest
SUBSYSTEMS = (
    "INIT COLL P2P SHM NET GRAPH TUNING ENV ALLOC ALLOC_HOST CALL PROXY NVLS BOOTSTRAP REG PROFILE RAS DESTROY ALL"
).split()
# src/graph/topo.cc: compared with case. 0 to 9 are the old numbers.
LEVELS = "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS DIS NODE".split()
ALGORITHMS = "tree ring collnet collnetdirect collnetchain nvls nvlstree pat".split()
PROTOCOLS = "ll ll128 simple".split()
FUNCTIONS = (
    "broadcast reduce allgather allgatherv reducescatter allreduce sendrecv send recv alltoall".split()
)
YES_NO = "y yes 1 t true n no 0 f false".split()  # Utils.hpp, getCvarBool; run: "on", "2" and "" are refused
TORCH_SWITCHES = frozenset(
    "TORCH_NCCL_" + name
    for name in (
        "BCAST_UNIQUEID BLOCKING_WAIT CUDA_EVENT_CACHE DESYNC_DEBUG DUMP_ON_TIMEOUT ENABLE_MONITORING ENABLE_TIMING "
        "HIGH_PRIORITY LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN NAN_CHECK PROPAGATE_ERROR RETHROW_CUDA_ERRORS "
        "TEARDOWN_ON_TIMEOUT TRACE_CPP_STACK USE_COMM_NONBLOCKING USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
    ).split()
) | {
    "NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING",
    "TORCH_GLOO_LAZY_INIT",
    "TORCH_FR_CPP_STACK",
}
TORCH_NUMBERS = frozenset(
    "TORCH_NCCL_ASYNC_ERROR_HANDLING NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC TORCH_FR_BUFFER_SIZE "
    "TORCH_NCCL_TRACE_BUFFER_SIZE TORCH_NCCL_COORD_CHECK_MILSEC TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC "
    "TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC TORCH_NCCL_RANKS_PER_ROOT TORCH_NCCL_NONBLOCKING_TIMEOUT".split()
)

TORCH_WORDS = frozenset({"TORCH_DISTRIBUTED_USE_TORCHCOMMS", "TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P"})
"""Settings of ``torch.distributed.config`` (torch 2.15): "1" is true, "0" is false, and any other text is itself."""
WITH_INT = frozenset({"TORCH_FR_BUFFER_SIZE", "TORCH_DIST_INIT_BARRIER", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"})
"""What torch's Python code reads with ``int()``."""


class Misread(Struct, frozen=True):
    """A value that its reader does not take as it is meant."""

    why: str
    """What the reader makes of it."""
    write: str = ""
    """A value of the right form; empty: none can be named."""
    fatal: bool = False
    """The reader raises: training does not start."""


def misread(setting: Setting) -> Misread | None:
    """Return what its reader makes of a value that does not fit the variable's grammar; ``None`` where it fits."""
    name, value = setting.name, setting.value
    if name in NUMBERS:
        return _nccl_number(name, value)
    if name in TORCH_SWITCHES or name in TORCH_NUMBERS or name.startswith(("TORCH_DIST", "TORCH_ELASTIC")):
        return _torch(name, value)
    grammar = WORDS.get(name)
    return grammar(value) if grammar is not None and value.strip() else None


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


def _nccl_number(name: str, value: str) -> Misread | None:
    read = number(value)
    if read is None:
        return None
    if not WHOLE.fullmatch(value):
        word = value.strip().strip("\"'").lower()
        meant = {
            "true": "1",
            "yes": "1",
            "on": "1",
            "y": "1",
            "false": "0",
            "no": "0",
            "off": "0",
            "n": "0",
        }.get(word)
        if meant == str(read):
            return None  # "false" is 0, as it is meant
        plain = value.strip().strip("\"'")
        return Misread(
            f"it is a number, of which NCCL takes the leading digits: here that is {read}, without a warning",
            meant or (plain if WHOLE.fullmatch(plain) else _bytes(plain)),
        )
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


def _torch(name: str, value: str) -> Misread | None:
    if name == "TORCH_DISTRIBUTED_DEBUG":
        # parsed by `import torch`; run with 2.15: a word that is none, a blank beside it and no word at all raise
        if value.upper() in ("OFF", "INFO", "DETAIL"):
            return None
        return Misread(
            "it must be OFF, INFO or DETAIL, or `import torch` itself raises ValueError", "OFF", True
        )
    if name in TORCH_WORDS and value.strip().lower() in ("false", "no", "off", "n", "f"):
        # torch/utils/_config_module.py; run with 2.15: "false" is the text 'false', which counts as true
        return Misread("torch takes 0 alone for no: any other word, this one too, turns it on", "0")
    if name in TORCH_SWITCHES and value.lower() not in YES_NO:
        return Misread(
            'torch takes 1 and 0 alone, and raises "Invalid value for environment variable"', "1", True
        )
    if name in WITH_INT and not re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return Misread("torch reads it with int(), which raises ValueError", "", True)
    if name in TORCH_NUMBERS and not re.fullmatch(r"\s*[+-]?\d+.*", value, re.DOTALL):
        return Misread("it is a number, and torch raises for anything else", "", True)
    if name in WITH_INT and not re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return Misread("torch reads it with int(), which raises ValueError", "", True)
    if name in TORCH_NUMBERS and (found := re.fullmatch(r"\s*([+-]?\d+)(?!\d)\s*\S.*", value, re.DOTALL)):
        # Utils.hpp, getCvarInt: std::stoi stops before what is no digit
        return Misread(f"it is a number, of which torch takes the leading digits: here that is {found[1]}")
    if name.endswith("NCCL_ASYNC_ERROR_HANDLING") and value.strip() not in ("0", "1", "2", "3"):
        return Misread("torch knows 0, 1, 2 and 3", "3")
    return None


def _debug(value: str) -> Misread | None:
    if value.strip().upper() in ("VERSION", "WARN", "INFO", "ABORT", "TRACE"):
        return None
    return Misread(
        "NCCL knows VERSION, WARN, INFO and TRACE; with another word it prints nothing at all", "WARN"
    )


def _subsystems(value: str) -> Misread | None:
    unknown = [
        word for word in value.lstrip("^").split(",") if word.strip() and word.upper() not in SUBSYSTEMS
    ]
    if not unknown:
        return None
    return Misread(
        f"NCCL has no subsystem {', '.join(unknown)}: what it would print of that, it never prints",
        "INIT,NET",
    )


def _level(value: str) -> Misread | None:
    if value in LEVELS or value[0].isdecimal():
        return None
    meant = value.strip().strip("\"'").upper()
    write = meant if meant in LEVELS else "PHB"
    return Misread("NCCL knows LOC, NVL, PIX, PXB, PHB and SYS, in capitals, and ignores another word", write)


def _family(value: str) -> Misread | None:
    if value in ("AF_INET", "AF_INET6"):
        return None
    write = "AF_INET6" if "6" in value else "AF_INET"
    return Misread("NCCL knows AF_INET and AF_INET6, and ignores another word", write)


def _launch_mode(value: str) -> Misread | None:
    return None if value in ("GROUP", "PARALLEL") else Misread("NCCL knows GROUP and PARALLEL", "PARALLEL")


def _choices(value: str, known: list[str], write: str) -> Misread | None:
    # "ring,tree;allreduce:^tree": since 2.24 with a part for each function
    wrong = []
    for part in value.split(";"):
        function, colon, rest = part.rpartition(":")
        wrong += [word for word in function.split(",") if colon and word.lower() not in FUNCTIONS]
        wrong += [word for word in rest.lstrip("^").split(",") if word and word.lower() not in known]
    if not wrong:
        return None
    return Misread(
        f"NCCL knows no {', '.join(wrong)}: since 2.24 it refuses to start with such a word, before that it ignored it",
        write,
    )


def _interfaces(value: str) -> Misread | None:
    """Judge a list of interfaces as one of adapters, but for blanks: nccl-interface knows what a name matches."""
    return _devices(re.sub(r"\s", "", value))


def _devices(value: str) -> Misread | None:
    """Judge a list of names or prefixes: ``^`` (not these) and ``=`` (exactly) stand once, before the whole list."""
    first, *others = value.strip().removeprefix("^").removeprefix("=").split(",")
    bare = [other.lstrip(" ^=!") for other in others]
    if others != bare:
        front = value.strip()[: len(value.strip()) - len(value.strip().lstrip("^="))]
        return Misread(
            "`^` and `=` stand once, before the whole list, and a blank is part of the name: "
            f"{', '.join(repr(o) for o, b in zip(others, bare, strict=True) if o != b)} is the name of nothing",
            front + ",".join([first, *bare]),
        )
    return (
        Misread("a name is left out by `^`", "^" + value.strip().lstrip("!"))
        if value.startswith("!")
        else None
    )


def _address(value: str) -> Misread | None:
    """Judge ``HOST:PORT``: NCCL says "No valid <IPv4_or_hostname>:<port> pair found" of anything else."""
    if re.fullmatch(r"(?:\[[0-9a-fA-F:.]+(?:%\w+)?\]|[^\s:\[\]]+):\d{1,5}", value.strip()):
        return None
    return Misread(
        "it is HOST:PORT, [IPv6]:PORT for an address of IPv6, and NCCL finds none here", "localhost:28028"
    )


WORDS = {
    "NCCL_DEBUG": _debug,
    "NCCL_DEBUG_SUBSYS": _subsystems,
    "NCCL_P2P_LEVEL": _level,
    "NCCL_NET_GDR_LEVEL": _level,
    "NCCL_SOCKET_FAMILY": _family,
    "NCCL_LAUNCH_MODE": _launch_mode,
    "NCCL_ALGO": lambda value: _choices(value, ALGORITHMS, "Ring,Tree"),
    "NCCL_PROTO": lambda value: _choices(value, PROTOCOLS, "Simple"),
    "NCCL_IB_HCA": _devices,
    "NCCL_SOCKET_IFNAME": _interfaces,
    "NCCL_OOB_NET_IFNAME": _interfaces,
    "NCCL_RAS_ADDR": _address,
    "NCCL_COMM_ID": _address,
}
"""Variables of words; an empty one is as good as unset."""
