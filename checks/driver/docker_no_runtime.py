"""The container engine cannot hand out NVIDIA GPUs.

## What happens

The container does not start: "could not select device driver "" with capabilities: [[gpu]]", "unknown or invalid
runtime name: nvidia", or "unresolvable CDI devices nvidia.com/gpu=all". Without `--gpus` it starts, and finds no GPU.

## Why

Docker, Podman and containerd know nothing of GPUs by themselves. NVIDIA's Container Toolkit adds that:

| message | what is missing |
| --- | --- |
| could not select device driver … [[gpu]] | the toolkit is not installed, or docker was not restarted after it |
| unknown or invalid runtime name: nvidia | the toolkit is there, and docker's configuration does not name it |
| exec: "nvidia-container-runtime": executable file not found | the configuration names it, and it is not installed |
| unresolvable CDI devices | the list of the devices (`/etc/cdi/nvidia.yaml`) was not made, or is older than the GPUs |

It is missing, too, where docker runs elsewhere than one thinks: Docker Desktop in a virtual machine, docker as a snap,
rootless docker with a configuration of its own.

## How to tell

`docker info --format '{{json .Runtimes}}'` lists the runtimes, `docker context ls` says which docker answers.
`nvidia-ctk --version` shows whether the toolkit is installed, `nvidia-smi` on the host whether the driver works.

## See also

- [Installing the NVIDIA Container Toolkit](https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html): packages, and `nvidia-ctk runtime configure`
- [nvidia-container-toolkit 854](https://github.com/NVIDIA/nvidia-container-toolkit/issues/854): the message, with the toolkit installed and named in daemon.json
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"[Cc]ould not select device driver .{0,20}with capabiliti?es:? \[\[(?:gpu|compute|utility|nvidia)",
        r"[Uu]nknown (?:or invalid )?runtime (?:name: |specified )\"?nvidia",
        r"exec: \\?\"nvidia-container-(?:runtime(?:-hook)?|toolkit|cli)\\?\": executable file not found",
        r"fork/exec \S*/nvidia-container-runtime: no such file or directory",
        r"\[ERROR\] Command not found: nvidia-container-cli",  # enroot
        r"unresolvable CDI devices (?P<device>nvidia\.com/gpu=[\w:-]+)",
        r"If this is a GPU node, did you (?:configure|set) the (?:NVIDIA Container Toolkit|docker default runtime)",
        r"no runtime for \\?\"nvidia\\?\" is configured",
        r"error running hook #0: .{0,200}nvidia-container-cli\.real: (?!(?:initialization|detection|requirement) error)",
        r"error running hook #0: .{0,200}Auto-detected mode as '\w+'(?!.{0,300}(?:initialization|detection|requirement) error)",
        r"nvidia-container-cli: mount error: (?P<reason>\w[\w .-]{5,80})",
        r"\bnvidia-docker: (?:command )?not found",
    ],
    message="the container engine cannot hand out GPUs[ (<device>)]: NVIDIA's Container Toolkit is not installed, or not "
    "configured",
    fixes=[
        Fix(
            "On a cluster, where apptainer is offered: it needs no daemon and no toolkit",
            "apptainer exec --nv docker://IMAGE torchrun --standalone --nproc-per-node=2 train.py",
        ),
        Fix(
            "Enter the toolkit in docker's configuration",
            "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
            Kind.ADMIN,
        ),
        Fix(
            "Where nvidia-ctk is not found: install the toolkit first, from NVIDIA's package source (see the guide)",
            "sudo apt install nvidia-container-toolkit",
            Kind.ADMIN,
        ),
        Fix(
            "For Podman, and for CDI in docker: write the list of the devices",
            "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml && nvidia-ctk cdi list",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a container engine",
)
