"""Which models of a script hold buffers, such as BatchNorm's statistics: DistributedDataParallel broadcasts them."""

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_values import Place, Thing

STATISTICS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
"""How the names of modules end that keep running statistics by default."""
NORMED = ("resnet", "resnext", "wide_resnet", "densenet", "mobilenet", "shufflenet")
"""How torchvision names its models with BatchNorm; others end in ``_bn``."""
CONVERTED = "torch.nn.SyncBatchNorm.convert_sync_batchnorm"
"""What nobody calls but for a model with BatchNorm."""
BUFFERLESS = tuple("torch. super. math. numpy. einops. functools. itertools. typing. copy.".split())
"""Libraries whose functions bring no buffers of their own into a model, BatchNorm apart."""


def batch_norm(script: Script, model: Thing) -> Place | None:
    """Return where a model surely gets its BatchNorm, ``None`` where none is seen."""
    if model.type.startswith("torchvision.models."):
        last = model.type.rpartition(".")[2]
        return model.place if last.startswith(NORMED) or last.endswith("_bn") else None
    made = script.made_by(model)
    if made is None:
        return None
    if model.type == "torch.nn.Sequential":
        parts = (script.thing(argument.value) for argument in made.arguments.values())
        return next((part.place for part in parts if part and part.type.endswith(STATISTICS)), None)
    inside = (call for call in _building(script, model, made) if call.name.endswith(STATISTICS))
    return next((call.place for call in inside if len(call.conditions) == len(made.conditions)), None)


def holds_buffers(script: Script, wrapper: Thing) -> bool | None:
    """Return whether what a wrapper holds has buffers; ``None`` where that is not known."""
    model = script.innermost(wrapper)
    made = script.made_by(model)
    if model is wrapper or made is None:
        return None
    own = next((item for item in script.classes if item.name == model.type), None)
    if own is None and any(call.takes(model) for call in script.named(CONVERTED)):
        return True
    if batch_norm(script, model) is not None:
        return True
    if model.type == "torch.nn.Sequential":
        parts = [script.thing(argument.value) for argument in made.arguments.values()]
        return False if all(part and part.type.startswith("torch.nn.") for part in parts) else None
    if model.type.startswith("torch.nn."):
        return False
    inside = _building(script, model, made)
    if any(call.method == "register_buffer" for call in inside):
        return True
    classes = {item.name for item in script.classes}
    known = own is not None and own.bases == ("torch.nn.Module",)
    return False if known and all(_plain(call, classes) for call in inside) else None


def _plain(call: Call, classes: set[str]) -> bool:
    """Return whether a call in a model's ``__init__`` surely brings no buffers."""
    if call.name.endswith(STATISTICS):
        return False  # under a test of its own
    followed = "." not in call.name or call.name in classes or call.name.rpartition(".")[0] in classes
    return followed or not call.used or call.method == "__set__" or call.name.startswith(BUFFERLESS)


def _building(script: Script, model: Thing, made: Call) -> list[Call]:
    """Return the calls that happen while a model of the script's own class is built."""
    if not any(item.name == model.type for item in script.classes):
        return []
    return [call for call in script.calls[made.number :] if made.place in call.stack]


__all__ = ["batch_norm", "holds_buffers"]
