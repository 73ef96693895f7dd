"""Which ranks come to a script's collectives: those under a test for the rank, and loops that ranks leave alone."""

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script import Call, Condition, Exit, Loop, Script
from gpudoctor.facts.script_values import Known, Place, Thing, Value

CONSTRUCTED = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",  # compares and broadcasts parameters
        "torch.distributed.checkpoint.save",
        "torch.distributed.checkpoint.load",
        "torch.distributed.checkpoint.async_save",
        "torch.distributed.checkpoint.state_dict_saver.save",
        "torch.distributed.checkpoint.state_dict_loader.load",
        "torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict",
        "torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict",
        "torch.distributed.optim.ZeroRedundancyOptimizer.step",
        "torch.distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict",
    }
)
"""What else contains collectives (torch's documentation of each, and its source)."""
OF_ACCELERATE = frozenset(
    f"accelerate.Accelerator.{name}"
    for name in "wait_for_everyone gather gather_for_metrics reduce pad_across_processes".split()
)
"""Methods of an Accelerator for which every rank has to come (accelerate's documentation of each)."""
OF_DEEPSPEED = frozenset(
    f"deepspeed.DeepSpeedEngine.{name}" for name in "save_checkpoint load_checkpoint save_16bit_model".split()
)
"""Methods of a DeepSpeedEngine for which every rank has to come (deepspeed's documentation of checkpointing)."""
STATES = "torch.distributed.checkpoint.state_dict."
"""Where the functions are that get a whole state dict from its shards."""
OF_FSDP = frozenset({"__call__", "forward", "state_dict", "clip_grad_norm_", "load_state_dict"})
"""Methods of a FullyShardedDataParallel that gather or reduce its shards."""
WITHOUT_OTHERS = ("group", "process_group", "pg", "no_dist")
"""Arguments by which a call may be one of some ranks, or of one."""
STATISTICS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm2d")
SEVERAL = ("dist", "ddp", "world_size", "initialized", "-1")


class Side(Struct, frozen=True):
    """The ranks that come to a call: those for which a test holds, or the others."""

    condition: Condition
    test: object
    """Equal for tests that part the ranks in the same way."""
    chosen: bool
    """Whether these are the ranks that the test names: rank 0 under ``if rank == 0:``."""

    def said(self) -> str:
        """Return which ranks do not come to the call."""
        value = self.condition.value
        number = value.sole if value.sole is not None else value.all_but
        if number is None:
            return "the other ranks do not"
        return f"the ranks other than {number} do not" if self.chosen else f"rank {number} does not"


class Parted(Struct, frozen=True):
    """A call that every rank has to make, and some alone do."""

    call: Call
    side: Side
    place: Place
    """Where it stands in the function that asks for the rank: the call itself, or what leads to it."""
    text: str
    """The source of what is called there."""


def side(condition: Condition) -> Side | None:
    """Return which ranks pass a condition, ``None`` where that is not known."""
    value = condition.value
    if " or " in condition.text and not any(word in condition.text.lower() for word in SEVERAL):
        return None
    if value.sole is not None:
        return Side(condition, value.sole, chosen=not condition.negated)
    if value.all_but is not None:
        return Side(condition, value.all_but, chosen=condition.negated)
    if len(value.items) == 2 and value.items[0].is_rank and isinstance(value.items[1].literal, int):
        return Side(condition, condition.place, chosen=not condition.negated)
    if value.text == "Eq" and len(value.items) == 2 and value.items[0].is_rank and _one_rank(value.items[1]):
        return Side(condition, condition.place, chosen=not condition.negated)
    return None


def _one_rank(value: Value) -> bool:
    """Return whether a value is the same on all ranks and names one of them: an option, or the last rank."""
    of_size = value.text == "Sub" and any(item.known is Known.WORLD_SIZE for item in value.items)
    return value.known is Known.ARGUMENT or (of_size and not value.by_rank)


def joined(script: Script) -> list[Call]:
    """Return the calls for which every rank has to come: collectives of all ranks, and what contains them."""
    shards = sharded(script)
    forwards = _forwards(script, shards)
    return [
        call
        for call in script.calls
        if _waits(script, call, forwards, shards)
        and not call.starred
        and not any(call.given(name) and not call.value(name).is_none for name in WITHOUT_OTHERS)
    ]


def _waits(script: Script, call: Call, forwards: set[Place], shards: frozenset[int]) -> bool:
    """Return whether a call ends when the other ranks make it too."""
    if call.collective or call.name in CONSTRUCTED or call.name in OF_ACCELERATE:
        return True
    if call.name.startswith(STATES) and call.method.startswith("get_"):
        return _whole_state(script, call, shards)
    if call.method == "backward":
        around = {condition.place for condition in call.conditions} | {loop.place for loop in call.loops}
        return bool(forwards & around)
    if call.method == "full_tensor" or call.name in OF_DEEPSPEED:
        return True
    if call.method in OF_FSDP and script.thing(call.receiver, "fsdp"):
        return True
    if call.method in ("__call__", "forward") and call.receiver.things and call.receiver.thing in shards:
        return True
    return call.method in ("__call__", "forward") and _with_buffers(
        script, script.thing(call.receiver, "ddp")
    )


def _whole_state(script: Script, call: Call, shards: frozenset[int]) -> bool:
    """Return whether a state dict is put together from the shards of all ranks."""
    options = call.value("options")
    made = script.calls[options.made] if 0 <= options.made < len(script.calls) else None
    whole = made is not None and made.value("full_state_dict").literal is True
    return whole and (bool(shards) or any(True for _ in script.of_kind("fsdp")))


def sharded(script: Script) -> frozenset[int]:
    """Return the models that fully_shard took, by their numbers; their forward and backward gather the shards."""
    calls = script.named("torch.distributed.fsdp.fully_shard")
    return frozenset(number for call in calls for number in call.value("module").things)


def _forwards(script: Script, shards: frozenset[int]) -> set[Place]:
    """Return the tests and loops in which a DistributedDataParallel, or a sharded model, is called."""
    found: set[Place] = set()
    for call in script.calls:
        if call.method not in ("__call__", "forward"):
            continue
        if script.thing(call.receiver, "ddp", "fsdp", "prepared") or call.receiver.thing in shards:
            found.update(condition.place for condition in call.rank_conditions)
            found.update(loop.place for loop in call.loops)
    return found


def _with_buffers(script: Script, wrapper: Thing | None) -> bool:
    """Return whether a DistributedDataParallel surely has buffers: it broadcasts them before a forward pass."""
    if wrapper is None or wrapper.type.startswith("apex."):
        return False
    made = script.made_by(wrapper)
    if made is not None and made.given("broadcast_buffers"):
        return False
    return batch_norm(script, script.innermost(wrapper)) is not None


def batch_norm(script: Script, model: Thing) -> Place | None:
    """Return where a model gets its BatchNorm, ``None`` where none is seen."""
    for item in script.classes:
        if item.name == model.type:
            return next((a.place for a in item.attributes if a.type.endswith(STATISTICS)), None)
    if model.type.startswith("torchvision.models."):
        last = model.type.rpartition(".")[2]
        normed = last.startswith(("resnet", "resnext", "wide_resnet", "densenet", "mobilenet", "shufflenet"))
        return model.place if normed or last.endswith("_bn") else None
    if model.type == "torch.nn.Sequential":
        made = script.made_by(model)
        for argument in made.arguments.values() if made else ():
            thing = script.thing(argument.value)
            if thing is not None and thing.type.endswith(STATISTICS):
                return thing.place
    return None


def parted(script: Script) -> list[Parted]:
    """Return the calls for which every rank has to come, and some alone do; the first of each side of each test."""
    sides: dict[tuple[object, bool], set[str]] = {}
    calls: list[tuple[Call, Side]] = []
    for call in joined(script):
        found = [side(condition) for condition in call.rank_conditions]
        if not found or None in found:
            continue
        for one in found:
            if one is not None:
                sides.setdefault((one.test, one.chosen), set()).add(call.name)
                calls.append((call, one))
    if not calls:
        return []
    places = _places(script)
    result: dict[tuple[Place, bool], Parted] = {}
    for call, one in calls:
        if call.name not in sides.get((one.test, not one.chosen), ()):
            place, text = _standing(call, one.condition, places)
            result.setdefault((one.condition.place, one.chosen), Parted(call, one, place, text))
    return list(result.values())


def _places(script: Script) -> dict[Place, list[Call]]:
    found: dict[Place, list[Call]] = {}
    for call in script.calls:
        found.setdefault(call.place, []).append(call)
    return found


def _standing(call: Call, condition: Condition, places: dict[Place, list[Call]]) -> tuple[Place, str]:
    """Return what stands under a condition and leads to a call, outermost first."""
    for place in call.stack:
        for leading in places.get(place, ()):
            if condition in leading.conditions:
                return place, leading.text
    return call.place, call.text


def left_alone(script: Script) -> Iterator[tuple[Exit, Condition, Call]]:
    """Yield the exits by which some ranks may leave a loop, or a pass of it, and the call for which the others wait."""
    waiting: dict[Place, list[Call]] = {}
    for call in joined(script):
        for loop in call.loops:
            waiting.setdefault(loop.place, []).append(call)
    if not waiting:
        return
    divided = _divided(script)
    for way in script.exits:
        if way.kind in ("raise", "exit") or not way.loops:
            continue
        loop = way.loops[-1]
        calls = waiting.get(loop.place, [])
        if way.kind == "continue":
            calls = [call for call in calls if call.number >= way.number]
        if not _inside(way.place, loop):
            continue  # it leaves a function that is called in the loop
        inside = [condition for condition in way.conditions if _inside(condition.place, loop)]
        failed = next((c for c in inside if c.kind == "except"), None)
        if failed is not None:
            tried = [c for c in waiting.get(loop.place, []) if _tried(c, failed, loop)]
            if tried and way.kind == "continue" and any(e in failed.text for e in OF_ONE_RANK):
                yield way, failed, tried[0]
            continue
        skips = way.kind == "continue" and any(call.method == "backward" for call in calls)
        condition = next(
            (c for c in inside if _alone(c, divided=divided or (skips and _not_finite(script, c)))), None
        )
        if calls and condition is not None:
            yield way, condition, calls[0]


OF_ONE_RANK = ("RuntimeError", "OutOfMemoryError", "FloatingPointError")
"""Exceptions of a step that one rank may raise and the others not."""


def _tried(call: Call, handler: Condition, loop: Loop) -> bool:
    """Return whether a call stands in a loop's ``try``, above a handler of its exceptions."""
    return (
        "try" in call.contexts
        and call.method == "backward"
        and loop in call.loops[-1:]
        and (call.place.path == handler.place.path and loop.place.line < call.place.line < handler.place.line)
    )


def _inside(place: Place, loop: Loop) -> bool:
    """Return whether a place is in the body of a loop."""
    return place.path == loop.place.path and loop.place.line < place.line <= loop.place.end_line


def _alone(condition: Condition, *, divided: bool) -> bool:
    """Return whether ranks surely come to different answers at times: they ask for the rank, a clock or their data."""
    if condition.kind != "if":
        return False
    if condition.by_rank:
        return side(condition) is not None and not condition.early
    return condition.from_data and (divided or "time" in condition.text.lower())


def _not_finite(script: Script, condition: Condition) -> bool:
    """Return whether a test asks for NaN in what this rank computed, and no loader gives all the same."""
    asks = any(word in condition.text for word in ("isnan", "isfinite", "isinf"))
    return asks and not any(next(script.iterations(loader), None) for loader in script.of_kind("loader"))


def _divided(script: Script) -> bool:
    """Return whether every rank has its own part of all data that is gone through."""
    loaders = [loader for loader in script.of_kind("loader") if next(script.iterations(loader), None)]
    return bool(loaders) and all(_own_share(script, loader) for loader in loaders)


def _own_share(script: Script, loader: Thing) -> bool:
    made = script.made_by(loader)
    if made is None:
        return False
    sampler = script.thing(made.value("sampler"), "sampler")
    return sampler is not None and sampler.type == "torch.utils.data.DistributedSampler"


__all__ = ["Parted", "Side", "batch_norm", "joined", "left_alone", "parted", "side"]
