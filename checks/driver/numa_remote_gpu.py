"""The processors of this process are far from its GPU.

## What happens

The rank is slower than the others: its copies to and from the GPU, its kernel launches and its network traffic cross the
link between the processors. In NCCL the slowest rank sets the pace. Nothing fails.

## Why

Machines with several processors, or one that is divided into NUMA nodes, have each GPU at one of them. Something bound
this process to processors of another node: the scheduler gave CPUs without regard to the GPU, a `taskset` or `numactl`
counts GPUs in another order, or a container got a cpuset of its own.

## How to tell

`nvidia-smi topo -m` shows "CPU Affinity" and "NUMA Affinity" of each GPU; `taskset -pc PID` the processors of a process;
`cat /sys/bus/pci/devices/ADDRESS/local_cpulist` those that are near.

## See also

- [NUMA binding](https://docs.pytorch.org/docs/stable/elastic/numa.html): torchrun --numa-binding binds each rank to processors near its GPU
- [sbatch](https://slurm.schedmd.com/sbatch.html): `--gres-flags=enforce-binding`
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, count
from gpudoctor.facts import Affinity, Gpus, Launch, Pci, PciDevice, own_gpu

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix(
            "Let torchrun bind each rank to the node of its GPU (since torch 2.9)",
            "torchrun --standalone --nproc-per-node=gpu --numa-binding=node train.py",
        ),
        Fix(
            "Under Slurm: have the job given processors that are near its GPUs, or wait until there are some",
            "sbatch --gres-flags=enforce-binding job.sh",
            source="https://slurm.schedmd.com/sbatch.html#OPT_gres-flags",
        ),
        Fix(
            "Or bind it by hand, to the node of its GPU (here node 0)",
            "numactl --cpunodebind=0 --membind=0 python train.py",
        ),
    ],
    no_reproduction="needs a machine with several NUMA nodes and a GPU",
)


@check.environment
def environment(pci: Pci, affinity: Affinity, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """None of the processors that this rank may use is near the GPU that it will use."""
    device = own_gpu(pci, gpus, launch)
    near = affinity.near(device.local_cpus, device.numa_node) if device else set()
    if device is None or not near:
        return
    if not affinity.cpus or not affinity.online:
        raise CannotTell("the processors of this process are not known")
    if not near <= set(affinity.online) or near == set(affinity.online):
        return  # the machine has one node, or /sys shows another machine's processors
    own = set(affinity.cpus)
    if own & near:
        return
    gpu = _named(device, gpus)
    nodes = affinity.node_of(own)
    here = f"node {' and '.join(nodes)}" if nodes else "another node"
    there = f"node {device.numa_node}" if device.numa_node is not None else f"processors {device.local_cpus}"
    message = (
        f"this process may run on {count(len(own), 'processor')} of NUMA {here}, and its {gpu} is attached to {there}: each copy and each "
        "launch crosses the link between them"
    )
    yield check.found(message)


def _named(device: PciDevice, gpus: Gpus | None) -> str:
    found = next((g for g in (gpus.devices if gpus else []) if g.pci_address == device.address), None)
    return found.place if found else f"GPU at {device.address}"
