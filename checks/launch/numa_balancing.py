"""The kernel moves memory between NUMA nodes while training runs.

## What happens

Steps take different times for no visible reason, and are slower on the whole. Nothing fails.

## Why

With `kernel.numa_balancing=1`, the default of most distributions on machines with several nodes, the kernel unmaps pages
now and then to see who uses them, and moves them to that node. The thread that touches such a page waits meanwhile, and
where that one launches kernels or sends messages the GPU waits too: DeepEP's users measured pauses of up to 31 ms. AMD
and NVIDIA advise to bind ranks to nodes, or to turn it off.

## How to tell

`cat /proc/sys/kernel/numa_balancing` prints 1; `numactl --hardware` shows the nodes.

## See also

- [AMD: system validation before training](https://rocm.docs.amd.com/en/docs-6.3.3/how-to/rocm-for-ai/training/prerequisite-system-validation.html): disable NUMA auto-balancing
- [text-generation-inference#1874](https://github.com/huggingface/text-generation-inference/issues/1874): what NVIDIA advises
- [DeepEP#644](https://github.com/deepseek-ai/DeepEP/pull/644): how long the pauses were
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Host

OFF = Fix(
    "Turn it off, until the next start and for good",
    "sudo sysctl -w kernel.numa_balancing=0; echo kernel.numa_balancing=0 | sudo tee /etc/sysctl.d/90-numa.conf",
    Kind.ADMIN,
)
BIND = Fix(
    "Without root: bind each rank to the node of its GPU",
    "torchrun --standalone --nproc-per-node=N --numa-binding=node train.py",
)

check = Check(
    severity=Severity.NOTE,
    fixes=[BIND, OFF],
    no_reproduction="it is slow, and nothing fails",
)


@check.environment
def environment(host: Host, gpus: Gpus | None) -> Iterator[Finding]:
    """Balancing is on, on a machine with GPUs and several nodes."""
    numa = host.numa
    if numa is None or not numa.balancing or len(numa.nodes) == 1 or (gpus is not None and not gpus.devices):
        return
    there = (
        f" and there are {len(numa.nodes)} NUMA nodes"
        if numa.nodes
        else ", which counts with several NUMA nodes"
    )
    message = (
        f"kernel.numa_balancing is on{there}: the kernel moves pages while training runs, which makes steps slower and "
        "uneven"
    )
    yield check.found(message)
