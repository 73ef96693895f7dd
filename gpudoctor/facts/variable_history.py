"""Variables that have another name today, or none: what replaced them, each with its source."""

RENAMED = {
    # torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp: each list holds the new name first; the new one wins.
    "NCCL_ASYNC_ERROR_HANDLING": "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT": "TORCH_NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG": "TORCH_NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING": "TORCH_NCCL_ENABLE_TIMING",
    "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
    "NCCL_AVOID_RECORD_STREAMS": "TORCH_NCCL_AVOID_RECORD_STREAMS",
    # torch 2.9; torch 2.15 warns "... is deprecated; use TORCH_FR_BUFFER_SIZE instead" (run)
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE",
    "TORCH_NCCL_TRACE_CPP_STACK": "TORCH_FR_CPP_STACK",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "TORCH_FR_DUMP_ON_TIMEOUT",
    "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF": "PYTORCH_ALLOC_CONF",
    # NCCL's documentation, env.rst: channels since 2.5, CTAs since 2.17
    "NCCL_MIN_NRINGS": "NCCL_MIN_CTAS",
    "NCCL_MAX_NRINGS": "NCCL_MAX_CTAS",
    "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL",
}
"""Old name -> new name. Some old names are still read: the installed libraries tell."""

REMOVED = {
    # NCCL's documentation, env.rst
    "NCCL_CHECKS_DISABLE": "checks of arguments are off by default; NCCL_CHECK_MODE=DEBUG_LOCAL turns them on",
    "NCCL_IB_CUDA_SUPPORT": "NCCL_NET_GDR_LEVEL decides when GPUDirect RDMA is used",
    "NCCL_TREE_THRESHOLD": "NCCL chooses by its own model; NCCL_ALGO forces one algorithm",
    "NCCL_LL_THRESHOLD": "NCCL chooses by its own model; NCCL_PROTO forces one protocol",
    "NCCL_SINGLE_RING_THRESHOLD": "NCCL chooses by its own model; NCCL_ALGO and NCCL_PROTO force a choice",
    "NCCL_RINGS": "NCCL_GRAPH_FILE gives the rings by hand",
    # pytorch#194701: ignored for more than a year, then taken out
    "TORCH_NCCL_AVOID_RECORD_STREAMS": "what it asked for is always done",
    # not in torch 2.15's libraries; destroy_process_group and abort are calls of their own
    "TORCH_NCCL_ABORT_IN_DESTROY_PG": "torch.distributed.destroy_process_group() and abort are two calls",
}
"""Name -> what does its work today."""

HARMLESS = frozenset({"TORCH_NCCL_AVOID_RECORD_STREAMS", "NCCL_AVOID_RECORD_STREAMS", "NCCL_CHECKS_DISABLE"})
"""Removed ones that asked for what is the default now: nothing is lost but clarity."""

ELSEWHERE = (
    # what is built with NCCL, and the images of nvidia/cuda, which set NCCL_VERSION
    "NCCL_VERSION", "NCCL_HOME", "NCCL_ROOT", "NCCL_ROOT_DIR", "NCCL_DIR", "NCCL_PATH", "NCCL_INCLUDE",
    "NCCL_INCLUDE_DIR", "NCCL_INCLUDE_PATH", "NCCL_LIB", "NCCL_LIB_DIR", "NCCL_LIB_PATH", "NCCL_LIBRARY",
    "NCCL_LIBRARIES", "NCCL_LINK_TYPE", "NCCL_INSTALL_PATH", "NCCL_PREFIX", "NCCL_EP_HOME", "NCCL_TESTS_*",
    "NCCL_TEST_*", "NCCL_PSK", "NCCL_BUILD_*",
    # Google: the plug-ins of TCPX, TCPXO (FasTrak) and gIB
    "NCCL_FASTRAK_*", "NCCL_GPUDIRECTTCPX_*", "NCCL_SHIMNET_*", "NCCL_TUNER_CONFIG_PATH", "NCCL_GIB_*",
    "NCCL_DYNAMIC_*", "NCCL_TCPX*", "NCCL_GPUDIRECT_TCPX_*", "NCCL_USE_SNAP*",
    # NVIDIA's nccl-rdma-sharp-plugins, SHARP, and the profiler plug-ins
    "NCCL_IBEXT_*", "NCCL_PLUGIN_P2P", "NCCL_SHARP_*", "NCCL_UCX_*", "NCCL_PROFILE_*", "NCCL_PROFILER_*",
    "NCCL_INSPECTOR_*", "NCCL_TUNER_*",
    # Meta's NCCLX
    "NCCL_CTRAN_*", "NCCL_COLLTRACE*", "NCCL_CVAR_*", "NCCL_COMMSMONITOR_*", "NCCL_PROXYTRACE*",
    "NCCL_SLOW_COLL_*", "NCCL_AGG_CHANNEL_SIZE", "NCCL_FASTINIT_MODE", "NCCL_MSCCL_*", "NCCL_DDA_*",
)  # fmt: skip
"""Names, ``*`` for any ending, that programs beside NCCL read: build systems, tests, plug-ins, forks."""


def is_elsewhere(name: str) -> bool:
    """Return whether a program beside torch and NCCL is known to read a variable of this name."""
    return any(name == own or (own.endswith("*") and name.startswith(own[:-1])) for own in ELSEWHERE)
