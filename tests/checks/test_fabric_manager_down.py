"""fabric-manager-down: seen in logs."""

EXAMPLES = [
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    ),
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=802 : system not yet initialized",
    "node0: Test CUDA failure common.cu:1030 'system not yet initialized'",
    "failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY",
    "[[ System not yet initialized (CUDA_ERROR_SYSTEM_NOT_READY) cuInit()=802 ]]",
    "cudaGetDeviceProperties returned 802",
    (
        "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120. Please "
        "update with matching NVIDIA driver package."
    ),
    "Mar 03 10:00:00 node0 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE",
    "Failed to start NVIDIA fabric manager service.",
    "Unit nvidia-fabricmanager.service could not be found.",
    '"/usr/bin/nv-fabricmanager -c /usr/share/nvidia/nvswitch/fabricmanager.cfg" failed! Exit code: 1',
    "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager",
    "DCGM_FR_CUDA_FM_NOT_INITIALIZED",
    "CUDA Error 802 on every multi-GPU job",
    "× nvidia-fabricmanager.service - NVIDIA fabric manager service",
]
NOT_THIS = [
    (
        "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do "
        "[NV_WARN_NOTHING_TO_DO]"
    ),
    "Error 803: system has unsupported display driver / cuda driver combination",
    "systemd[1]: Started NVIDIA fabric manager service.",
    "Failed to initialize NVML: Driver/library version mismatch",
]
SAYS = {
    EXAMPLES[0]: "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used",
    EXAMPLES[
        6
    ]: "CUDA waits for the fabric manager, which is of version 550.127.05 while the driver is 550.120: no GPU "
    "of this NVSwitch system can be used",
}
