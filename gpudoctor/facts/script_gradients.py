"""What trains with a wrapper or past it, and whether the gradients of the ranks come together."""

import re
from collections.abc import Iterator

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_files import origins
from gpudoctor.facts.script_models import NO_GRADIENTS
from gpudoctor.facts.script_values import Known, Thing, Value

ONLY_ASKED = frozenset(
    "parameters named_parameters train eval state_dict named_buffers buffers __get__ register_comm_hook "
    "load_state_dict zero_grad modules named_modules".split()
)
"""Methods of a wrapper that do not go through its forward."""


def unused_wrappers(script: Script) -> Iterator[tuple[Thing, Call]]:
    """Yield each wrapper that nothing calls and nothing is handed, and the call that makes it."""
    for wrapper in script.of_kind("ddp"):
        made = script.made_by(wrapper)
        escapes = wrapper.escapes and (made is None or not _only_evaluated(script, wrapper, made))
        if made is not None and not escapes and not wrapper_in_use(script, wrapper):
            yield wrapper, made


def _only_evaluated(script: Script, wrapper: Thing, made: Call) -> bool:
    """Return whether all that is handed a wrapper, and not seen, evaluates it: ``with eval_mode(agent):``."""
    taking = [call for call in script.calls[made.number + 1 :] if call.takes(wrapper)]
    return made.reached and bool(taking) and all(_seen_through(script, call) for call in taking)


def wrapper_in_use(script: Script, wrapper: Thing) -> bool:
    """Return whether anything is handed a wrapper, or calls what leads to its forward.

    One line may make several, of which one alone is followed: a factory that is called under either of two tests. And
    one model may be wrapped in either of two branches: with a GPU, and without.
    """
    twins = {
        other.number
        for other in script.of_kind(wrapper.kind)
        if other.place == wrapper.place or 0 <= wrapper.inner == other.inner
    }
    return any(
        (not twins.isdisjoint(call.receiver.things) and call.method not in ONLY_ASKED)
        or (
            call.method != "__set__"
            and any(not twins.isdisjoint(a.value.things) for a in call.arguments.values())
            and not _seen_through(script, call)
        )
        for call in script.calls
    )


EVALUATES = re.compile(r"(?:^|_)(?:eval|valid|test|infer|predict|print|log|count|watch|summar)", re.I)
"""What a function is called that asks a model, and does not train it."""


def _seen_through(script: Script, call: Call) -> bool:
    """Return whether what a function does with a wrapper is seen, or is no training by what it is called.

    The first call in a function that was followed stands right behind the call of it.
    """
    following = script.calls[call.number + 1 : call.number + 2]
    if any(call.place in inside.stack for inside in following):
        return True
    return EVALUATES.search(call.method) is not None and "train" not in call.method.lower()


def goes_past(call: Call, wrapper: Thing) -> bool:
    """Return whether a call is one of what is inside of a wrapper, by its `module`."""
    inside = wrapper.inner in call.receiver.things or (wrapper.inner < 0 and not call.receiver.things)
    return inside and ".module." in f"{call.text}."


def called_first(script: Script, backward: Call, things: set[int], text: str = "") -> bool:
    """Return whether a wrapper's own forward runs before a backward pass, in the same pass of its loop."""
    return any(
        (call.text == text or not things.isdisjoint(call.receiver.things))
        and (call.method in ("__call__", "forward") or call.name in (call.text, "?"))
        and call.loops == backward.loops
        and not NO_GRADIENTS & {*call.contexts}
        for call in script.calls[: backward.number]
    )


def goes_back(script: Script, forward: Call) -> bool:
    """Return whether a backward pass follows a forward pass in the same loop."""
    return any(c.loops == forward.loops and c.number > forward.number for c in script.methods("backward"))


SHARING = (
    "parallel", "ddp", "fsdp", "shard", "prepare", "distribute", "average", "sync_grad", "synchronize_grad",
    "gradient_sync",
)  # fmt: skip
"""Words in the names of what brings the ranks' gradients together."""


def shares_gradients(call: Call) -> bool:
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


def _is_known(call: Call) -> bool:
    """Return whether a call's function is the script's own, so that what it does was followed."""
    return not call.name.startswith((".", "torch.")) and "." not in call.name


REPORTED = re.compile(r"\bloss|loss\b|_loss|total|correct|\bacc|accuracy|metric|count|\bnum_|stats?\b")
"""Names of numbers that are summed over the ranks to be shown."""


def of_numbers(call: Call) -> bool:
    """Return whether a collective surely brings no gradients together: it waits, or sums what is reported."""
    if call.method in ("barrier", "monitored_barrier", "new_group"):
        return True
    given = call.arguments.get("tensor") or call.arguments.get("obj")
    if given is not None and given.value.of_batch:
        return True  # computed from what the model returned
    return given is not None and REPORTED.search(given.text.lower()) is not None


def summed_tensor(call: Call) -> str:
    """Return the source of what a collective is given, empty where it is not seen."""
    given = call.arguments.get("tensor") or call.arguments.get("tensor_list")
    return given.text if given is not None else ""


def of_gradients(script: Script, call: Call) -> bool:
    """Return whether a collective is given gradients, each by itself or laid out in one tensor."""
    if ".grad" in summed_tensor(call):
        return True
    given = call.arguments.get("tensor")
    flat = next(iter(origins(script, given.value)), None) if given is not None else None
    return (
        flat is not None
        and flat.method in ("_flatten_dense_tensors", "parameters_to_vector", "cat")
        and any("grad" in argument.text for argument in flat.arguments.values())
    )


def gradients_divided(script: Script, summed: Call) -> bool:
    """Return whether summed gradients may be divided: they are averaged, or what they or the loss come of is."""
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


__all__ = [
    "ONLY_ASKED",
    "called_first",
    "goes_back",
    "goes_past",
    "gradients_divided",
    "of_gradients",
    "of_numbers",
    "shares_gradients",
    "summed_tensor",
    "unused_wrappers",
    "wrapper_in_use",
]
