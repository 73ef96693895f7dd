"""driver-library-mismatch: seen in logs."""

EXAMPLES = [
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 565.57",
    "Failed to initialize NVML: Driver/library version mismatch",
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch",
    "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.",
    (
        "[ 100.1] NVRM: API mismatch: the client has the version 535.171.04, but\n"
        "[ 100.1] NVRM: this kernel module has the version 535.161.07.  Please\n"
        "[ 100.1] NVRM: make sure that this kernel module and all NVIDIA driver"
    ),
    "NVRM: API mismatch: the client has the version 535.171.04, but",
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda "
        "driver combination"
    ),
    "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "kernel version 440.33.1 does not match DSO version 450.51.6 -- cannot find working devices in this configuration",
]
NOT_THIS = [
    "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120.",
    "Failed to initialize NVML: Unknown Error",
    "NVML library version: 565.57",
]
SAYS = {
    EXAMPLES[
        0
    ]: "the driver's libraries (565.57) and its loaded kernel module are of different versions: no new process "
    "can use a GPU",
    EXAMPLES[
        1
    ]: "the driver's libraries and its loaded kernel module are of different versions: no new process can use a "
    "GPU",
    EXAMPLES[
        5
    ]: "the driver's libraries (535.171.04) and its loaded kernel module (535.161.07) are of different "
    "versions: no new process can use a GPU",
}
