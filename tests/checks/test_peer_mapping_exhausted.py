"""peer-mapping-exhausted: seen in logs."""

MESSAGE = "this process uses more GPUs than the eight peers that a GPU can have without NVSwitch"
EXAMPLES = {
    "[2026-06-20 02:14:03] node0:33207:33207 [0] allocator.cc:79 NCCL WARN Cuda failure 711 'peer mapping resources exhausted'": MESSAGE,
    "RuntimeError: CUDA error: peer mapping resources exhausted": MESSAGE,
    "RuntimeError: cuda runtime error (60) : peer mapping resources exhausted at /pytorch/aten/src/THC/THCGeneral.cpp:136": MESSAGE,
    "Unable to enable peer access between device ordinals 0 and 9, status: Internal: CUDA_ERROR_TOO_MANY_PEERS": MESSAGE,
    "node0:4711:4790 [9] transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 711 peer mapping resources exhausted": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: CUDA error: peer access is already enabled",
    "Enabling peer access within group #0",
]
