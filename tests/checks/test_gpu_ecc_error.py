"""gpu-ecc-error: seen in logs."""

EXAMPLES = [
    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected",
    "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.",
    "cuda call failed: CUDA_ERROR_ECC_UNCORRECTABLE",
    "        Remapping Failure Occurred        : Yes",
]
NOT_THIS = [
    "| Volatile Uncorr. ECC |",
    "NVRM: Xid (PCI:0000:10:1c): 31, pid=1896, name=python, Ch 00000008, intr 10000000. MMU Fault",
    "        Remapping Failure Occurred        : No",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0",
]
SAYS = {
    EXAMPLES[
        1
    ]: "Xid 48 of the GPU at 0000:52:00: the GPU's memory is failing; results computed on it cannot be trusted",
    EXAMPLES[0]: "the GPU's memory is failing; results computed on it cannot be trusted",
}
