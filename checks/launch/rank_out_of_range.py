"""A rank's number is not below the number of ranks.

## What happens

gloo says "[enforce fail at …/gloo/context.cc:23] rank < size. 2 vs 2", DistributedSampler "Invalid rank 2, rank should be
in the interval [0, 1]", NCCL "Invalid rank requested : 2/2". Or nothing is said: a rank that does not exist connects and
waits, and the rank that does exist never comes.

## Why

Ranks are numbered from 0, so with WORLD_SIZE=2 they are 0 and 1.

- Counted from 1: a loop over `range(1, N + 1)`, or `--node-rank` 1 and 2 for two nodes.
- WORLD_SIZE holds the nodes, or the GPUs of one node, and RANK counts all processes.
- `node_rank * gpus_per_node + local_rank` with the GPUs of a node with fewer of them, or from one that exports an old value.
- Variables of an earlier launch: `env` still has a WORLD_SIZE that somebody exported.

## How to tell

Print `os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"]` in each process before
`init_process_group`. Each number from 0 to WORLD_SIZE - 1 must come once.

## See also

- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): rank
  and world_size
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): which variables it sets
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Launch

# A number, and how many there are (torchrun: environment variables).
PAIRS = (("RANK", "WORLD_SIZE"), ("LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("GROUP_RANK", "GROUP_WORLD_SIZE"))
# What a rank says that met nobody: then its own word of its number is worth looking at.
ALONE = r"client socket has timed out after|wait timeout after \d|waiting for clients\. \d+/\d+ clients joined|Connection was likely closed\. Did the remote server shutdown"
# How scripts print their number and how many there are.
OWN = r"\b[Rr](?:ank|ANK)\b['\"]?\W{1,3}(?P<own>\d{1,6})\b.{0,40}?\b[Ww](?:orld|ORLD)[ _-]?(?:[Ss]ize|SIZE)['\"]?\W{1,3}(?P<all>\d{1,6})\b"
TORCHRUN = Fix("Let torchrun number the ranks", "torchrun --standalone --nproc-per-node=N train.py")
NODES = Fix(
    "On several nodes: --node-rank is 0 on the first, 1 on the second",
    "torchrun --nnodes=2 --node-rank=0 --nproc-per-node=N --master-addr=NODE --master-port=29500 train.py",
)
NUMBER = Fix(
    "Number them yourself in this way, with the same number of processes on each node",
    "rank = node_rank * processes_per_node + local_rank\nworld_size = nodes * processes_per_node",
    Kind.EDIT,
)
DROP = Fix(
    "Drop what an earlier launch left in the environment", "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE"
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\brank < size\. (?P<number>\d+) vs (?P<size>\d+)",
        r"Invalid rank (?P<number>-?\d+), rank should be in the interval \[0, (?P<last>\d+)\]",
        r"Invalid rank requested ?: ?(?P<number>-?\d+)/(?P<size>\d+)",
        r"The node_rank must be less than the number of nodes",
        r"AssertionError: Launching training without ssh, but --node_rank is not set correctly",  # DeepSpeed
        Symptom(OWN, near=ALONE),
        r"a process with rank\((?P<number>\d+)\), and all processes must have smaller rank than the world_size\((?P<size>\d+)\)",  # Composer
        r"\brank '(?P<number>\d+)' must be less than world size '(?P<size>\d+)'",  # Ray
    ],
    fixes=[TORCHRUN, NODES, NUMBER, DROP],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Compare what a rank prints of itself; in the other wordings somebody has compared it."""
    seen = sighting.groups
    if "own" in seen:
        own, size = int(seen["own"]), int(seen["all"])
        if own >= size > 0:
            message = f"a rank says that it is number {own} of {size}, and meets nobody: the numbers go from 0 to {size - 1}"
            yield check.found(message)
        return
    number = f", {seen['number']}," if "number" in seen else ""
    size_of_all = f", {seen['size']}" if "size" in seen else ""
    last = f": the last one is {seen['last']}" if "last" in seen else ""
    sampler = Fix(
        f"Let a sampler ask the process group itself, whose last rank is {seen.get('last')}",
        "sampler = DistributedSampler(dataset)",
        Kind.EDIT,
    )
    yield check.found(
        f"a rank's number{number} is not below the number of ranks{size_of_all}{last}; they are counted from 0",
        fixes=[*([sampler] if last else []), *check.fixes],
    )


@check.environment
def environment(launch: Launch) -> Iterator[Finding]:
    """A number in the environment is negative, or not below what it counts to."""
    for name, total in PAIRS:
        number, size = launch.number(name), launch.number(total)
        if number is None or size is None or size < 1 or 0 <= number < size:
            continue
        message = f"{name} is {number} and {total} is {size}: the numbers go from 0 to {size - 1}"
        yield check.found(
            message, fixes=[Fix("Drop what an earlier launch left", f"unset {name} {total}"), TORCHRUN]
        )
