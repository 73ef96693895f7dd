"""The processors or the memory of this process do not fit its GPUs.

## What happens

Data loading and copies to some of the GPUs are slower than to others, and the ranks wait for the slowest one. Nothing
fails.

## Why

On a machine with several NUMA nodes a process, or the shell in which it is started, is bound to the processors of one
node, while its GPUs are attached to more than one: all ranks and loader workers share those. Or only the memory of one node
may be used (a cpuset, `numactl --membind`). Without any binding the kernel moves processes as it likes, which
mostly does well enough: `torchrun --numa-binding=node` makes it sure.

## How to tell

`taskset -pc $$` shows the processors of the shell, `grep Mems_allowed_list /proc/self/status` the nodes whose memory it
may use, `nvidia-smi topo -m` the processors near each GPU.

## See also

- [NUMA binding](https://docs.pytorch.org/docs/stable/elastic/numa.html): torchrun --numa-binding binds each rank to processors near its GPU
- [sbatch](https://slurm.schedmd.com/sbatch.html): `--exclusive` gives the job all processors of its nodes
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, count, listed
from gpudoctor.facts import Affinity, Gpus, Launch, Pci, PciDevice, own_gpu

check = Check(
    severity=Severity.WARNING,
    follows=["numa-remote-gpu"],
    fixes=[
        Fix("See what this shell is bound to", "taskset -pc $$; grep Mems_allowed_list /proc/self/status"),
        Fix(
            "Start the training unbound and let torchrun bind each rank to the node of its GPU (since torch 2.9)",
            "torchrun --standalone --nproc-per-node=gpu --numa-binding=node train.py",
        ),
        Fix(
            "Under Slurm: ask for the whole node, with all its processors and memory",
            "sbatch --exclusive --mem=0 job.sh",
        ),
    ],
    no_reproduction="needs a machine with several NUMA nodes and GPUs",
)


@check.environment
def environment(pci: Pci, affinity: Affinity, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """A part of the machine is all that may be used, without the processors or the memory near the GPUs."""
    near = {card.address: affinity.near(card.local_cpus, card.numa_node) for card in pci.usable}
    cards = [card for card in pci.usable if near[card.address]]
    if not cards:
        return
    if not affinity.cpus or not affinity.online:
        raise CannotTell("the processors of this process are not known")
    online, own = set(affinity.online), set(affinity.cpus)
    if any(not near[card.address] <= online for card in cards):
        return  # /sys shows another machine's processors
    mine = own_gpu(pci, gpus, launch)
    listed = {gpu.pci_address for gpu in gpus.devices} if gpus else set()
    wanted = [mine] if mine else [card for card in cards if not listed or card.address in listed]
    yield from _processors(wanted, near, own, online) if mine is None else ()
    yield from _memory(wanted, affinity)


def _processors(
    cards: list[PciDevice], near: dict[str, set[int]], own: set[int], online: set[int]
) -> Iterator[Finding]:
    """Judge a process that will start ranks for several GPUs; one with a GPU of its own is `numa-remote-gpu`'s."""
    far = [card for card in cards if not near.get(card.address, own) & own]
    if len(cards) < 2 or not far or own == online:
        return
    named = listed([card.address for card in far], 4)
    message = (
        f"this process may run on {len(own)} of {count(len(online), 'processor')}, none of which is near "
        f"{len(far)} of its {count(len(cards), 'GPU')} ({named}): their ranks and loaders would run far from them"
    )
    yield check.found(message)


def _memory(cards: list[PciDevice], affinity: Affinity) -> Iterator[Finding]:
    """Judge the nodes whose memory may be used."""
    there = {int(node) for node in affinity.nodes if node.isdecimal()}
    allowed = set(affinity.memory_nodes)
    far = [card for card in cards if card.numa_node is not None and card.numa_node not in allowed]
    if not allowed or not allowed < there or not far or not {c.numa_node for c in far} <= there:
        return
    nodes = ",".join(map(str, sorted(allowed)))
    message = (
        f"this process may use memory of NUMA node {nodes} only, and {count(len(far), 'GPU')} of its own "
        f"{'is' if len(far) == 1 else 'are'} attached to another: what is copied to them crosses the link between the processors"
    )
    yield check.found(message)
