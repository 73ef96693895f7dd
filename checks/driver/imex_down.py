"""GPUs of several nodes share one NVLink domain, and IMEX does not serve it.

## What happens

On GB200 and GB300 racks a job over several nodes stops in its first collective: NCCL says "MNNVL (cliqueSize 8) is
available but not working on this system", or "cuMemExportToShareableHandle (FABRIC) failed". Other jobs run, over the
network instead of NVLink, and much slower. A job on one node does not notice.

## Why

Memory of a GPU is shared with another node through NVIDIA's IMEX service: one daemon per node, all with the same list of
nodes, and a device node for each user, a channel, which must be in the container, too. Neither is there by default; the
channels are gone after a reboot.

## How to tell

`ls /dev/nvidia-caps-imex-channels` must list channel0, `systemctl status nvidia-imex` an active service, and
`nvidia-imex-ctl -N` every node of the job as connected. `nvidia-smi -q | grep -iE 'clique|cluster'` shows which nodes
belong together: the same cluster UUID and clique.

## See also

- [IMEX channels](https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html): how they are made, and by whom
- [IMEX on CoreWeave](https://docs.coreweave.com/products/cks/clusters/scheduling/imex-overview): what Kubernetes needs
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom, joined
from gpudoctor.facts import (
    Fabric,
    Gpus,
    Host,
    Launch,
    NcclConfiguration,
    nccl_variables,
)

CHANNEL = Fix(
    "See whether a channel is there, and what serves it; on a cluster, send the administrators what this prints",
    "ls -l /dev/nvidia-caps-imex-channels; nvidia-imex-ctl -N",
)
DRIVER = Fix(
    "Have the driver make channel 0 at each start",
    "echo 'options nvidia NVreg_CreateImexChannel0=1' | sudo tee /etc/modprobe.d/nvidia-imex.conf && "
    "sudo update-initramfs -u && sudo reboot",
    Kind.ADMIN,
)
SERVICE = Fix(
    "Put the addresses of all nodes into the daemon's list, on each node, and start it",
    "cat /etc/nvidia-imex/nodes_config.cfg; sudo systemctl restart nvidia-imex",
    Kind.ADMIN,
)
CONTAINER = Fix(
    "In a container: give it the channel",
    "docker run --gpus all --device /dev/nvidia-caps-imex-channels/channel0 IMAGE",
)
WITHOUT = Fix(
    "Do without NVLink between nodes, which costs its bandwidth",
    "export NCCL_MNNVL_ENABLE=0",
    Kind.MITIGATION,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where one node trains",
    symptoms=[
        r"MNNVL \(cliqueSize (?P<size>\d+)\) is available but not (?:working|supported) on this system",
        r"cuMemExportToShareableHandle \(FABRIC\) failed",
        r"nvidia-imex\.service: (?:Control process exited|Failed with result|Main process exited)",
        Symptom(
            r"\bnvidia-imex\.service - ",
            near=r"nvidia-imex\.service - [^\n]*\n(?:[^\n]*\n){0,2}\s*Active: (?:failed|inactive)",
        ),
        r"\bnvidia-imex(?:\.service)? (?:says|is|was|shows?) (?:inactive|failed|dead|not running)\b",
    ],
    message="memory of GPUs cannot be shared with other nodes of the NVLink domain[ (of <size> GPUs)]: IMEX or its channel "
    "is missing",
    follows=["fabric-manager-down"],
    fixes=[CHANNEL, CONTAINER, DRIVER, SERVICE, WITHOUT],
    no_reproduction="needs several nodes with one NVLink domain",
)


@check.environment
def environment(
    gpus: Gpus,
    fabric: Fabric,
    launch: Launch | None,
    host: Host | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """The GPUs belong to a domain of several nodes, and here is no channel or no daemon."""
    cliques = {gpu.fabric_clique for gpu in gpus.devices if gpu.fabric_clique}
    variables = nccl_variables(launch, configuration)
    if not cliques or variables.get("NCCL_MNNVL_ENABLE") == "0":
        return
    missing = []
    if not fabric.imex_channels:
        missing.append("no channel is in /dev/nvidia-caps-imex-channels")
    if fabric.imex is False:
        missing.append("no nvidia-imex daemon runs")
    if not missing:
        return
    nodes = launch.nodes if launch else None
    several = nodes is not None and nodes > 1
    consequence = (
        f"this job on {nodes} nodes cannot use NVLink between them"
        if several
        else "a job over several nodes cannot use NVLink between them"
    )
    message = f"the GPUs belong to an NVLink domain of several nodes, and {joined(missing)}: {consequence}"
    fixes = [CHANNEL, DRIVER, SERVICE, WITHOUT]
    if host and host.container:
        fixes.insert(1, CONTAINER)
    yield check.found(message, severity=None if several else Severity.WARNING, fixes=fixes)
