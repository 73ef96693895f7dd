"""Every rank trains on the whole data set.

## What happens

Nothing fails. Each rank goes through all samples, so an epoch takes as long as on one GPU, and several ranks bring no more than a larger
batch of samples that come again.

## Why

DistributedDataParallel splits no data: it sums gradients. A `DataLoader` without a `DistributedSampler` gives each rank everything.

## How to tell

Print `len(loader)` with one rank and with two: it is the same.

Or have the script check it: gather what each rank saw in an epoch: `assert not set(seen[0]) & set(seen[1]), "ranks 0 and 1 are given the same samples"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.utils.data.distributed.DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): "restricts data loading to a subset of the dataset"
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import LACKS, SHUFFLED, Call, Condition, Known, Script, Thing, Value, elsewhere

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for a data set that nothing is learnt from",
    symptoms=[
        r"ranks (?P<first>\d+) and (?P<second>\d+) are given the same samples",
        r"The world_size\((?P<world>\d+)\) > 1 but dataloader does not use DistributedSampler",  # Composer
    ],
    message="ranks[ <first> and <second>] are given the same samples: their loaders have no sampler that divides the data[ among <world>]",
    fixes=[
        Fix(
            "Give each rank its share",
            "sampler = DistributedSampler(dataset)\nloader = DataLoader(dataset, batch_size=32, sampler=sampler)\n"
            "for epoch in range(epochs):\n    sampler.set_epoch(epoch)",
            Kind.EDIT,
            proof="sampler = DistributedSampler(dataset",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loader that a wrapped model is trained with, which draws from no sampler, and a data set that no rank has split."""
    forgotten = dict(_forgotten(script))
    for loader, unused in forgotten.items():
        made = script.made_by(loader)
        held_out = made is not None and HELD_OUT.search(made.arguments["dataset"].text)
        yield check.found(
            f"the DistributedSampler of line {unused.place} is made for this data set and not given to this loader: every "
            "rank goes through the whole data set",
            severity=Severity.NOTE if held_out else Severity.WARNING,
            location=loader.place,
        )
    yield from _beside_a_library(script)
    if elsewhere(script) or script.frameworks or forgotten or not _trained_together(script):
        return
    if next(script.named("torch.distributed.tensor.parallel.parallelize_module"), None) is not None:
        return  # the ranks that hold parts of one model are given the same samples
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        if made is None or loader.type not in OF_SAMPLES or made.starred:
            continue
        sampler = made.value("sampler")
        whole = sampler.known is Known.THING and script.things[sampler.thing].type in OF_ONE
        never = _never_made(script, sampler)
        if "batch_sampler" in made.arguments or (
            "sampler" in made.arguments and not sampler.is_none and not whole and never is None
        ):
            continue
        if _split(script, made) or not (
            _handed(script, loader) if loader.escapes else _trains(script, loader)
        ):
            continue
        said = "this loader has no DistributedSampler"
        if never is not None:
            said = f"its sampler is never made, for what `{never.text}` asks for has no such attribute"
        yield check.found(f"{said}, so every rank trains on the whole data set", location=made.place)


def _never_made(script: Script, sampler: Value) -> Condition | None:
    """Return the test that keeps a sampler from being made, as its object has no such attribute; ``None`` without one."""
    made = [call for number in sampler.things if (call := script.made_by(script.things[number]))]
    tests = [
        next((c for c in call.conditions if c.value.text == LACKS and c.impossible), None) for call in made
    ]
    return tests[0] if tests and None not in tests else None


def _beside_a_library(script: Script) -> Iterator[Finding]:
    """Report a loader that DeepSpeed or accelerate trains with, and was not asked to share out among the ranks."""
    engines = [c for c in script.named("deepspeed.initialize") if c.reached and not c.starred]
    prepared = list(script.named("accelerate.Accelerator.prepare"))
    if bool(engines) == bool(prepared) or {"lightning", "transformers"} & {*script.frameworks}:
        return
    if any(c.starred or c.given("training_data") for c in (*engines, *prepared)):
        return
    library = "deepspeed.initialize" if engines else "accelerator.prepare"
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        if made is None or loader.type != "torch.utils.data.DataLoader" or made.starred or not made.reached:
            continue
        if {"sampler", "batch_sampler"} & {*made.arguments} or any(c.takes(loader) for c in prepared):
            continue
        if loader.escapes or _split(script, made) or not _goes_back(script, loader):
            continue
        yield check.found(
            f"{library} does not get this loader, and it has no DistributedSampler: every rank trains on the whole data set",
            location=made.place,
        )
        return


def _goes_back(script: Script, loader: Thing) -> bool:
    """Return whether a loop over a loader, or over a generator of it, calls a library's backward."""
    backward = [call for call in script.methods("backward") if call.loops]
    for begun in script.iterations(loader):
        loop = begun.loops[-1]
        if any(loop in call.loops for call in backward):
            return True
        inside = [c for c in script.calls if loop in c.loops and c.name not in ("<loop>", "<yield>")]
        if not inside and begun.scope != "<module>":  # a function that hands the batches on
            drawn = (call for call in script.named("next") if call.loops)  # by who holds the generator
            if any(call.loops[-1] in each.loops for call in drawn for each in backward):
                return True
    return False


def _forgotten(script: Script) -> Iterator[tuple[Thing, Thing]]:
    """Yield each loader of a data set for which a DistributedSampler is made, and given to no loader; and that sampler."""
    if script.process_group is None or script.frameworks:
        return
    makers = [c for t in script.of_kind("loader", "sampler") if (c := script.made_by(t)) is not None]
    taken = {n for c in makers for a in c.arguments.values() for n in a.value.things}
    shared = {n for c in makers if c.given("sampler") for n in c.value("dataset").things}
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        if made is None or made.starred or {"sampler", "batch_sampler"} & {*made.arguments}:
            continue
        for sampler in script.of_kind("sampler"):
            source = script.made_by(sampler)
            if sampler.type != DISTRIBUTED or source is None or source.value("shuffle").literal is False:
                continue
            same = sampler.inner in made.value("dataset").things
            same &= source.scope == made.scope or (not sampler.escapes and sampler.inner not in shared)
            if same and sampler.number not in taken and source.number < made.number:
                yield loader, sampler


HELD_OUT = re.compile(r"(?<![a-z])(?:val|valid|validate|validation|test|eval|dev)(?![a-z])", re.I)
"""Names of data sets that nothing is learnt from."""
OF_SAMPLES = ("torch.utils.data.DataLoader", "torch_geometric.loader.DataLoader")
"""Loaders that draw by a sampler: torch's own, and a subclass of it (PyG's source)."""
DISTRIBUTED = "torch.utils.data.DistributedSampler"
OF_ONE = tuple(f"torch.utils.data.{name}Sampler" for name in ("Random", "Sequential", "SubsetRandom"))
"""Samplers that know no ranks."""
OF_INDICES = "torch.utils.data.SubsetRandomSampler"
RANDOM = "torch.utils.data.RandomSampler"
"""The sampler that ``shuffle=True`` stands for."""


def _split(script: Script, made: Call) -> bool:
    """Return whether the data set, or anything that it is made of, may differ by rank or split itself."""
    sampler = script.thing(made.value("sampler"), "sampler")
    never = _never_made(script, made.value("sampler")) is not None
    left_out = (*OF_NO_SPLIT, "sampler") if never else OF_NO_SPLIT
    waiting = [argument.value for key, argument in made.arguments.items() if key not in left_out]
    random = sampler is not None and (sampler.type == RANDOM or _of_seen_indices(script, sampler))
    shuffled = any(v.literal is True for v in made.value("shuffle").possible()) or random
    if made.rank_conditions:
        return True
    for _ in range(200):
        if not waiting:
            return False
        value = waiting.pop()
        # An iterable data set, which may split itself, cannot be shuffled; another one hardly ever does.
        if value.by_rank or value.known is Known.WORLD_SIZE or (not shuffled and _opaque(value)):
            return True
        waiting += value.items
        for number in value.things:
            thing = script.things[number]
            source = script.made_by(thing)
            if thing.kind == "dataset" and source is None and not shuffled:
                return True
            if source is not None and any(c.scope == source.scope and _asks_node(c) for c in script.calls):
                return True
            if source is not None:
                waiting += [argument.value for argument in source.arguments.values()]
            waiting += [c.value("value") for c in script.methods("__set__") if number in c.receiver.things]
            if any(c.of_class(thing.type) and _asks_rank(c) for c in script.calls):
                return True
    return True


OF_NO_SPLIT = (
    "batch_size",
    "num_workers",
    "shuffle",
    "drop_last",
    "pin_memory",
    "persistent_workers",
    "timeout",
)
"""Arguments of a loader that choose no samples."""


def _of_seen_indices(script: Script, sampler: Thing) -> bool:
    """Return whether a sampler draws from indices that nothing unseen has chosen: its data set is no iterable one, either."""
    made = script.made_by(sampler)
    if sampler.type != OF_INDICES or made is None or made.starred:
        return False
    indices = made.value("indices")
    if indices.text == SHUFFLED:
        indices = indices.items[0]
    return not any(value.by_rank or _opaque(value) for value in (indices, *indices.items))


def _opaque(value: Value) -> bool:
    """Return whether a data set comes from where nothing is seen, or is a list of what does."""
    if value.text == "comprehension" and value.items:
        each = value.items[0]
        return each.known is Known.UNKNOWN and not each.text and each.made < 0
    return False if value.known is not Known.UNKNOWN else bool(value.text) and value.text not in ("len", "is")


def _asks_node(call: Call) -> bool:
    """Return whether a function reads a variable whose name is computed: what it holds differs by node or process."""
    reads = call.name in ("os.environ.__getitem__", "os.environ.get", "os.getenv")
    return reads and not call.variable and call.scope != "<module>"


def _asks_rank(call: Call) -> bool:
    return call.method in ("get_rank", "get_world_size", "get_worker_info")


def _trains(script: Script, loader: Thing) -> bool:
    """Return whether a loop over a loader goes back through a model."""
    drawn = [call for call in script.named("iter") if call.takes(loader) and call.within("epoch")]
    drawn += [call for call in script.named("next") if call.loops and _takes_from(call, loader)]
    for begun in [*script.iterations(loader), *drawn]:
        loop = begun.loops[-1]
        inside = [call for call in script.calls[begun.number :] if loop in call.loops]
        backward = [c for c in inside if c.method == "backward" and _happens(c)]
        if backward and (
            any(_wrapped(script, c) for c in inside) or any(_unseen(script, c) for c in backward)
        ):
            return True
    return False


def _happens(call: Call) -> bool:
    """Return whether a backward pass may happen where it stands: not where ``training=False`` was handed over."""
    return "torch.no_grad" not in call.contexts and not any(test.impossible for test in call.conditions)


def _unseen(script: Script, backward: Call) -> bool:
    """Return whether a loss comes of a function that is not seen, and that is handed the wrapped model."""
    return any(
        script.thing(argument.value, "ddp", "fsdp")
        for call in script.behind(backward.receiver)
        for argument in call.arguments.values()
        if not call.receiver.things
    )


def _takes_from(call: Call, loader: Thing) -> bool:
    """Return whether a call takes a batch of a loader, from itself or from a generator that goes through it."""
    given = [argument.value for argument in call.arguments.values()]
    return any(loader.number in value.things for each in given for value in (each, *each.items))


def _handed(script: Script, loader: Thing) -> bool:
    """Return whether a loader goes, epoch after epoch, to a function for training, with a wrapped model, and nowhere else."""
    uses = [c for c in script.uses(loader) if c.number != loader.made and c.name not in ("len", "print")]
    return bool(uses) and all(
        (call.within("epoch") is not None or _with_optimizer(script, call))
        and "train" in call.text.lower()
        and any(script.thing(argument.value, "ddp", "fsdp") for argument in call.arguments.values())
        for call in uses
    )


def _with_optimizer(script: Script, call: Call) -> bool:
    """Return whether a function is given an optimizer as well: it goes through the epochs itself."""
    return any(script.thing(argument.value, "optimizer") for argument in call.arguments.values())


def _wrapped(script: Script, call: Call) -> bool:
    together = any(True for _ in script.of_kind("ddp", "fsdp"))
    kinds = ("ddp", "fsdp", "compiled") if together else ("model", "object", "compiled")
    return call.method in ("__call__", "forward") and any(
        script.things[n].kind in kinds for n in call.receiver.things
    )


def _trained_together(script: Script) -> bool:
    """Return whether the ranks train one model: by a wrapper, fully_shard, or an all-reduce of the gradients."""
    if any(True for _ in script.of_kind("ddp", "fsdp")) or any(True for _ in script.named(SHARD)):
        return True
    return any("grad" in a.text for call in script.named(REDUCE) for a in call.arguments.values())


SHARD, REDUCE = "torch.distributed.fsdp.fully_shard", "torch.distributed.all_reduce"
