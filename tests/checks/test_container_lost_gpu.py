"""container-lost-gpu: seen in logs."""

MESSAGE = "the GPUs' device nodes can no longer be opened (Unknown Error): new processes in this container find no GPU"
EXAMPLES = {
    "Failed to initialize NVML: Unknown Error": MESSAGE,
    "ValueError: invalid literal for int() with base 10: 'Failed to initialize NVML: Unknown Error'": MESSAGE,
    "Failed to initialize NVML: Insufficient Permissions": (
        "the GPUs' device nodes can no longer be opened (Insufficient Permissions): new processes in this "
        "container find no GPU"
    ),
    "pynvml.NVMLError_Unknown: Unknown Error": (
        "the GPUs' device nodes can no longer be opened: new processes in this container find no GPU"
    ),
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Unknown Error": MESSAGE,
    "nvidia-container-cli: detection error: nvml error: unknown error: unknown": (
        "the GPUs' device nodes can no longer be opened (unknown error): new processes in this container find "
        "no GPU"
    ),
    "cat: /dev/nvidiactl: Operation not permitted": (
        "the GPUs' device nodes can no longer be opened (Operation not permitted): new processes in this "
        "container find no GPU"
    ),
}
NOT_THIS = [
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
    "Failed to initialize NVML: Driver/library version mismatch",
    "Failed to initialize NVML: Driver Not Loaded",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    "crw-rw-rw- 1 root root 195, 255 Jan  1 00:00 /dev/nvidiactl",
]
