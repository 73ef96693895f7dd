"""gpu-fell-off-bus: seen in logs."""

EXAMPLES = [
    "[ 8812.440021] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "Mar  3 04:11:52 node0 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
    "NVRM: GPU at 0000:3b:00.0 has fallen off the bus.",
    "[   21.000113] NVRM: fallen off the bus and is not responding to commands.",
    "NVRM: Xid (PCI:0000:5e:00): 45, pid=4711, name=python3, Ch 00000001 caused by previous Xid 79",
    "XidCriticalError: Xid=79 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.",
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",modelName="NVIDIA H100"} 79',
    "NVRM: nvAssertFailedNoLog: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)",
    "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU",
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
    "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error",
    "Unable to determine the device handle for GPU 1: Unknown Error",
    "pynvml.NVMLError_GpuIsLost: GPU is lost",
    "slurmstepd: error: NVML: Failed to get usage(15): GPU is lost",
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev ff)",
]
NOT_THIS = [
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
    "Unable to determine the device handle for GPU0000:3B:00.0: Not Found",
    "Unable to determine the device handle for GPU 0000:3B:00.0: Insufficient Permissions",
    "Failed to initialize NVML: Unknown Error",
    "NVRM: RmInitAdapter failed! (0x26:0x65:1482)",
    "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=python3, Ch 00000008",
]
SAYS = {
    EXAMPLES[
        0
    ]: "the GPU at 0000:3b:00 no longer answers on the bus: every process on it is dead, and the others wait for it",
    EXAMPLES[
        12
    ]: "the GPU no longer answers on the bus: every process on it is dead, and the others wait for it",
}
