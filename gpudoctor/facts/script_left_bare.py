"""What a script trains beside its wrapper: a second model, or a parameter, whose gradients nothing brings together."""

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script import WRAPPERS, Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_files import origins
from gpudoctor.facts.script_gradients import of_gradients, of_numbers, shares_gradients
from gpudoctor.facts.script_joined import sharded
from gpudoctor.facts.script_values import Thing


class LeftBare(Struct, frozen=True):
    """A model, or a parameter, that is trained in the loop of a wrapper and is in none."""

    thing: Thing
    step: Call
    wrapper: Thing


def left_bare(script: Script) -> Iterator[LeftBare]:
    """Yield what an optimizer steps and a loss comes of, beside a DistributedDataParallel that does not hold it."""
    wrappers = [thing for thing in script.of_kind("ddp") if thing.inner >= 0]
    if not wrappers or len(wrappers) < sum(1 for _ in script.of_kind("ddp", "fsdp")) or _by_hand(script):
        return
    held = {thing.inner for thing in script.of_kind(*WRAPPERS)} | sharded(script)
    for optimizer in script.of_kind("optimizer"):
        for thing in _optimized(script, optimizer):
            if thing.number in held or thing.escapes or _within_another(script, thing):
                continue
            step = next((s for s in script.methods("step") if optimizer.number in s.receiver.things), None)
            step = step or next((s for s in script.methods("step", "scaler") if s.takes(optimizer)), None)
            wrapper = _beside(script, wrappers, thing, step) if step is not None else None
            if step is not None and wrapper is not None:
                yield LeftBare(thing, step, wrapper)


def _by_hand(script: Script) -> bool:
    """Return whether the script may bring gradients together itself."""
    if any(shares_gradients(c) and not c.name.startswith("torch.nn.parallel") for c in script.calls):
        return True
    summing = (c for c in script.calls if c.collective and c.method not in ("broadcast", "all_gather_object"))
    return any(of_gradients(script, c) or not of_numbers(c) for c in summing)


def _optimized(script: Script, optimizer: Thing) -> list[Thing]:
    """Return the bare models and parameters that an optimizer is given."""
    made = script.made_by(optimizer)
    if made is None or made.starred or "params" not in made.arguments:
        return []
    given = made.value("params")
    numbers = [
        number
        for call in origins(script, given)
        if call.method in ("parameters", "named_parameters") and len(call.receiver.things) == 1
        for number in call.receiver.things
    ]
    parts = (value for whole in (given, *given.items) for value in (whole, *whole.items))
    numbers += [number for value in parts for number in value.things]
    things = [script.things[number] for number in dict.fromkeys(numbers)]
    return [thing for thing in things if thing.kind in ("model", "parameter")]


def _within_another(script: Script, thing: Thing) -> bool:
    """Return whether something is, or may be, a part of another module, which a wrapper may hold."""
    made = script.made_by(thing)
    if made is None or (".__init__" in made.scope and not _owned(script, thing)):
        return True
    return any(
        (call.takes(thing) and call.name.startswith("torch.nn.") and call.method != "Parameter")
        or (call.method in ("add_module", "register_module", "append", "extend") and call.takes(thing))
        for call in script.calls
    )


def _owned(script: Script, thing: Thing) -> bool:
    """Return whether what a class makes for itself is in no module: the class is none of torch's."""
    made = script.made_by(thing)
    owner = made.scope.rpartition(".")[0] if made is not None else ""
    return bool(owner) and not any(item.name == owner for item in script.classes)


def _beside(script: Script, wrappers: list[Thing], thing: Thing, step: Call) -> Thing | None:
    """Return the wrapper whose forward runs in the loop in which something is trained."""
    trained = [
        backward
        for backward in script.methods("backward")
        if _together(backward, step) and _behind(script, thing, backward)
    ]
    for wrapper in wrappers if trained else ():
        made = script.made_by(wrapper)
        forwards = [c for c in script.methods("__call__") if wrapper.number in c.receiver.things]
        if made is None or made.excluded(step) or made.reached != step.reached:
            continue
        if any(_together(forward, step) for forward in forwards):
            return wrapper
    return None


def _together(call: Call, step: Call) -> bool:
    """Return whether two calls happen in one loop, or in one function where no loop is seen."""
    if step.loops or call.loops:
        return call.loops[:1] == step.loops[:1]
    return call.scope == step.scope


def _behind(script: Script, thing: Thing, backward: Call) -> bool:
    """Return whether a loss comes of a model or a parameter."""
    waiting, seen = [backward.receiver], set[int]()
    while waiting:
        value = waiting.pop()
        if thing.kind == "parameter" and thing.number in value.things:
            return True
        waiting += value.items
        if 0 <= value.made < len(script.calls) and value.made not in seen:
            seen.add(value.made)
            call = script.calls[value.made]
            if thing.number in call.receiver.things and call.method in ("__call__", "forward"):
                return True
            if call.method not in ("detach", "item", "numpy"):
                waiting += [call.receiver, *(argument.value for argument in call.arguments.values())]
    return False


__all__ = ["LeftBare", "left_bare"]
