"""Processes of mp.spawn read variables that only a launcher sets.

## What happens

Each child ends with "KeyError: 'LOCAL_RANK'", or `init_process_group` says that RANK or MASTER_ADDR is "expected, but not set".

## Why

`torch.multiprocessing.spawn` starts processes and sets no variable. RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT come from
torchrun.

## How to tell

Print `sorted(os.environ)` in the child: none of these names is there.

## See also

- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization): what must be set for `env://`
- [Spawning subprocesses](https://docs.pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses): the first argument is the number of the process
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script, reads_address, written_variables

GIVE = Fix(
    "Or give what torchrun would have set",
    'def worker(rank, world_size):\n    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"\n'
    "    torch.cuda.set_device(rank)  # leave out without GPUs, and take gloo\n"
    '    dist.init_process_group("nccl", rank=rank, world_size=world_size)\n\n\n'
    "torch.multiprocessing.spawn(worker, args=(2,), nprocs=2)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where an option of the script may give another address",
    fixes=[
        Fix(
            "Drop mp.spawn and start the ranks with torchrun",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
        GIVE,
    ],
    no_reproduction="not written yet",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """What a spawned function reads, or init_process_group needs, and nobody sets."""
    if not any(True for _ in script.named("torch.multiprocessing.spawn", "multiprocessing.Process")):
        return
    written = written_variables(script)
    if written is None:
        return
    if any(_reads(call) and not call.spawned for call in script.calls):
        written |= {"RANK", "MASTER_ADDR"}  # who starts the script sets them, and the processes inherit them
    for call in script.calls:
        if not call.spawned or "try" in call.contexts:
            continue
        key = call.value("key").literal
        if call.name == "os.environ.__getitem__" and key in ("RANK", "LOCAL_RANK") and key not in written:
            if not any("environ" in condition.text for condition in call.conditions):
                yield check.found(
                    f"{key} is read in a process that this script starts, and nothing sets it there",
                    location=call.place,
                )
                return
        if call.name == "torch.distributed.init_process_group" and not call.starred and call.reached:
            method = call.value("init_method")
            # of several machines, who starts the script on each sets the address too
            by_default = call.value("rank").known is Known.LOCAL_RANK and method.known is Known.ARGUMENT
            by_default = by_default and method.literal == "env://"
            if (by_default or reads_address(call)) and "MASTER_ADDR" not in written:
                yield check.found(
                    "init_process_group reads MASTER_ADDR and MASTER_PORT here, in a process that this script starts, and "
                    "nothing in this script sets them",
                    severity=Severity.WARNING if by_default else Severity.ERROR,
                    location=call.place,
                    fixes=[GIVE],
                )
                return

        if _without_rank(call) and "RANK" not in written:
            yield check.found(
                "init_process_group is not told which rank this process is, and nothing sets RANK in the processes that this "
                "script starts: every kind of rendezvous needs it",
                location=call.place,
                fixes=[GIVE],
            )
            return


def _without_rank(call: Call) -> bool:
    """Return whether a process group is made in a started process, of several, by no rank, store or URL that has one."""
    if call.name != "torch.distributed.init_process_group" or call.starred or not call.reached:
        return False
    if call.given("rank") or call.given("store") or not call.given("world_size"):
        return False
    method, backend = call.value("init_method"), call.value("backend")
    url = (
        f"{method.literal} {method.text} {call.arguments['init_method'].text}"
        if call.given("init_method")
        else ""
    )
    return not (
        method.by_rank or "rank" in url or backend.literal == "mpi" or call.value("world_size").literal == 1
    )


def _reads(call: Call) -> bool:
    """Return whether a call needs the number of nodes, or this one's, from who starts the script."""
    return call.name == "os.environ.__getitem__" and call.variable in ("RANK", "WORLD_SIZE")
