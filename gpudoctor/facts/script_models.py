"""Where a script puts its models, and which of its classes a wrapper holds."""

import re
from collections.abc import Iterator

from gpudoctor.facts.script import WRAPPERS, Script
from gpudoctor.facts.script_calls import Argument, Call
from gpudoctor.facts.script_classes import ModuleClass
from gpudoctor.facts.script_conditions import Condition
from gpudoctor.facts.script_values import Thing, Value

PLACING = ("to", "cuda", "to_empty")
DEFAULTS = ("torch.set_default_device", "torch.set_default_tensor_type")
LAYERS = (
    "Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d "
    "BatchNorm2d BatchNorm3d SyncBatchNorm LayerNorm GroupNorm RMSNorm Embedding EmbeddingBag LSTM GRU RNN "
    "LSTMCell GRUCell RNNCell MultiheadAttention Transformer TransformerEncoder TransformerEncoderLayer "
    "TransformerDecoder TransformerDecoderLayer PReLU"
).split()
"""Modules of torch.nn that have parameters by default."""
NO_GRADIENTS = frozenset(
    {"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"}
)
"""What records nothing that a backward pass could follow."""


def class_of(script: Script, thing: Thing) -> ModuleClass | None:
    """Return the script's own class that a model is of, ``None`` for a library's."""
    return next((item for item in script.classes if item.name == thing.type), None)


def wrapped_classes(script: Script, *kinds: str) -> Iterator[ModuleClass]:
    """Yield the script's classes that wrappers of these kinds hold, and those that these are made of."""
    waiting = [script.innermost(thing).type for thing in script.of_kind(*kinds)]
    by_name = {item.name: item for item in script.classes}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        item = by_name.get(name)
        if item is None or name in seen:
            continue
        seen.add(name)
        yield item
        waiting += [attribute.type for attribute in item.attributes if attribute.module]


def moves(script: Script, thing: Thing) -> list[Call]:
    """Return the calls that put a model onto a device, in their order."""
    found = []
    for call in script.uses(thing):
        if call.method in PLACING and thing.number in call.receiver.things:
            given = call.arguments.get("device")
            if call.method == "cuda" or call.starred or (given is not None and "dtype" not in given.text):
                found.append(call)
    return found


def target(call: Call) -> Value:
    """Return the device that a call of ``to`` or ``cuda`` names; unknown where it names none."""
    return call.value("device")


def _of_placed_parts(script: Script, made: Call) -> bool:
    """Return whether a model is made of another that may be on a device already."""
    given = {number for argument in made.arguments.values() for number in argument.value.things}
    parts = [part for part in script.things if part.number in given and part.kind == "model"]
    return any(moves(script, part) or not stays(script, part) for part in parts)


def stays(script: Script, thing: Thing) -> bool:
    """Return whether a model surely is on the CPU where it is made: nothing tells another device."""
    made = script.made_by(thing)
    if thing.kind in WRAPPERS:
        return False  # what it wraps is not known
    if made is None or made.starred or thing.escapes or next(script.named(*DEFAULTS), None) is not None:
        return False
    if any("device" in name for name in made.arguments) or any(
        "torch.device" in text for text in made.contexts
    ):
        return False
    if _of_placed_parts(script, made):
        return False
    own = class_of(script, thing)
    placed = own is not None and any(
        call.method in PLACING and call.of_class(own.name) for call in script.calls
    )
    if own is not None and not _has_parameters(script, made):
        return False
    known = own is not None or thing.type.startswith(("torch.nn.", "torchvision."))
    parts = [script.things[n] for argument in made.arguments.values() for n in argument.value.things]
    moved = any(moves(script, part) or _moved_with_another(script, part) for part in parts)
    return not placed and known and not moved and not _moved_with_another(script, thing)


PARAMETRIC = re.compile(
    r"torch\.nn\.(?:Parameter$|\w*(?:Linear|Conv|Norm|Embedding|LSTM|GRU|RNN|Attention|Transformer|PReLU))"
)
"""Classes of torch that have parameters."""


def _has_parameters(script: Script, made: Call) -> bool:
    """Return whether a module of the script surely holds any: a loss without them computes wherever its input is."""
    if any(script.thing(argument.value) is not None for argument in made.arguments.values()):
        return True  # it is given a part
    inside = (call for call in script.calls if made.place in call.stack)
    return any(
        PARAMETRIC.match(call.name) or call.name.startswith(("torchvision.models.", "timm.", "transformers."))
        for call in inside
    )


SEVERAL = re.compile(r">\s*1\b|distributed|parallel|multi|ddp", re.I)
"""What a test asks that holds where there are several GPUs or ranks, not where there is one."""


def moved_under(script: Script, call: Call) -> Condition | None:
    """Return the test for several GPUs under which alone a model is put onto its device, of one called without it."""
    wrapper = script.thing(call.receiver, "dp", "ddp")
    made = script.made_by(wrapper) if wrapper is not None else None
    if wrapper is None or made is None:
        return None
    model = script.innermost(wrapper)
    built = script.made_by(model)
    around = [thing for thing in script.of_kind(*WRAPPERS) if script.innermost(thing) == model]
    placing = [c for thing in (model, *around) for c in moves(script, thing)]
    for test in made.conditions:
        several = test.kind == "if" and SEVERAL.search(test.text) and not (test.early or test.negated)
        if not several or test in call.conditions or built is None or test in built.conditions:
            continue
        if placing and all(test in c.conditions for c in placing) and stays(script, model):
            return test
    return None


def on_cpu(script: Script, thing: Thing) -> bool:
    """Return whether a model surely is on the CPU still, wrapped or not."""
    model = script.innermost(thing)
    if thing.escapes or model.escapes or any(True for item in (thing, model) for _ in moves(script, item)):
        return False
    by_hand = any(call.name.endswith(".data.__set__") for call in script.calls)  # p.data = p.data.cuda()
    return stays(script, model) and not _inside(script, model) and not by_hand


def cpu_input(script: Script, call: Call) -> tuple[Argument | None, Call | None]:
    """Return what a model on the GPU is given that a factory made on the CPU, and what put the model there."""
    model = script.thing(call.receiver) if call.method == "__call__" else None
    if model is None or call.receiver.things != (call.receiver.thing,) or next(script.named(*DEFAULTS), None):
        return None, None
    inner, made = script.innermost(model), script.made_by(model)
    bare = model.kind == "model" or (model.kind == "ddp" and made is not None and _moves_no_input(made))
    placed = moves(script, inner)
    if not bare or not placed or inner.escapes or (model is not inner and moves(script, model)):
        return None, None
    own = class_of(script, inner)
    within = own is not None and any(c.method in PLACING and c.of_class(own.name) for c in script.calls)
    raw = next(
        (argument for argument in call.arguments.values() if _made_on_cpu(script, argument.value)), None
    )
    if within or not all(_surely_gpu(c) for c in placed) or not (own or inner.type.startswith("torch.nn.")):
        return None, None
    return raw, placed[0]


FACTORIES = frozenset(
    f"torch.{name}" for name in "zeros ones rand randn full empty arange linspace eye".split()
)
"""Functions that make a tensor, on the CPU where nothing else is said."""


def _surely_gpu(call: Call) -> bool:
    return call.method == "cuda" or target(call).is_rank or target(call).cuda


def _moves_no_input(made: Call) -> bool:
    """Return whether DistributedDataParallel leaves its inputs where they are: it was told no device."""
    return not made.starred and ("device_ids" not in made.arguments or made.value("device_ids").is_none)


def _made_on_cpu(script: Script, value: Value) -> bool:
    """Return whether a tensor is what one of torch's factories made, on the CPU."""
    made = script.calls[value.made] if value.made >= 0 and not value.items else None
    if made is None or made.name not in FACTORIES or made.starred or made.given("device"):
        return False
    return not any("torch.device" in name for name in made.contexts)


def _inside(script: Script, model: Thing) -> bool:
    """Return whether a model is a part of another thing, which may be moved as a whole."""
    return any(
        call.takes(model)
        for call in script.calls
        if call.name.startswith("torch.nn.") and "Parallel" not in call.name
    ) or any(call.method == "__set__" and call.value("value").thing == model.number for call in script.calls)


def _moved_with_another(script: Script, thing: Thing) -> bool:
    """Return whether a model is a part of an object that is put onto a device as a whole."""
    holders: set[int] = set()
    for call in script.calls:
        if call.method == "__set__" and thing.number in call.value("value").things:
            holders.update(call.receiver.things)
        elif call.method in PLACING and holders.intersection(call.receiver.things):
            return True
    return False


def without_gradients(script: Script, loop: Call) -> bool:
    """Return whether a loop over a loader trains nothing: no_grad is around it, or around all its forward passes."""
    if NO_GRADIENTS & {*loop.contexts}:
        return True
    inside = [call for call in script.calls if loop.loops and loop.loops[-1] in call.loops]
    wrapped = (script.thing(call.receiver, "model", *WRAPPERS) for call in inside)
    forwards = [
        call
        for call, model in zip(inside, wrapped, strict=True)
        if call.method == "__call__" and model is not None
    ]
    quiet = bool(forwards) and all(NO_GRADIENTS & {*call.contexts} for call in forwards)
    told = bool(forwards) and any(
        call.method == "eval"
        and call.scope == loop.scope
        and call.number < loop.number
        and call.receiver.things
        for call in script.methods("eval")
    )
    return (quiet or told) and not any(call.method in ("backward", "step") for call in inside)


__all__ = [
    "DEFAULTS", "FACTORIES", "LAYERS", "NO_GRADIENTS", "class_of", "cpu_input", "moved_under", "moves", "on_cpu",
    "stays", "target", "without_gradients", "wrapped_classes",
]  # fmt: skip
