"""NVLink SHARP (NVLS) multicast cannot be set up.

## What happens

"transport/nvls.cc:598 NCCL WARN Cuda failure 1 'invalid argument'", or "Failed to bind NVLink SHARP (NVLS) Multicast
memory of size 2097152 : CUDA error 2 'out of memory'", on machines with NVSwitch (H100, H200, B200), when the first
communicator is made.

## Why

NCCL lets the NVSwitches add up numbers. They must have been set up for it:

- The Fabric Manager was restarted under running jobs, or its version is not the driver's.
- The virtual machine or partition has its GPUs without multicast.
- Other jobs, or ranks that were left over, hold the switches' multicast slots.
- Some of the GPUs, or their memory handles, are in another container.

## How to tell

`nvidia-smi -q | grep -A4 Fabric` must say "State: Completed" and "Status: Success" for each GPU, and
`systemctl status nvidia-fabricmanager` "active". If training runs with NCCL_NVLS_ENABLE=0, this is it.

## See also

- [NCCL_NVLS_ENABLE](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-nvls-enable): 0 does without NVLink SHARP
- [nccl#1672](https://github.com/NVIDIA/nccl/issues/1672): 'invalid argument' in nvls.cc
"""

from gpudoctor import Check, Fix, Kind, Severity

# Failures of their own that only happen to surface there.
OTHERS = r"(?!.{0,200}(?:same NVML device|illegal memory|unspecified launch|ECC error|system not yet|invalid device ordinal|no kernel image|peer mapping|API call is not))"

check = Check(
    severity=Severity.ERROR,
    machine=True,
    symptoms=[
        rf"nvls\w*\.cc:\d+(?: \(\w+\))? NCCL WARN {OTHERS}(?:Cuda failure (?:\d+ )?'(?P<reason>[^']{{3,80}})'|(?!Cuda failure|Failed to bind|Failed to multicast))",
        r"Failed to bind NVLink SHARP \(NVLS\) Multicast memory(?: of size (?P<size>\d+))?(?: ?: ?CUDA error \d+ '(?P<reason>[^']{3,80})')?",
        r"Failed to multicast-bind user buffer: CUDA error \d+ '(?P<reason>[^']{3,80})'",
        r"Multicast support requested for team but none available",
        r"Disable NVLS \(NCCL_NVLS_ENABLE=0\) if you wish to avoid this error",
        r"system or configuration error in the Fabric Manager or NVSwitches",
        # torch's own multicast memory; where it goes on without, it says "gracefully skipping"
        r"SymmetricMemory\[\w+\]: failed to (?P<reason>(?:create|export|import|add device to|bind memory to|map) multicast(?: object| handle)?)",
    ],
    message="the NVSwitches' multicast (NVLS) could not be set up[ for <size> bytes][: <reason>]",
    follows=["fabric-manager-down", "fabric-state", "nvlink-down", "gpu-fell-off-bus"],
    fixes=[
        Fix(
            "See the state of each GPU's fabric, and of the service that sets it up",
            "nvidia-smi -q | grep -A4 -i fabric; systemctl status nvidia-fabricmanager",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Update NCCL, which comes with torch: newer releases fall back in more cases",
            "python -m pip install --upgrade torch torchvision",
        ),
        Fix(
            "End all jobs, then restart the Fabric Manager, of exactly the driver's version; or restart the machine",
            "sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Do without NVLS, on all ranks; large all-reduces get slower",
            "export NCCL_NVLS_ENABLE=0",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an NVSwitch system",
)
