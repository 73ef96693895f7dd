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

import itertools
import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    NO_GRADIENTS,
    ONLY_ASKED,
    UNKNOWN,
    Call,
    Known,
    Script,
    Thing,
    Value,
    called_first,
    goes_back,
    goes_past,
    gradients_divided,
    left_bare,
    of_gradients,
    of_numbers,
    shares_gradients,
    summed_tensor,
    unused_wrappers,
    wrapper_in_use,
)

WRAP = Fix(
    "Wrap the model after it is on its device",
    "model = DistributedDataParallel(model, device_ids=[local_rank])",
    Kind.EDIT,
)
EACH = Fix(
    "Wrap each model that is trained; a parameter of its own becomes a part of one",
    "discriminator = DistributedDataParallel(discriminator, device_ids=[local_rank])",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
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
    for found in itertools.islice(left_bare(script), 1):
        yield check.found(
            f"this step uses the gradients of this rank alone: what line {found.thing.place} makes is in no "
            f"DistributedDataParallel, as what line {found.wrapper.place} wraps is, and no all_reduce brings its gradients together",
            location=found.step.place,
            fixes=[EACH],
        )
        return
    if made is None or not made.reached:
        yield from _summed_in_a_step(script)
        return
    yield from _beside_the_wrapper(script)
    if any(_may_be_trained(script, t) for t in script.of_kind("ddp", "fsdp", "dp")) or any(
        shares_gradients(call) for call in script.calls if call.reached
    ):
        return
    summed = next(
        (call for call in script.calls if call.reached and call.collective and of_gradients(script, call)),
        None,
    )
    if summed is not None:
        steps = any(True for _ in script.methods("step", "optimizer"))
        if steps and not gradients_divided(script, summed):
            yield _only_summed(summed)
        return
    first = next((call for call in script.methods("backward") if call.reached), None)
    told = (call for call in script.calls if call.reached and call.collective and call.loops)
    told = (
        call
        for call in told
        if first is None or call.number > first.number or first.loops[:1] == call.loops[:1]
    )
    if not all(of_numbers(call) for call in told):  # before the first backward there are no gradients
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
    summed = [summed_tensor(call) for call in script.calls if call.collective]
    if any(".grad" in tensor for tensor in summed):
        return None
    ways = [
        _past_the_wrapper,
        _past_what_is_prepared,
        _set_aside,
        _thrown_away,
        _held_bare,
        _taken_out,
        _never_called,
    ]
    if any("grad" in tensor for tensor in summed):
        ways = [_thrown_away]
    return next((finding for way in ways for finding in way(script)), None)


def _past_the_wrapper(script: Script) -> Iterator[Finding]:
    """Report a loss that `model.module` computes, and no forward of the DistributedDataParallel."""
    for wrapper in script.of_kind("ddp"):
        yield from _computed_by(script, wrapper, [c for c in script.calls if goes_past(c, wrapper)])


def _taken_out(script: Script) -> Iterator[Finding]:
    """Report a loss of the module inside that a name was given: ``core = unwrapped(model)``."""
    for get in script.methods("__get__"):
        wrapper = script.thing(get.receiver, "ddp") if get.name.endswith(".module.__get__") else None
        if wrapper is not None and wrapper.inner >= 0:
            made = script.made_by(wrapper)
            own = (c for c in script.calls[get.number :] if c.receiver.thing == wrapper.inner)
            own = (c for c in own if made is None or not c.excluded(made))
            yield from _computed_by(script, wrapper, [c for c in own if c.method not in ONLY_ASKED])


def _computed_by(script: Script, wrapper: Thing, calls: list[Call]) -> Iterator[Finding]:
    """Report the first of some calls of the module inside that a loss comes of, without the wrapper's forward."""
    past = {call.place: call for call in calls if not NO_GRADIENTS & {*call.contexts}}
    for backward in script.methods("backward") if past else ():
        behind = list(script.behind(backward.receiver))
        ways = [way for call in behind for way in (call.place, *call.stack)]
        inside = next((past[way] for way in ways if way in past), None)
        outside, past_it, _ = inside.text.partition(".module.") if inside is not None else ("", "", "")
        name = outside if past_it else ""
        if inside is not None and not called_first(script, backward, {wrapper.number}, name):
            yield check.found(
                f"{inside.text}() goes past DistributedDataParallel's forward, so its backward sums nothing over the ranks: "
                "each rank trains a model of its own",
                location=inside.place,
                fixes=[FORWARD],
            )
            return


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
        if not called_first(script, backward, {*wrapper.value.things}, wrapper.text):
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
    for wrapper, made in unused_wrappers(script):
        if wrapper.type != DDP:
            continue
        steps = [c for c in script.methods("__call__") if c.number > made.number and c.loops]
        steps = [
            c for c in steps if c.reached == made.reached and (c.reached or c.stack[:1] == made.stack[:1])
        ]
        steps = [c for c in steps if wrapper.inner in c.receiver.things and not NO_GRADIENTS & {*c.contexts}]
        if any(wrapper.number in taken or goes_back(script, c) for c in steps):
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
    for wrapper, made in unused_wrappers(script):
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


TRAINS = re.compile(
    r"optimi[sz]e|train|fit|(?:^|_)step|learn(?!ing_rate)|loss|backward|forward"
    r"|^update(?:_(?:agent|policy|critic|actor|params|parameters|weights|networks?))?$",
    re.I,
)
"""What a method is called that computes a loss, or steps by it."""


def _never_called(script: Script) -> Iterator[Finding]:
    """Report training by a method of the module inside, which is not seen, and a wrapper that nobody calls."""
    if any(c.method in ("__call__", "forward") for c in script.calls if script.thing(c.receiver, "ddp")):
        return
    for wrapper, made in unused_wrappers(script):
        for call in script.calls[made.number :] if wrapper.type == DDP else ():
            fed = any(
                script.thing(a.value, "loader") for a in call.arguments.values()
            )  # it has the loop itself
            trains = (call.loops or fed) and TRAINS.search(call.method) and call.reached == made.reached
            if trains and goes_past(call, wrapper) and not NO_GRADIENTS & {*call.contexts}:
                yield check.found(
                    f"{call.text}() goes past DistributedDataParallel's forward, and nothing calls what is wrapped in line "
                    f"{made.place}: where this trains, it sums nothing over the ranks",
                    severity=Severity.WARNING,
                    location=call.place,
                    fixes=[FORWARD],
                )
                return


def _thrown_away(script: Script) -> Iterator[Finding]:
    """Report a wrapper of which only the module inside is kept, and trained."""
    trained = {optimizer.inner for optimizer in script.of_kind("optimizer")}
    kept = {n for c in script.methods("__set__") for n in c.value("value").things}
    for call in script.named("<inside>.module.__get__"):
        wrapper = script.thing(call.receiver, "ddp") if call.receiver.known is Known.THING else None
        if wrapper is None or wrapper.type != DDP or not trained & {wrapper.number, wrapper.inner}:
            continue
        if not wrapper.escapes and wrapper.number not in kept and not wrapper_in_use(script, wrapper):
            yield check.found(
                f"`{call.text}` takes the bare model out of the wrapper of line {wrapper.place}, and nothing calls the "
                "wrapper: its forward is what lets backward sum over the ranks",
                location=call.place,
                fixes=[KEPT],
            )
            return


DDP = "torch.nn.parallel.DistributedDataParallel"


def _beside_the_wrapper(script: Script) -> Iterator[Finding]:
    """Report a model that is handed to a training function with its optimizer, and a wrapper of it that nobody uses."""
    optimizers = {thing.number for thing in script.of_kind("optimizer")}
    for wrapper, made in unused_wrappers(script):
        if not made.reached or "." in made.scope or wrapper.inner < 0:
            continue  # of a model of which nothing is known, only the wrapper itself would be found
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


def _summed_in_a_step(script: Script) -> Iterator[Finding]:
    """Report gradients that a training step sums, and does not divide, in a file that others start."""
    for backward in script.methods("backward"):
        depth = len(backward.loops)
        after = [
            c for c in script.calls[backward.number + 1 :] if c.loops[:depth] == backward.loops and depth
        ]
        summed = next((c for c in after if c.collective and of_gradients(script, c)), None)
        if summed is not None and summed.given("group") and not summed.value("group").is_none:
            continue  # the parts of one model are summed, and not averaged
        if summed is not None and not gradients_divided(script, summed):
            if any(c.method == "step" and c.number > summed.number for c in after):
                yield _only_summed(summed)
                return


def _only_summed(summed: Call) -> Finding:
    return check.found(
        f"{summed_tensor(summed)} is summed over the ranks and nowhere divided by their number: each step is that many times too "
        "large",
        severity=Severity.WARNING,
        location=summed.place,
        fixes=[DIVIDE],
    )
