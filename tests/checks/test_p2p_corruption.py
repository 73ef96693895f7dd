"""p2p-corruption: seen in logs."""

MESSAGE = "what one GPU sent is not what the other received: gradients and weights are wrong without an error"
EXAMPLES = {
    "Verification error @ element 1: val = 0.000000, ref = 4.000000": MESSAGE,
    "# Out of bounds values : 8 FAILED": MESSAGE,
    "[ 512.1] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0012 address=0xfe00 flags=0x0020]": MESSAGE,
    "NVRM: GPU 0000:41:00.0: peer copy\nAMD-Vi: Event logged [IO_PAGE_FAULT device=0000:41:00.0 domain=0x0012]": MESSAGE,
    (
        "nvidia-uvm: Loaded the UVM driver\nDMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0x1000 "
        "[fault reason 0x05] PTE Write access is not set"
    ): MESSAGE,
    "DCGM_FR_BROKEN_P2P_MEMORY_DEVICE": MESSAGE,
    ">>> a\ntensor([1., 2., 3.], device='cuda:0')\n>>> a.to('cuda:1')\ntensor([0., 0., 0.], device='cuda:1')": MESSAGE,
}
NOT_THIS = [
    "# Out of bounds values : 0 OK",
    ">>> a\ntensor([0., 0., 0.], device='cuda:0')\n>>> a.to('cuda:1')\ntensor([0., 0., 0.], device='cuda:1')",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:02:00.0 domain=0x0001]",
    "NCCL INFO P2P is disabled between connected GPUs 2 and 1.",
]
