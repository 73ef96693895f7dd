"""container-lost-gpu: seen in logs."""

EXAMPLES = [
    "Failed to initialize NVML: Unknown Error",
    "ValueError: invalid literal for int() with base 10: 'Failed to initialize NVML: Unknown Error'",
    "Failed to initialize NVML: Insufficient Permissions",
    "Failed to initialize NVML: GPU access blocked by the operating system",
    "pynvml.NVMLError_Unknown: Unknown Error",
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Unknown Error",
    "nvidia-container-cli: detection error: nvml error: unknown error: unknown",
    "cat: /dev/nvidiactl: Operation not permitted",
]
NOT_THIS = [
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
    "Failed to initialize NVML: Driver/library version mismatch",
    "Failed to initialize NVML: Driver Not Loaded",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    "crw-rw-rw- 1 root root 195, 255 Jan  1 00:00 /dev/nvidiactl",
]
SAYS = {
    EXAMPLES[
        0
    ]: "the GPUs' device nodes can no longer be opened (Unknown Error): new processes in this container find no "
    "GPU",
    EXAMPLES[
        4
    ]: "the GPUs' device nodes can no longer be opened: new processes in this container find no GPU",
}
