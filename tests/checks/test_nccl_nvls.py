"""nccl-nvls: seen in logs."""

MESSAGE = "the NVSwitches' multicast (NVLS) could not be set up"
EXAMPLES = {
    "[2026-04-06 22:31:56] node0:348525:348718 [0] transport/nvls.cc:598 NCCL WARN Cuda failure 1 'invalid argument'": (
        MESSAGE + ": invalid argument"
    ),
    "node0:4711:4790 [3] transport/nvls.cc:169 NCCL WARN Cuda failure 'out of memory'": (
        MESSAGE + ": out of memory"
    ),
    "node0:4711:4790 [3] transport/nvls.cc:254 (nvlsBind) NCCL WARN Cuda failure 401 'the operation cannot be performed in the present state'": (
        MESSAGE + ": the operation cannot be performed in the present state"
    ),
    (
        "node0:4711:4790 [3] transport/nvls.cc:302 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 2 "
        "'out of memory'."
    ): MESSAGE + " for 2097152 bytes: out of memory",
    "[rank3]: Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152": (
        MESSAGE + " for 2097152 bytes"
    ),
    "NCCL WARN Failed to multicast-bind user buffer: CUDA error 1 'invalid argument'": (
        MESSAGE + ": invalid argument"
    ),
    "NCCL WARN Multicast support requested for team but none available on system.": MESSAGE,
    "Disable NVLS (NCCL_NVLS_ENABLE=0) if you wish to avoid this error in the future.": MESSAGE,
    "This is usually caused by a system or configuration error in the Fabric Manager or NVSwitches.": MESSAGE,
    "RuntimeError: SymmetricMemory[IMPORT_HANDLE]: failed to add device to multicast object": (
        MESSAGE + ": add device to multicast object"
    ),
}
NOT_THIS = [
    "node0:4711:4790 [0] NCCL INFO NVLS multicast support is not available on dev 0",
    "node0:4711:4790 [0] NCCL INFO NVLS comm 0x5581 headRank 0 nHeads 8 buffSize 1048576 memSize 2097152",
    "node0:4711:4790 [0] NCCL INFO Connected NVLS tree",
    "SymmetricMemory[BIND_AND_MAP]: gracefully skipping multicast initialization, not every rank bound and mapped the multicast object.",
    "node0:4711:4790 [0] transport/nvls.cc:100 NCCL WARN Cuda failure 802 'system not yet initialized'",
    "export NCCL_NVLS_ENABLE=0",
]
