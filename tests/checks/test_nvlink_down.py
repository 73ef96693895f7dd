"""nvlink-down: seen in logs."""

MESSAGE = "NVLink is down: GPUs talk over PCIe or not at all"
EXAMPLES = {
    (
        "node0:4711:4811 [1] graph/paths.cc:279 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. This should "
        "not be the case given their connectivity, and is probably due to a hardware issue."
    ): "NVLink is down on GPU 1 towards GPU 0: GPUs talk over PCIe or not at all",
    "GPU 0: NVIDIA A100-SXM4-80GB\n\t Link 3: <inactive>": (
        "NVLink is down (link 3): GPUs talk over PCIe or not at all"
    ),
    "\t Link 0: inActive": "NVLink is down (link 0): GPUs talk over PCIe or not at all",
    "NVML: Unable to retrieve NVLink information as all links are inActive": MESSAGE,
    "ERROR: node0: GPU 3 has nvlinks inactive": (
        "NVLink is down on GPU 3: GPUs talk over PCIe or not at all"
    ),
    "GPU 3: 2 inactive NVLinks (allowed: 0).": "NVLink is down on GPU 3: GPUs talk over PCIe or not at all",
    "GPU 3's NvLink link 2 is currently down. Check DCGM and system logs for errors.": (
        "NVLink is down (link 2) on GPU 3: GPUs talk over PCIe or not at all"
    ),
    "DCGM_FR_GPU_EXPECTED_NVLINKS_UP": MESSAGE,
    "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!": MESSAGE,
    "GPU 0 reported Xid 149, NETIR_LINK_DOWN Fatal XC0 i0 Link 14": MESSAGE,
}
NOT_THIS = [
    (
        "NCCL INFO P2P is disabled between connected GPUs 2 and 1. You can repress this message with "
        "NCCL_IGNORE_DISABLED_P2P=1."
    ),
    "\t Link 0: 25 GB/s",
    "mlx5_core 0000:17:00.0 eth0: Link is Down",
    "GPU 0: NVIDIA A100-SXM4-80GB\n  MIG 3g.40gb     Device  0: (UUID: MIG-00000000)\n\t Link 0: <inactive>",
]
