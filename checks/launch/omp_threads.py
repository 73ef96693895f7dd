"""OMP_NUM_THREADS is no number, or more than the processors that are there.

## What happens

Everything on the CPU is slow: data loading, the optimizer's steps, gloo. `top` shows all cores busy and a load far above
their number. A value that is no number is left aside: "libgomp: Invalid value for environment variable OMP_NUM_THREADS".

## Why

Each rank starts OMP_NUM_THREADS threads for its own work, and loader workers one each. With eight ranks and
OMP_NUM_THREADS=64 on 64 cores there are 512 threads, which wait for each other at every step. torchrun sets 1 where the
variable is not set and it starts more than one process on the node; srun, mpirun and mp.spawn set nothing, and then it is
the number of cores, in each rank.

One process alone hardly suffers: torch for x86 (built with MKL) and OpenBLAS start no more threads than the machine has
processors, whatever the number says. torch for ARM starts them all.

## How to tell

`env -u OMP_NUM_THREADS nproc` counts the processors that this process may use; with the variable set, `nproc` prints its
value instead. Ranks of this machine x OMP_NUM_THREADS should not be more.

## See also

- [Threading variables of torch](https://docs.pytorch.org/docs/stable/threading_environment_variables.html): OMP_NUM_THREADS and MKL_NUM_THREADS
- [torchrun's run.py](https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py): where it sets OMP_NUM_THREADS to 1
- [torch.set_num_threads](https://docs.pytorch.org/docs/stable/generated/torch.set_num_threads.html): the same from within the script
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, count
from gpudoctor.facts import Host, Launch

NAME = "OMP_NUM_THREADS"
# Two threads for a core may even help; beyond that they wait for each other.
TOO_MANY = 1.5
USUAL = 16

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where it is not set and several ranks start, for a usual number on a small machine, and where one process has it",
    fixes=[
        Fix("As many threads as there are cores for each rank, or 1 as torchrun has it", f"export {NAME}=1")
    ],
)


@check.environment
def environment(launch: Launch, host: Host | None) -> Iterator[Finding]:
    """The number is none, or with the ranks of this machine more than its processors."""
    value = launch.variables.get(NAME)
    ranks = launch.ranks_here or 1
    if value is None or not value.strip():
        if host is not None and host.cpus_usable and ranks > 1 and host.cpus_usable >= (host.cpus or 0) > 1:
            message = f"{NAME} is not set, and each of {ranks} ranks starts a thread for each core, {host.cpus_usable}"
            yield check.found(message, severity=Severity.NOTE, fixes=[_set(host.cpus_usable // ranks)])
        return
    # OpenMP 4: a list is one number for each level of nesting.
    if not re.fullmatch(r"\s*\+?\d+\s*(,\s*\d+\s*)*", value) or int(value.split(",")[0]) == 0:
        message = (
            f"{NAME}={value} is no number of threads: OpenMP leaves it aside and takes one for each core"
        )
        yield check.found(message, fixes=[_set(1)])
        return
    threads = int(value.split(",")[0])
    if host is None or not host.cpus_usable or threads == 1:
        return
    if threads <= (launch.number("SLURM_CPUS_PER_TASK") or 0):
        return  # what Slurm was asked for
    own, all_here = host.cpus_usable, host.cpus or host.cpus_usable
    # Who gave a process few of many processors did not mean these threads; a small machine is what it is, and a script
    # brings a usual number along. Where one process has the whole machine, MKL and OpenBLAS start no more threads than it
    # has processors, whatever the number says: torch 2.15 (x86) made 2 of 64 on two.
    severity = Severity.NOTE if own == all_here and (threads <= USUAL or ranks == 1) else None
    if threads > own * TOO_MANY:
        message = f"{NAME} is {threads}, and {count(own, 'processor')} may be used here: the threads wait for each other"
        if own == all_here and ranks == 1:
            message = (
                f"{NAME} is {threads}, and this machine has {count(own, 'processor')}: torch with MKL starts no more threads "
                "than that, other programs and torch for ARM start all"
            )
        fix = _set(max(own // ranks, 1) if own == all_here else own)
        yield check.found(message, severity=severity, fixes=[fix])
    elif ranks > 1 and ranks * threads > all_here * TOO_MANY:
        message = (
            f"{NAME} is {threads}, and {ranks} ranks on this machine start up to {ranks * threads} threads for "
            f"{count(all_here, 'processor')}: they wait for each other"
        )
        yield check.found(message, severity=severity, fixes=[_set(all_here // ranks)])


def _set(threads: int) -> Fix:
    return Fix("As many threads as there are processors for each rank", f"export {NAME}={max(threads, 1)}")
