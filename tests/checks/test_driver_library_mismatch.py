"""driver-library-mismatch: seen in logs."""

MESSAGE = "the driver's libraries and its loaded kernel module are of different versions: no new process can use a GPU"
EXAMPLES = {
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 565.57": (
        "the driver's libraries (565.57) and its loaded kernel module are of different versions: no new "
        "process can use a GPU"
    ),
    "Failed to initialize NVML: Driver/library version mismatch": MESSAGE,
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown": MESSAGE,
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch": MESSAGE,
    "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.": MESSAGE,
    (
        "[ 100.1] NVRM: API mismatch: the client has the version 535.171.04, but\n"
        "[ 100.1] NVRM: this kernel module has the version 535.161.07.  Please\n"
        "[ 100.1] NVRM: make sure that this kernel module and all NVIDIA driver"
    ): (
        "the driver's libraries (535.171.04) and its loaded kernel module (535.161.07) are of different "
        "versions: no new process can use a GPU"
    ),
    "NVRM: API mismatch: the client has the version 535.171.04, but": (
        "the driver's libraries (535.171.04) and its loaded kernel module are of different versions: no new "
        "process can use a GPU"
    ),
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda "
        "driver combination"
    ): MESSAGE,
    "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": MESSAGE,
    "kernel version 440.33.1 does not match DSO version 450.51.6 -- cannot find working devices in this configuration": (
        "the driver's libraries (450.51.6) and its loaded kernel module (440.33.1) are of different versions: "
        "no new process can use a GPU"
    ),
}
NOT_THIS = [
    "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120.",
    "Failed to initialize NVML: Unknown Error",
    "NVML library version: 565.57",
]
