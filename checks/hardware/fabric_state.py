"""A GPU has not joined the NVLink fabric, or the fabric is not healthy.

## What happens

`nvidia-smi -q` shows, under "Fabric", "State : In Progress" instead of "Completed", a "Status" other than "Success", or
a health other than "Healthy". CUDA fails with error 802, or peer traffic goes over PCIe without an error. On systems
whose fabric spans nodes, NCCL says "MNNVL … is available but not working on this system".

## Why

From H100 on, the GPUs of an NVSwitch system register with the fabric manager. It is not running, is of another version
than the driver, was started again without a reset of the GPUs, or the partition of this virtual machine was not
activated. Across nodes, the IMEX service or its channel is missing.

## How to tell

`nvidia-smi -q | grep -A12 Fabric` for every GPU; "N/A" and "Not Supported" are right for PCIe cards.
`systemctl status nvidia-fabricmanager nvidia-imex` and `/var/log/fabricmanager.log` say what is missing;
`nvidia-imex-ctl -N` shows the nodes of a fabric that spans several.

## See also

- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): what it sets up, and its service
- [gpu-driver-container 909](https://github.com/NVIDIA/gpu-driver-container/pull/909): a reset clears a stale state
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

BLOCK = r"(?:^|\n)\s*Fabric\s*\n"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(r"\bState\s{1,60}: (?P<state>In Progress|Not Started)\s*$", near=BLOCK),
        Symptom(
            r"\bStatus\s{1,60}: (?P<state>Insufficient Resources|Unknown Error|[A-Z]\w+ (?:Error|Failure))",
            near=BLOCK + r"\s*State\s{1,60}: Completed",
        ),
        Symptom(r"\bSummary\s{1,60}: (?P<state>Unhealthy|Limited Capacity)", near=BLOCK),
        Symptom(r"\bBandwidth\s{1,60}: (?P<state>Degraded)", near=BLOCK),
        r"(?P<state>Route Recovery in progress|Route Unhealthy|Access Timeout Recovery)\s{1,60}: True",
        r"[Ff]abric state is (?P<state>not healthy|unhealthy)",
        r"MNNVL busId .{0,100} state (?P<number>[12]) healthMask",
        r"MNNVL \(cliqueSize \d+\) is available but not working on this system",
        r"cuMemExportToShareableHandle \(FABRIC\) failed",
        r"FABRIC handle type configured but device (?P<gpu>\d+) does not support fabric access",
        r"All ranks using fabric handles must be in the same NVLink domain",
    ],
    message="the NVLink fabric is not ready[ (<state>)][ (state <number> instead of 3)][ for GPU <gpu>]: peer traffic "
    "fails or is slow",
    follows=["fabric-manager-down"],
    fixes=[
        Fix("See the state of every GPU", "nvidia-smi -q | grep -A12 Fabric"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Start the fabric manager of the driver's own version again, then reset all GPUs, with nothing running",
            "sudo systemctl restart nvidia-fabricmanager && sudo nvidia-smi --gpu-reset",
            Kind.ADMIN,
        ),
        Fix(
            "Across nodes: see that IMEX runs on all of them, and that the container has its channel",
            "nvidia-imex-ctl -N; ls /dev/nvidia-caps-imex-channels",
            Kind.ADMIN,
        ),
        Fix(
            "Do without NVLink between nodes, which costs its bandwidth",
            "export NCCL_MNNVL_ENABLE=0",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an NVSwitch system whose fabric is not ready",
)
