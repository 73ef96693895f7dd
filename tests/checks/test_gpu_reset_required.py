"""gpu-reset-required: seen in logs."""

EXAMPLES = [
    "[ 9120.33] NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    "    GPU Recovery Action                        : Drain and Reset",
    "        Reset Required                        : Yes",
    "slurmstepd: error: NVML: Failed to get usage(16): GPU requires reset",
    "Unable to determine the device handle for GPU 0000:4E:00.0: GPU requires restart",
    "pynvml.NVMLError_ResetRequired: GPU requires restart",
    "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000066)",
    (
        "NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP "
        "(the GPU is likely in a bad state and may need to be reset)"
    ),
    "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
    "The following GPUs could not be reset:",
]
NOT_THIS = [
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
    "    GPU Recovery Action                        : None",
    "        Reset Required                        : No",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection reset by peer",
]
SAYS = {
    EXAMPLES[
        0
    ]: "the driver has closed the GPU at 0000:4e:00 until it is recovered (GPU Reset Required): nothing can run on it",
    EXAMPLES[4]: "the driver has closed the GPU until it is recovered: nothing can run on it",
}
