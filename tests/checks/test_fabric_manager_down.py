"""fabric-manager-down: seen in logs."""

MESSAGE = "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used"
EXAMPLES = {
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    ): MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=802 : system not yet initialized": MESSAGE,
    "node0: Test CUDA failure common.cu:1030 'system not yet initialized'": MESSAGE,
    "failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY": MESSAGE,
    "[[ System not yet initialized (CUDA_ERROR_SYSTEM_NOT_READY) cuInit()=802 ]]": MESSAGE,
    "cudaGetDeviceProperties returned 802": MESSAGE,
    (
        "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120. Please "
        "update with matching NVIDIA driver package."
    ): (
        "CUDA waits for the fabric manager, which is of version 550.127.05 while the driver is 550.120: no GPU "
        "of this NVSwitch system can be used"
    ),
    "Mar 03 10:00:00 node0 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE": MESSAGE,
    "Failed to start NVIDIA fabric manager service.": MESSAGE,
    "Unit nvidia-fabricmanager.service could not be found.": MESSAGE,
    '"/usr/bin/nv-fabricmanager -c /usr/share/nvidia/nvswitch/fabricmanager.cfg" failed! Exit code: 1': MESSAGE,
    "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager": MESSAGE,
    "DCGM_FR_CUDA_FM_NOT_INITIALIZED": MESSAGE,
    "CUDA Error 802 on every multi-GPU job": MESSAGE,
    "× nvidia-fabricmanager.service - NVIDIA fabric manager service": MESSAGE,
}
NOT_THIS = [
    (
        "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do "
        "[NV_WARN_NOTHING_TO_DO]"
    ),
    "Error 803: system has unsupported display driver / cuda driver combination",
    "systemd[1]: Started NVIDIA fabric manager service.",
    "Failed to initialize NVML: Driver/library version mismatch",
]
