"""Several ranks train, and nothing brings their gradients together.

## What happens

Nothing fails. Each rank trains a model of its own on its share of the data, and the one that rank 0 saves has seen that share alone.
Where gradients are summed and not divided, the step is as many times too large as there are ranks.

## Why

`init_process_group` only connects the processes. Gradients are averaged by DistributedDataParallel, or by an `all_reduce` of each
gradient, divided by the number of ranks, between `backward` and `step`.

## How to tell

Print a parameter on every rank after a few steps, `print(rank, next(model.parameters()).sum().item())`: the numbers differ.

Or have the script check it: gather one weight after a step: `assert torch.equal(parts[0], parts[1]), "the ranks trained models of their own"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): gradients are averaged over the ranks
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import NO_GRADIENTS, UNKNOWN, Call, Known, Script, Thing, Value, origins

WRAP = Fix(
    "Wrap the model after it is on its device",
    "model = DistributedDataParallel(model, device_ids=[local_rank])",
    Kind.EDIT,
)
DIVIDE = Fix(
    "Divide by the number of ranks",
    "dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)\nparameter.grad /= dist.get_world_size()",
    Kind.EDIT,
    proof="parameter.grad /= dist.get_world_size()",
)

FORWARD = Fix(
    "Compute the loss in the module's forward, and call the wrapper",
    "loss = model(batch)  # model is the DistributedDataParallel; was: model.module.compute_loss(batch)",
    Kind.EDIT,
)
HANDED = Fix(
    "Hand the wrapper to the training function",
    "train(ddp_model, optimizer, loader)  # ddp_model is the DistributedDataParallel; was: model",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where gradients are summed and not divided",
    symptoms=[r"the ranks trained models of their own"],
    message="the ranks' weights differ: nothing averages their gradients",
    fixes=[WRAP, DIVIDE],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A training step in a program with a process group that nothing sums over the ranks, or that sums and does not divide."""
    without = _without_the_wrapper(script)
    if without is not None:
        yield without
        return
    made = script.process_group
    if script.frameworks:
        return
    if made is None or not made.reached:
        yield from _summed_in_a_step(script)
        return
    yield from _beside_the_wrapper(script)
    if any(_may_be_trained(script, t) for t in script.of_kind("ddp", "fsdp", "dp")) or any(
        _shares(call) for call in script.calls if call.reached
    ):
        return
    summed = next(
        (call for call in script.calls if call.reached and call.collective and _of_gradients(script, call)),
        None,
    )
    if summed is not None:
        steps = any(True for _ in script.methods("step", "optimizer"))
        if steps and not _divided(script, summed):
            yield _only_summed(summed)
        return
    if any(
        call.reached and call.collective and call.loops and not _of_numbers(call) for call in script.calls
    ):
        return
    for step in script.methods("step", "optimizer", "scaler"):
        trains = any(c.method == "backward" and c.loops == step.loops for c in script.calls)
        if step.reached and trains and step.loops and not step.rank_conditions:
            yield check.found(
                "this step uses the gradients of this rank alone: no DistributedDataParallel and no all_reduce brings those "
                "of the ranks together",
                location=step.place,
                fixes=[WRAP],
            )
            return


def _without_the_wrapper(script: Script) -> Finding | None:
    """Return what trains beside a DistributedDataParallel, ``None`` where nothing does or gradients are summed by hand."""
    summed = [_tensor(call) for call in script.calls if call.collective]
    if any(".grad" in tensor for tensor in summed):
        return None
    ways = [_past_the_wrapper, _past_what_is_prepared, _set_aside, _thrown_away, _held_bare, _taken_out]
    if any("grad" in tensor for tensor in summed):
        ways = [_thrown_away]
    return next((finding for way in ways for finding in way(script)), None)


def _unused(script: Script) -> Iterator[tuple[Thing, Call]]:
    """Yield each wrapper that nothing calls and nothing is handed, and the call that makes it."""
    for wrapper in script.of_kind("ddp"):
        made = script.made_by(wrapper)
        if made is not None and not wrapper.escapes and not _in_use(script, wrapper):
            yield wrapper, made


def _past_the_wrapper(script: Script) -> Iterator[Finding]:
    """Report a loss that `model.module` computes, and no forward of the DistributedDataParallel."""
    for wrapper in script.of_kind("ddp"):
        yield from _computed_by(script, wrapper, [c for c in script.calls if _goes_past(c, wrapper)])


def _taken_out(script: Script) -> Iterator[Finding]:
    """Report a loss of the module inside that a name was given: ``core = unwrapped(model)``."""
    for get in script.methods("__get__"):
        wrapper = script.thing(get.receiver, "ddp") if get.name.endswith(".module.__get__") else None
        if wrapper is not None and wrapper.inner >= 0:
            own = (c for c in script.calls[get.number :] if c.receiver.thing == wrapper.inner)
            yield from _computed_by(script, wrapper, [c for c in own if c.method not in ONLY_ASKED])


def _computed_by(script: Script, wrapper: Thing, calls: list[Call]) -> Iterator[Finding]:
    """Report the first of some calls of the module inside that a loss comes of, without the wrapper's forward."""
    past = {call.place: call for call in calls}
    for backward in script.methods("backward") if past else ():
        behind = list(script.behind(backward.receiver))
        ways = [way for call in behind for way in (call.place, *call.stack)]
        inside = next((past[way] for way in ways if way in past), None)
        if inside is not None and not _called_first(script, backward, {wrapper.number}):
            yield check.found(
                f"{inside.text}() goes past DistributedDataParallel's forward, so its backward sums nothing over the ranks: "
                "each rank trains a model of its own",
                location=inside.place,
                fixes=[FORWARD],
            )
            return


def _called_first(script: Script, backward: Call, things: set[int], text: str = "") -> bool:
    """Return whether a wrapper's own forward runs before a backward pass, in the same pass of its loop."""
    return any(
        (call.text == text or not things.isdisjoint(call.receiver.things))
        and (call.method in ("__call__", "forward") or call.name in (call.text, "?"))
        and call.loops == backward.loops
        and not NO_GRADIENTS & {*call.contexts}
        for call in script.calls[: backward.number]
    )


PREPARED = Fix(
    "Compute the loss in the model's forward, and call what prepare() returned",
    "loss = model(batch)  # model comes from accelerator.prepare(); was: accelerator.unwrap_model(model).compute_loss(batch)",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/notes/ddp.html",
)


def _past_what_is_prepared(script: Script) -> Iterator[Finding]:
    """Report a loss computed by the model that accelerate unwraps, where the wrapper's own forward has no part in it."""
    unwrapped = {c.number: next(iter(c.arguments.values()), None) for c in script.methods("unwrap_model")}
    past = [c for c in script.calls if c.receiver.made in unwrapped and c.method not in ONLY_ASKED]
    for backward in script.named("accelerate.Accelerator.backward") if past else ():
        given = next(iter(backward.arguments.values()), None)
        behind = list(script.behind(given.value)) if given is not None else []
        inside = next((c for c in past if c in behind and not NO_GRADIENTS & {*c.contexts}), None)
        wrapper = unwrapped[inside.receiver.made] if inside is not None else None
        if inside is None or wrapper is None:
            continue
        if not _called_first(script, backward, {*wrapper.value.things}, wrapper.text):
            yield check.found(
                f"{inside.text}() goes past the forward of what accelerate prepared: with several processes that is a "
                "DistributedDataParallel, whose backward then sums nothing over them",
                location=inside.place,
                fixes=[PREPARED],
            )
            return


KEPT = Fix(
    "Keep the wrapper, and call it",
    "model = DistributedDataParallel(model, device_ids=[local_rank])",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
)


def _set_aside(script: Script) -> Iterator[Finding]:
    """Report a wrapper that nobody calls, and the model inside it that is trained: DDP sums what its forward prepared."""
    taken = {n: c for c in script.named(f"{DDP}.module.__get__") for n in c.receiver.things}
    for wrapper, made in _unused(script):
        if wrapper.type != DDP:
            continue
        steps = [c for c in script.methods("__call__") if c.number > made.number and c.loops]
        steps = [
            c for c in steps if c.reached == made.reached and (c.reached or c.stack[:1] == made.stack[:1])
        ]
        steps = [c for c in steps if wrapper.inner in c.receiver.things and not NO_GRADIENTS & {*c.contexts}]
        if any(wrapper.number in taken or _goes_back(script, c) for c in steps):
            trained = steps[0].place
            yield check.found(
                f"nothing calls what {made.text} makes here, and line {trained} trains the bare model: its backward sums nothing "
                "over the ranks, each trains a model of its own",
                location=made.place,
                fixes=[KEPT],
            )
            return


def _held_bare(script: Script) -> Iterator[Finding]:
    """Report an object that was given the bare model and computes the loss with it, beside a wrapper that nobody calls."""
    wrapped = {by for other in script.of_kind("ddp") for by in _makers(script, _given(script, other))}
    for wrapper, made in _unused(script):
        if wrapper.inner < 0:
            continue
        if any(not c.text.startswith("self.") for c in script.methods("__set__") if c.takes(wrapper)):
            continue  # what holds it may call it
        inner = script.things[wrapper.inner]
        holders = {c.number: c for c in script.calls if c.takes(inner) and c.number not in wrapped}
        for backward in script.methods("backward") if holders else ():
            behind = [c for c in script.behind(backward.receiver) if c.number > made.number and c.loops]
            held = next(
                (holders[n] for c in behind for n in _makers(script, c.receiver) if n in holders), None
            )
            if held is not None:
                yield check.found(
                    f"the loss of line {backward.place} comes from the bare model that {held.text} is given in line "
                    f"{held.place}, and nothing calls the wrapper that is made here: its forward is what lets backward "
                    "sum over the ranks",
                    location=made.place,
                    fixes=[KEPT],
                )
                return


def _given(script: Script, wrapper: Thing) -> Value:
    made = script.made_by(wrapper)
    return made.value("module") if made is not None else UNKNOWN


def _makers(script: Script, value: Value) -> set[int]:
    """Return the numbers of the calls that made an object, or what it may be."""
    return {value.made, *(script.things[number].made for number in value.things)}


def _thrown_away(script: Script) -> Iterator[Finding]:
    """Report a wrapper of which only the module inside is kept, and trained."""
    trained = {optimizer.inner for optimizer in script.of_kind("optimizer")}
    kept = {n for c in script.methods("__set__") for n in c.value("value").things}
    for call in script.named("<inside>.module.__get__"):
        wrapper = script.thing(call.receiver, "ddp") if call.receiver.known is Known.THING else None
        if wrapper is None or wrapper.type != DDP or not trained & {wrapper.number, wrapper.inner}:
            continue
        if not wrapper.escapes and wrapper.number not in kept and not _in_use(script, wrapper):
            yield check.found(
                f"`{call.text}` takes the bare model out of the wrapper of line {wrapper.place}, and nothing calls the "
                "wrapper: its forward is what lets backward sum over the ranks",
                location=call.place,
                fixes=[KEPT],
            )
            return


DDP = "torch.nn.parallel.DistributedDataParallel"


def _goes_back(script: Script, forward: Call) -> bool:
    return any(c.loops == forward.loops and c.number > forward.number for c in script.methods("backward"))


def _in_use(script: Script, wrapper: Thing) -> bool:
    """Return whether anything is handed a wrapper, or calls what leads to its forward.

    One line may make several, of which one alone is followed: a factory that is called under either of two tests.
    """
    twins = {other.number for other in script.of_kind(wrapper.kind) if other.place == wrapper.place}
    return any(
        (not twins.isdisjoint(call.receiver.things) and call.method not in ONLY_ASKED)
        or (
            call.method != "__set__"
            and any(not twins.isdisjoint(a.value.things) for a in call.arguments.values())
        )
        for call in script.calls
    )


ONLY_ASKED = frozenset(
    "parameters named_parameters train eval state_dict named_buffers buffers __get__ register_comm_hook load_state_dict "
    "zero_grad modules named_modules".split()
)
"""Methods of a wrapper that do not go through its forward."""


def _beside_the_wrapper(script: Script) -> Iterator[Finding]:
    """Report a model that is handed to a training function with its optimizer, and a wrapper of it that nobody uses."""
    optimizers = {thing.number for thing in script.of_kind("optimizer")}
    for wrapper, made in _unused(script):
        if not made.reached or "." in made.scope:
            continue
        for call in script.calls[made.number + 1 :]:
            given = {number for a in call.arguments.values() for number in a.value.things}
            if call.scope == made.scope and script.innermost(wrapper).number in given and optimizers & given:
                yield check.found(
                    f"{call.text} is given the bare model, and what DistributedDataParallel made of it in line "
                    f"{made.place} is not used: its backward sums nothing over the ranks",
                    location=call.place,
                    fixes=[HANDED],
                )
                return


def _may_be_trained(script: Script, wrapper: Thing) -> bool:
    """Return whether the program comes to where a wrapper is made, or to what only a class of its own does."""
    made = script.made_by(wrapper)
    return made is None or made.reached or "." in made.scope


def _goes_past(call: Call, wrapper: Thing) -> bool:
    """Return whether a call is one of what is inside of a wrapper, by its `module`."""
    inside = wrapper.inner in call.receiver.things or (wrapper.inner < 0 and not call.receiver.things)
    return inside and ".module." in f"{call.text}."


def _shares(call: Call) -> bool:
    """Return whether a call may bring gradients together in a way that is not seen here."""
    name = call.method.lower()
    return (
        any(word in name for word in SHARING)
        and (
            not call.name.startswith(("torch.distributed.init", "torch.utils.data"))
            and not call.scope.endswith(call.method)
        )
        and not _is_known(call)
    )


SHARING = (
    "parallel", "ddp", "fsdp", "shard", "prepare", "distribute", "average", "sync_grad", "synchronize_grad",
    "gradient_sync",
)  # fmt: skip
"""Words in the names of what brings the ranks' gradients together."""


def _is_known(call: Call) -> bool:
    """Return whether a call's function is the script's own, so that what it does was followed."""
    return not call.name.startswith((".", "torch.")) and "." not in call.name


def _of_numbers(call: Call) -> bool:
    """Return whether a collective surely brings no gradients together: it waits, or sums what is reported."""
    if call.method in ("barrier", "monitored_barrier", "new_group"):
        return True
    given = call.arguments.get("tensor") or call.arguments.get("obj")
    if given is not None and given.value.of_batch:
        return True  # computed from what the model returned
    return given is not None and REPORTED.search(given.text.lower()) is not None


REPORTED = re.compile(r"\bloss|loss\b|_loss|total|correct|\bacc|accuracy|metric|count|\bnum_|stats?\b")
"""Names of numbers that are summed over the ranks to be shown."""


def _tensor(call: Call) -> str:
    given = call.arguments.get("tensor") or call.arguments.get("tensor_list")
    return given.text if given is not None else ""


def _of_gradients(script: Script, call: Call) -> bool:
    """Return whether a collective is given gradients, each by itself or laid out in one tensor."""
    if ".grad" in _tensor(call):
        return True
    given = call.arguments.get("tensor")
    flat = next(iter(origins(script, given.value)), None) if given is not None else None
    return (
        flat is not None
        and flat.method in ("_flatten_dense_tensors", "parameters_to_vector", "cat")
        and any("grad" in argument.text for argument in flat.arguments.values())
    )


def _summed_in_a_step(script: Script) -> Iterator[Finding]:
    """Report gradients that a training step sums, and does not divide, in a file that others start."""
    for backward in script.methods("backward"):
        depth = len(backward.loops)
        after = [
            c for c in script.calls[backward.number + 1 :] if c.loops[:depth] == backward.loops and depth
        ]
        summed = next((c for c in after if c.collective and _of_gradients(script, c)), None)
        if summed is not None and summed.given("group") and not summed.value("group").is_none:
            continue  # the parts of one model are summed, and not averaged
        if summed is not None and not _divided(script, summed):
            if any(c.method == "step" and c.number > summed.number for c in after):
                yield _only_summed(summed)
                return


def _only_summed(summed: Call) -> Finding:
    return check.found(
        f"{_tensor(summed)} is summed over the ranks and nowhere divided by their number: each step is that many times too "
        "large",
        severity=Severity.WARNING,
        location=summed.place,
        fixes=[DIVIDE],
    )


def _divided(script: Script, summed: Call) -> bool:
    """Return whether summed gradients may be divided: they are averaged, or anything is that they or the loss come of."""
    if summed.name != "torch.distributed.all_reduce" or summed.value("op").text.endswith("AVG"):
        return True
    if any(_by_their_number(script, call.receiver) for call in script.methods("backward")):
        return True
    return any(_divides(call) for call in script.calls if call.reached or not summed.reached)


def _divides(call: Call) -> bool:
    """Return whether a call divides something with a gradient, or is given a loss or learning rate that is divided."""
    by_size = (
        "/" in a.text and any(word in a.text for word in ("world", "size")) for a in call.arguments.values()
    )
    if any(by_size) or (call.name == "<augmented>" and "grad" in call.text):
        return True
    if call.method in ("div_", "mul_", "div") or (call.method == "__set__" and "grad" in call.name):
        return True
    return call.name == "<discarded>"  # gradient-average-lost tells of that


def _by_their_number(script: Script, loss: Value) -> bool:
    """Return whether the number of ranks stands in what a loss is computed by: ``loss = loss / world_size``."""
    waiting, seen = [loss], set[int]()
    while waiting:
        value = waiting.pop()
        if value.known is Known.WORLD_SIZE or "world" in value.text:
            return True
        waiting += value.items
        if value.made >= 0 and value.made not in seen:
            seen.add(value.made)
            waiting.append(script.calls[value.made].receiver)
    return False
