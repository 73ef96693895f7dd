"""gpu-reset-required: seen in logs."""

MESSAGE = "the driver has closed the GPU until it is recovered: nothing can run on it"
EXAMPLES = {
    "[ 9120.33] NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": (
        "the driver has closed the GPU at 0000:4e:00 until it is recovered (GPU Reset Required): nothing can "
        "run on it"
    ),
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": (
        "the driver has closed the GPU at 0000:4e:00 until it is recovered (Node Reboot Required): nothing can "
        "run on it"
    ),
    "    GPU Recovery Action                        : Drain and Reset": (
        "the driver has closed the GPU until it is recovered (Drain and Reset): nothing can run on it"
    ),
    "        Reset Required                        : Yes": MESSAGE,
    "slurmstepd: error: NVML: Failed to get usage(16): GPU requires reset": MESSAGE,
    "Unable to determine the device handle for GPU 0000:4E:00.0: GPU requires restart": MESSAGE,
    "pynvml.NVMLError_ResetRequired: GPU requires restart": MESSAGE,
    "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000066)": MESSAGE,
    (
        "NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP "
        "(the GPU is likely in a bad state and may need to be reset)"
    ): MESSAGE,
    "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.": (
        "the driver has closed the GPU until it is recovered (reboot): nothing can run on it"
    ),
    "The following GPUs could not be reset:": MESSAGE,
}
NOT_THIS = [
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
    "    GPU Recovery Action                        : None",
    "        Reset Required                        : No",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection reset by peer",
]
