"""The fabric manager is down, or is not of the driver's version.

## What happens

CUDA says "Error 802: system not yet initialized" (`CUDA_ERROR_SYSTEM_NOT_READY`), while `nvidia-smi` lists every GPU.
The service's own log has "fabric manager NVIDIA GPU driver interface version … don't match with driver version …"; or
`systemctl` shows nvidia-fabricmanager as failed or not installed. After that torch finds no GPU.

## Why

HGX and DGX systems (A100, H100, H200, B200 as SXM) join GPUs by NVSwitch. CUDA waits for the fabric manager to set
it up, and that must be of exactly the driver's version: an upgrade of the driver alone breaks it. It takes a minute or
two after boot. On B200 it needs NVIDIA's NVLink subnet manager (NVLSM) too. In a container or virtual machine it runs
on the host. A missing switch is a fault of the hardware.

## How to tell

`systemctl status nvidia-fabricmanager`, `tail /var/log/fabricmanager.log`, `nvidia-smi -q | grep -A3 -m1 Fabric`.
A single PCIe GPU needs no fabric manager: error 802 there means that confidential computing is not ready, or a kernel
fault that CUDA's release notes name.

## See also

- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): how to install, start and watch the service
- [pytorch 35710](https://github.com/pytorch/pytorch/issues/35710): error 802, as torch shows it
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\bsystem not yet initialized|System not yet initialized",
        r"CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady",
        r"cudaGet\w{4,30} returned 802\b|CUDA [Ee]rror:? 802\b",
        (
            r"[Ff]abric manager NVIDIA GPU driver interface version (?P<manager>[\d.]*\d) don't match with driver version "
            r"(?P<driver>[\d.]*\d)"
        ),
        r"nvidia-fabricmanager\.service: (?:Control process exited|Failed with result|Main process exited)",
        r"Failed to start (?:nvidia-fabricmanager|NVIDIA fabric manager|FabricManager)",
        r"× nvidia-fabricmanager\.service - ",
        r"Unit nvidia-fabricmanager(?:\.service)? (?:could not be found|not found)",
        r"nv-fabricmanager.{0,120}failed! Exit code: [1-9]",
        r"number of NVSwitches don't match with any supported system topology",
        r"DCGM_FR_(?:CUDA_FM_NOT_INITIALIZED|FABRIC_MANAGER_TRAINING_ERROR)",
    ],
    message="CUDA waits for the fabric manager[, which is of version <manager> while the driver is <driver>]: no GPU of "
    "this NVSwitch system can be used",
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and the line above",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Install the fabric manager of the loaded driver's own version (here for 580) and start it",
            'sudo apt install "nvidia-fabricmanager-580=$(cat /sys/module/nvidia/version)-*" && '
            "sudo systemctl enable --now nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Start it again, wait two minutes, and read what it says",
            "sudo systemctl restart nvidia-fabricmanager; sleep 120; tail -n 20 /var/log/fabricmanager.log",
            Kind.ADMIN,
        ),
        Fix(
            "On B200: install the NVLink subnet manager too",
            "sudo apt install nvlsm && sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Hold both packages, so that an upgrade takes them together or not at all",
            "sudo apt-mark hold nvidia-driver-580-server nvidia-fabricmanager-580",
            Kind.ADMIN,
        ),
        Fix(
            "In a container or virtual machine: the host must run it, and activate the partition",
            kind=Kind.ADMIN,
        ),
    ],
    no_reproduction="needs an NVSwitch system without its fabric manager",
)
