"""What NCCL and torch make of a variable's value: how each is parsed, and what becomes of one that does not fit."""

import re

from gpudoctor.facts.misreading import Misread
from gpudoctor.facts.nccl_configuration import Setting
from gpudoctor.facts.nccl_numbers import NUMBERS, nccl_number

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
CHECK_MODES = "default debug_local debug_global debug".split()  # env.rst; DEBUG of 2.29.7's release notes
POLICIES = "default efficiency zero".split()
TIMESTAMPS = "VERSION WARN INFO ABORT TRACE ALL".split()
# Run with 2.30.7 (ncclParamDumpAll): "1/T/TRUE or 0/F/FALSE" in any case; "yes", "on" and "2" leave the default, 0.
NCCL_SWITCHES = frozenset({"NCCL_SET_THREAD_NAME", "NCCL_WARN_ENABLE_DEBUG_INFO", "NCCL_PARAM_DUMP_ALL"})
YES_NO = "y yes 1 t true n no 0 f false".split()  # Utils.hpp, getCvarBool; run: "on", "2" and "" are refused
TORCH_SWITCHES = frozenset(
    "TORCH_NCCL_" + name
    for name in (
        "BCAST_UNIQUEID BLOCKING_WAIT CUDA_EVENT_CACHE DESYNC_DEBUG DUMP_ON_TIMEOUT ENABLE_MONITORING ENABLE_TIMING "
        "HIGH_PRIORITY LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN NAN_CHECK PROPAGATE_ERROR RETHROW_CUDA_ERRORS "
        "TEARDOWN_ON_TIMEOUT TRACE_CPP_STACK USE_COMM_NONBLOCKING USE_TENSOR_REGISTER_ALLOCATOR_HOOK "
        "EXTRA_DUMP_ON_EXEC SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING"
    ).split()
) | {
    "NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING",
    "TORCH_GLOO_LAZY_INIT",
    "TORCH_FR_CPP_STACK",
    "TORCH_FR_DUMP_ON_TIMEOUT",
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


def misread(setting: Setting) -> Misread | None:
    """Return what its reader makes of a value that does not fit the variable's grammar; ``None`` where it fits."""
    name, value = setting.name, setting.value
    if name in NUMBERS:
        return nccl_number(name, value)
    if name in TORCH_SWITCHES or name in TORCH_NUMBERS or name.startswith(("TORCH_DIST", "TORCH_ELASTIC")):
        return _torch(name, value)
    if name in NCCL_SWITCHES:
        return _nccl_switch(value)
    grammar = WORDS.get(name)
    return grammar(value) if grammar is not None and value.strip() else None


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


def _nccl_switch(value: str) -> Misread | None:
    word = value.strip().lower()
    if word in ("", "1", "t", "true", "0", "f", "false"):
        return None
    meant = "1" if word in ("yes", "on", "y") else "0"
    return Misread("NCCL takes 1 or TRUE and 0 or FALSE, and leaves it off for anything else", meant)


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
        f"NCCL has no subsystem {', '.join(unknown)}: with it 2.30 drops the whole list for its own, "
        "INIT,BOOTSTRAP,ENV, and an older one leaves the word out",
        "INIT,NET",
    )


def _level(value: str) -> Misread | None:
    if value in LEVELS or value[0].isdecimal():
        return None
    meant = value.strip().strip("\"'").upper()
    write = meant if meant in LEVELS else "PHB"
    return Misread("NCCL knows LOC, NVL, PIX, PXB, PHB and SYS, in capitals, and ignores another word", write)


def _merge_level(value: str) -> Misread | None:
    # src/graph/topo.cc: a table of words, in capitals
    if value in (*LEVELS, "PORT") or value[0].isdecimal():
        return None
    return Misread(
        "NCCL knows LOC, PORT, PIX, PXB, PHB and SYS, in capitals, and takes its default instead", "PORT"
    )


def _network_policy(value: str) -> Misread | None:
    if value.strip().upper() in ("AUTO", "ALL") or re.fullmatch(r"MAX:[1-9]\d*", value.strip().upper()):
        return None
    return Misread("NCCL knows AUTO, ALL and MAX:N, and takes AUTO instead", "AUTO")


def _cta_policy(value: str) -> Misread | None:
    words = [word.strip().lower() for word in value.split("|")]
    if value.strip() in ("0", "1", "2") or all(word in POLICIES for word in words):
        return None
    return Misread("NCCL knows DEFAULT, EFFICIENCY and ZERO, and takes DEFAULT instead", "DEFAULT")


def _one_of(value: str, known: list[str], otherwise: str) -> Misread | None:
    if value.strip().lower() in known:
        return None
    listed = ", ".join(word.upper() for word in known[:3])
    return Misread(f"NCCL knows {listed}{otherwise}", known[0].upper())


def _timestamps(value: str) -> Misread | None:
    unknown = [word for word in value.lstrip("^").split(",") if word.strip().upper() not in TIMESTAMPS]
    if not unknown:
        return None
    # run with 2.30.7: one word that it does not know, and the whole list is the default
    return Misread(
        f"NCCL knows no level {', '.join(unknown)}, and takes its default, WARN, instead of the list", "WARN"
    )


def _range(value: str) -> Misread | None:
    if re.fullmatch(r"[0-9a-fA-F:.]+/\d{1,3}", value.strip()):
        return None
    return Misread("it is a range of addresses, such as 10.0.0.0/16")


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
    "NCCL_IB_ADDR_FAMILY": _family,
    "NCCL_IB_ADDR_RANGE": _range,
    "NCCL_NET_MERGE_LEVEL": _merge_level,
    "NCCL_NET_MERGE_POLICY": lambda value: _one_of(value, ["all", "rail"], ", and takes ALL instead"),
    "NCCL_NETDEVS_POLICY": _network_policy,
    "NCCL_CHECK_MODE": lambda value: _one_of(value, CHECK_MODES, ""),
    "NCCL_CTA_POLICY": _cta_policy,
    "NCCL_DEBUG_TIMESTAMP_LEVELS": _timestamps,
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
