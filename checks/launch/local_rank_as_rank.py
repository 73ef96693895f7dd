"""The local rank is used in the place of the global one, or the reverse.

## What happens

On one machine all is well. On two machines both have a rank 0: `init_process_group` waits for ranks that never come or refuses two
ranks with the same number, and a `DistributedSampler` gives two ranks the same share. The reverse, `torch.cuda.set_device(rank)`, ends on the
second machine with "invalid device ordinal".

## Why

`LOCAL_RANK` counts the processes of one machine, `RANK` those of the whole job. Only on one machine are they the same.

## How to tell

Print both on every rank: `print(os.environ["RANK"], os.environ["LOCAL_RANK"])`. On the second machine they differ.

Or have the script check it: gather the samples' numbers that each rank takes, and compare the first two ranks': `assert shares[0] != shares[1], "two ranks take the same share of the data"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torchrun (Elastic Launch)](https://docs.pytorch.org/docs/stable/elastic/run.html): what RANK and LOCAL_RANK mean
"""

import itertools
import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import UNKNOWN, Call, Known, Script, Value, meets_here

RANK = Fix(
    "Take the global rank from where torchrun puts it",
    "dist.init_process_group()  # reads RANK and WORLD_SIZE itself",
    Kind.EDIT,
)
COUNTED = Fix(
    "Count the rank over all machines",
    "rank = args.node_rank * args.gpus + gpu",
    Kind.EDIT,
    source="https://github.com/pytorch/examples/blob/main/imagenet/main.py",
)
DEVICE = Fix(
    "Choose the GPU by the local rank", 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', Kind.EDIT
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the script may be meant for one machine",
    symptoms=[r"two ranks take the same share of the data"],
    message="two ranks take the same share of the data: the local rank, which starts at 0 on each node, is used where the rank is meant",
    fixes=[RANK, DEVICE],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A local rank where the global one is meant, and a global rank that chooses a GPU."""
    name = script.path.rpartition("/")[2]
    tested = name.startswith("test_") or name in (
        "conftest.py",
        "tests.py",
    )  # pytest's workers are on one machine
    for call in _numbered(script) if not tested else ():
        value = call.value("rank")
        if _local(value):
            size = call.value("world_size" if call.given("world_size") else "num_replicas")
            said = f"rank={call.arguments['rank'].text} is the local rank: on a second machine the same numbers come again"
            if call.name in STRIDES:
                said = f"{call.text} takes its share by the local rank: a second machine takes the same samples again"
            yield check.found(
                said,
                severity=Severity.NOTE
                if size.known is Known.DEVICE_COUNT or meets_here(script, call)
                else Severity.WARNING,
                location=call.place,
                fixes=[RANK],
            )
            continue
        machines = _over_machines(script, call) if value.known is Known.LOCAL_RANK else None
        if machines is not None:
            yield check.found(
                f"rank={call.arguments['rank'].text} counts the processes of one machine, and {machines} those of several: on a "
                "second machine the same ranks come again",
                location=call.place,
                fixes=[COUNTED],
            )
    yield from _place_of_own(script)
    setting = (call for call in script.named("torch.cuda.set_device") if _global(call.value("device")))
    choosing = [*setting, *sorted(_others(script), key=lambda call: call.number)]
    if choosing:
        several = any(v.known in (Known.LOCAL_RANK, Known.NODE_RANK) for v in _values(script))
        several = (
            several or "local" in _chosen(choosing[0]) or _named_local(script)
        )  # it is taken for the local one
        several = (
            several
            or _modulo(script)
            or _for_machines(script)
            or any(_over_nodes(i) for i in _indices(choosing[0]))
        )
        groups = script.named("torch.distributed.init_process_group")
        several = several and not any(meets_here(script, group) for group in groups)
        yield check.found(
            f"the GPU is chosen by the global rank, {_chosen(choosing[0])}: a second machine has no GPU of "
            "that number",
            severity=Severity.WARNING if several else Severity.NOTE,
            location=choosing[0].place,
            fixes=[DEVICE],
        )


def _place_of_own(script: Script) -> Iterator[Finding]:
    """Report a rank's own tensor that is put back by the local rank into the list of all: ``parts[local_rank] = part``."""
    lists = {c.arguments["tensor_list"].text for c in script.named(GATHER) if c.given("tensor_list")}
    for call in script.methods("__setitem__") if lists else ():
        name, key = call.name.removesuffix(".__setitem__"), call.value("key")
        if name in lists and _local(key):
            yield check.found(
                f"{call.text} is this rank's place only on the first machine: {name} has one for each rank of all, and a rank "
                "of a second machine puts its tensor into the place of another",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[OWN_PLACE],
            )
            return


GATHER = "torch.distributed.all_gather"
OWN_PLACE = Fix(
    "Take the place that the global rank has",
    "parts[dist.get_rank()] = part",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.get_rank",
)


def _numbered(script: Script) -> Iterator[Call]:
    """Yield the calls that are told this rank's number among all: torch's, and samplers that are not seen here."""
    yield from script.named(*GLOBAL)
    own = {signature.name for signature in script.signatures}
    told = (
        replace(c, arguments={**c.arguments, "rank": c.arguments[rank], "num_replicas": c.arguments[size]})
        for c in script.calls
        if not SHARES.isdisjoint(c.arguments)
        for rank, size in SHARING
        if rank in c.arguments and size in c.arguments and c.name not in GLOBAL
        if size != "world_size" or OF_DATA.search(c.name)  # settings hold both, too
    )
    yield from itertools.islice((c for c in told if c.name.rpartition("::")[2] not in own), 1)
    for call in script.named("range"):
        if {"0", "1", "2"} <= {*call.arguments} and call.value("2").known is Known.WORLD_SIZE:
            arguments = {"rank": call.arguments["0"], "num_replicas": call.arguments["2"]}
            yield replace(call, arguments=arguments, text=f"range({call.arguments['0'].text}, ...)")


def _local(value: Value) -> bool:
    """Return whether a rank is the local one: where a launcher passes it, even if a scheduler gives the global one."""
    options = list(value.possible())
    local = [o for o in options if o.known is Known.LOCAL_RANK and o.text not in ONE_MACHINE]
    others = (o for o in options if o.known is not Known.LOCAL_RANK)
    return bool(local) and all(o.known is Known.RANK and o.text == "SLURM_PROCID" for o in others)


SHARING = (
    ("rank", "num_replicas"),
    ("rank", "world_size"),
    ("index", "num_shards"),
    ("shard_id", "num_shards"),
    ("shard_index", "num_shards"),
    ("cur_shard", "shard_count"),
)
"""The names by which samplers and readers of data are told which share is this rank's, and of how many."""
SHARES = frozenset(size for _, size in SHARING)
OF_DATA = re.compile(r"data|sampl|split|shard|partition|loader|pipe", re.I)
STRIDES = ("<every nth>", "range")
"""What takes every n-th sample from a number on."""
ONE_MACHINE = ("spawn", "%", "current_device")
"""Where a local rank comes from that counts the processes of one script, or is computed from the global one."""


def _over_machines(script: Script, group: Call) -> str | None:
    """Return the source of a world size that is a multiple of the processes spawned here, ``None`` where it is none."""
    size = group.value("world_size")
    started = [c.value("nprocs") for c in script.named("torch.multiprocessing.spawn") if c.given("nprocs")]
    if size.text != "Mult" or len(started) != 1 or started[0] not in size.items:
        return None
    others = [item for item in size.items if item != started[0]]
    given = any(o.known in (Known.ARGUMENT, Known.WORLD_SIZE) for o in others)
    return group.arguments["world_size"].text if given else None


def _others(script: Script) -> Iterator[Call]:
    """Yield what else than set_device chooses a GPU by the global rank."""
    beside = _by_local(script)
    for call in script.named("torch.nn.parallel.DistributedDataParallel"):
        given = [item for name in OF_DDP for item in (call.value(name), *call.value(name).items)]
        if any(_global_in(value) or (beside and _named_rank(value)) for value in given):
            yield call
    for method in ("cuda", "to"):
        yield from (call for call in script.methods(method) if _global(call.value("device")))


def _by_local(script: Script) -> bool:
    """Return whether a script is told both ranks, and chooses a GPU by the local one."""
    chosen = [c.value("device") for c in script.named("torch.cuda.set_device")]
    indices = [device.index or device for device in chosen]
    return any(i.known is Known.LOCAL_RANK and i.text in ("local_rank", "LOCAL_RANK") for i in indices)


def _named_rank(value: Value) -> bool:
    """Return whether a number is a parameter or an option that is called after the global rank."""
    return value.known is Known.RANK and value.text in ("rank", "global_rank", "world_rank")


def _global(device: Value) -> bool:
    """Return whether a device has the number of the global rank."""
    indices = [item.index for item in device.possible()]
    if any(item.is_none or item.known is Known.LOCAL_RANK for item in device.possible()):
        return False  # the global rank stands in where nobody gives a local one, as on one machine
    return any(
        i is not None and i.known is Known.RANK and (i.text in FROM_LAUNCHER or _over_nodes(i))
        for i in indices
    )


def _over_nodes(value: Value, depth: int = 0) -> bool:
    """Return whether a rank is counted over several machines: ``node_rank * gpus + gpu``."""
    if value.known is Known.NODE_RANK or (value.known is Known.ARGUMENT and NODES.search(value.text)):
        return True
    return depth < DEEPEST and any(_over_nodes(item, depth + 1) for item in value.items)


NODES = re.compile(r"^nr$|node|machine", re.I)
"""Names of options that tell of several machines."""
DEEPEST = 4


def _chosen(call: Call) -> str:
    """Return the source of the device that a call chooses."""
    names = ("device", *sorted(OF_DDP, key=lambda name: not _global_in(call.value(name))))
    return next(call.arguments[name].text for name in names if name in call.arguments)


def _global_in(value: Value) -> bool:
    return any(_global(part) for part in (value, *value.items))


OF_DDP = ("device_ids", "output_device")
"""Arguments by which a DistributedDataParallel chooses a GPU."""


GLOBAL = ("torch.distributed.init_process_group", "torch.utils.data.DistributedSampler")
FROM_LAUNCHER = frozenset({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "get_rank", "process_index"})
"""Where a rank comes from that counts the whole job."""


def _named_local(script: Script) -> bool:
    """Return whether a global rank is kept under the name of the local one, and a device made of it."""
    kept = {c.text for c in script.calls if c.method == "__set__" and c.value("value").text in FROM_LAUNCHER}
    made = (call.arguments.get("index") for call in script.named("torch.device"))
    return any(given is not None and "local" in given.text and given.text in kept for given in made)


def _indices(call: Call) -> list[Value]:
    """Return the numbers of the devices that a call may choose."""
    given = [argument.value for argument in call.arguments.values()]
    devices = [item for value in given for part in (value, *value.items) for item in part.possible()]
    return [device.index or device for device in devices]


def _modulo(script: Script) -> bool:
    """Return whether another call chooses the GPU by the rank modulo their number, as on several machines."""
    devices = (call.value("device") for call in script.calls if "device" in call.arguments)
    return any(v.known is Known.LOCAL_RANK and v.text == "%" for device in devices for v in device.possible())


def _for_machines(script: Script) -> bool:
    """Return whether a script counts its ranks over machines: it reads how many there are, or which they are."""
    if any(call.variable in OF_MACHINES for call in script.calls):
        return True
    group = script.process_group
    size = group.value("world_size") if group is not None else UNKNOWN
    return size.text == "Mult" and any(_over_nodes(item) for item in size.items)


OF_MACHINES = frozenset(
    "SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NODELIST SLURM_JOB_NODELIST SLURM_NODEID NNODES NODE_RANK GROUP_RANK".split()
)
"""Variables that only a script for several machines asks for."""


def _values(script: Script) -> Iterator[Value]:
    for call in script.calls:
        if call.name.startswith("os."):
            yield call.result
