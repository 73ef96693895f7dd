"""The GPU's memory returned data that error correction could not repair.

## What happens

CUDA says "uncorrectable ECC error encountered", and the kernel log has an Xid of the GPU: 48 (double bit error), 63 and
64 (a memory row or page is taken out of use, or could not be), 94 and 95 (contained to one program, or not).

## Why

A memory cell is failing. The program was ended so that it does not go on with wrong numbers; other jobs on that GPU may
be hit next. Repeated errors mean that the card must be exchanged.

## How to tell

`nvidia-smi -q -d ECC,ROW_REMAPPER` shows the counters of each GPU, and whether a remapping is pending or has failed.
The address in "Xid (PCI:0000:10:1c)" is the `pci.bus_id` of `nvidia-smi --query-gpu=index,pci.bus_id --format=csv`.

By NVIDIA's own actions: after 94 start the program again; after 64 or 95 reset the GPU before anything else runs on it;
63 takes effect at the next reset. "Remapping Failure Occurred: Yes" is a case for the vendor.

## See also

- [GPU memory error management](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html)
- [Xid errors](https://docs.nvidia.com/deploy/xid-errors/index.html)
"""

from gpudoctor import Check, Fix, Kind, Severity

XID = r"Xid \((?:PCI:)?(?P<address>[\w:.]+)\): "

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"uncorrectable ECC error encountered",
        r"CUDA_ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable",
        rf"{XID}(?P<xid>48|63|64|92|94|95|140|171|172)\b",
        r"\b(?:Row Remapper|Dynamic Page Retirement): (?:New|Fatal|Failed)",
        r"Remapping Failure Occurred +: Yes",
    ],
    message="[Xid <xid> of the GPU at <address>: ]the GPU's memory is failing; results computed on it cannot be trusted",
    fixes=[
        Fix("Start again from the last checkpoint on another GPU or node, and leave this one out"),
        Fix("Find the GPU's number", "nvidia-smi --query-gpu=index,pci.bus_id,serial --format=csv"),
        Fix(
            "Reset it, with nothing running on it: this also puts a pending row remapping into effect",
            "sudo nvidia-smi --gpu-reset -i GPU && sudo dcgmi diag -r 3 -i GPU",
            Kind.ADMIN,
        ),
        Fix("Have the card exchanged where a remapping failed or the error returns", kind=Kind.ADMIN),
    ],
)
