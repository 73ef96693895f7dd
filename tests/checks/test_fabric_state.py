"""fabric-state: seen in logs."""

MESSAGE = "the NVLink fabric is not ready: peer traffic fails or is slow"
EXAMPLES = {
    "    Fabric\n        State                             : In Progress\n        Status                            : N/A": (
        "the NVLink fabric is not ready (In Progress): peer traffic fails or is slow"
    ),
    (
        "    Fabric\n        State                             : Completed\n"
        "        Status                            : Insufficient Resources"
    ): "the NVLink fabric is not ready (Insufficient Resources): peer traffic fails or is slow",
    (
        "    Fabric\n        State                             : Completed\n        Health\n"
        "            Summary                       : Unhealthy"
    ): "the NVLink fabric is not ready (Unhealthy): peer traffic fails or is slow",
    (
        "    Fabric\n        State                             : Completed\n        Health\n"
        "            Bandwidth                     : Degraded"
    ): "the NVLink fabric is not ready (Degraded): peer traffic fails or is slow",
    "            Route Unhealthy               : True": (
        "the NVLink fabric is not ready (Route Unhealthy): peer traffic fails or is slow"
    ),
    "gpu 2: fabric state is not healthy: state=In Progress": (
        "the NVLink fabric is not ready (not healthy): peer traffic fails or is slow"
    ),
    "node0:4711:4811 [0] NCCL INFO MNNVL busId 0x3b000 fabric UUID 0.0 cliqueId 0x0 state 2 healthMask 0x0": (
        "the NVLink fabric is not ready (state 2 instead of 3): peer traffic fails or is slow"
    ),
    (
        "NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX configuration "
        "(nvidia-imex-ctl -N). Set NCCL_MNNVL_ENABLE=0 to ignore this issue."
    ): MESSAGE,
    "NCCL WARN MemManager: cuMemExportToShareableHandle (FABRIC) failed for ptr=0x7f00": MESSAGE,
    "RuntimeError: expandable_segments: FABRIC handle type configured but device 0 does not support fabric access.": (
        "the NVLink fabric is not ready for GPU 0: peer traffic fails or is slow"
    ),
    "RuntimeError: All ranks using fabric handles must be in the same NVLink domain.": MESSAGE,
}
NOT_THIS = [
    "    Fabric\n        State                             : Completed\n        Status                            : Success",
    "    Fabric\n        State                             : N/A\n        Status                            : N/A",
    "State : In Progress",
    "NCCL INFO MNNVL busId 0x3b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0",
    "Error 802: system not yet initialized",
]
