"""Where a script puts its models, and which of its classes a wrapper holds."""

from collections.abc import Iterator

from gpudoctor.facts.script import Call, ModuleClass, Script
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
    for call in script.calls:
        if call.method in PLACING and thing.number in call.receiver.things:
            given = call.arguments.get("device")
            if call.method == "cuda" or call.starred or (given is not None and "dtype" not in given.text):
                found.append(call)
    return found


def target(call: Call) -> Value:
    """Return the device that a call of ``to`` or ``cuda`` names; unknown where it names none."""
    return call.value("device")


def stays(script: Script, thing: Thing) -> bool:
    """Return whether a model surely is on the CPU where it is made: nothing tells another device."""
    made = script.made_by(thing)
    if made is None or made.starred or thing.escapes or next(script.named(*DEFAULTS), None) is not None:
        return False
    if any("device" in name for name in made.arguments) or any(
        "torch.device" in text for text in made.contexts
    ):
        return False
    own = class_of(script, thing)
    placed = own is not None and any(
        call.method in PLACING and call.scope.startswith(f"{own.name}.") for call in script.calls
    )
    known = own is not None or thing.type.startswith(("torch.nn.", "torchvision."))
    return not placed and known and not _moved_with_another(script, thing)


def _moved_with_another(script: Script, thing: Thing) -> bool:
    """Return whether a model is a part of an object that is put onto a device as a whole."""
    holders: set[int] = set()
    for call in script.calls:
        if call.method == "__set__" and thing.number in call.value("value").things:
            holders.update(call.receiver.things)
        elif call.method in PLACING and holders.intersection(call.receiver.things):
            return True
    return False


__all__ = ["LAYERS", "class_of", "moves", "stays", "target", "wrapped_classes"]
