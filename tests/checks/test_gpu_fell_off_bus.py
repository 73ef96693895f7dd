"""gpu-fell-off-bus: seen in logs."""

MESSAGE = "the GPU no longer answers on the bus: every process on it is dead, and the others wait for it"
EXAMPLES = {
    "[ 8812.440021] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": (
        "the GPU at 0000:3b:00 no longer answers on the bus: every process on it is dead, and the others wait "
        "for it"
    ),
    "Mar  3 04:11:52 node0 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.": (
        "the GPU at 0000:3b:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "NVRM: GPU at 0000:3b:00.0 has fallen off the bus.": (
        "the GPU at 0000:3b:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "[   21.000113] NVRM: fallen off the bus and is not responding to commands.": MESSAGE,
    "NVRM: Xid (PCI:0000:5e:00): 45, pid=4711, name=python3, Ch 00000001 caused by previous Xid 79": MESSAGE,
    "XidCriticalError: Xid=79 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.": MESSAGE,
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",modelName="NVIDIA H100"} 79': MESSAGE,
    "NVRM: nvAssertFailedNoLog: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)": MESSAGE,
    "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU 1: Unknown Error": MESSAGE,
    "pynvml.NVMLError_GpuIsLost: GPU is lost": MESSAGE,
    "slurmstepd: error: NVML: Failed to get usage(15): GPU is lost": MESSAGE,
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev ff)": (
        "the GPU at 3b:00.0 no longer answers on the bus: every process on it is dead, and the others wait for "
        "it"
    ),
}
NOT_THIS = [
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
    "Unable to determine the device handle for GPU0000:3B:00.0: Not Found",
    "Unable to determine the device handle for GPU 0000:3B:00.0: Insufficient Permissions",
    "Failed to initialize NVML: Unknown Error",
    "NVRM: RmInitAdapter failed! (0x26:0x65:1482)",
    "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=python3, Ch 00000008",
]
