"""The one line of Python that loads a state dict into ``model``."""

import os.path
from collections.abc import Sequence

from gpudoctor.checkpoint.comparison.leaving import Leaving
from gpudoctor.checkpoint.comparison.renaming import Step, python_all
from gpudoctor.facts.checkpoint_file import CheckpointFile


def state_expression(file: CheckpointFile | None, entry: str) -> str:
    """Return how a state dict of a file is had.

    `entry` is the path of the state dict in the file. Of a set of files, the expression is that of its own library. A
    file that ``torch.load(weights_only=True)`` refuses is opened without that.
    """
    path = file.path if file is not None else "checkpoint.pt"
    kind = file.kind if file is not None else "torch zip"
    if kind == "safetensors":
        return f"__import__('safetensors.torch').torch.load_file({path!r})"
    if kind == "torchscript":
        return f"torch.jit.load({path!r}, map_location='cpu').state_dict()"
    if kind == "sharded":
        return _sharded(path)
    if kind in ("distributed", "pickle"):
        return ""
    keys = "".join(f"[{key!r}]" for key in entry_keys(entry, file))
    module = is_module(file, entry)
    safe = not module and not (file is not None and file.foreign)
    inner = ".state_dict()" if module else ""
    return f"torch.load({path!r}, map_location='cpu', weights_only={safe}){keys}{inner}"


def is_module(file: CheckpointFile | None, entry: str) -> bool:
    """Tell whether an entry of a file is a whole pickled module, and no state dict."""
    return file is not None and any(known.path == entry and known.kind == "module" for known in file.entries)


def entry_keys(entry: str, file: CheckpointFile | None) -> list[str | int]:
    """Return the keys that lead to an entry; one may hold a dot, and in a list it is a number."""
    known = {known.path for known in file.entries} if file is not None else set()
    parts = entry.split(".") if entry else []
    keys: list[str | int] = []
    path, held = "", ""
    for number, part in enumerate(parts):
        held = f"{held}.{part}" if held else part
        full = f"{path}.{held}" if path else held
        if full in known or not known or number == len(parts) - 1:
            keys.append(int(held) if held.isdecimal() and len(held) < 10 else held)
            path, held = full, ""
    return keys


def _sharded(path: str) -> str:
    """Return the expression for the shards that an index names, each read once, without what lies beside them."""
    if os.path.isdir(path):
        path = next(
            (os.path.join(path, n) for n in sorted(os.listdir(path)) if n.endswith(".index.json")), path
        )
    folder = os.path.dirname(path)
    place = f"{folder + os.sep!r} + f" if folder else "f"
    if path.endswith((".bin.index.json", ".pt.index.json", ".pth.index.json")):
        load = f"torch.load({place}, map_location='cpu', weights_only=True)"
    else:
        load = f"__import__('safetensors.torch').torch.load_file({place})"
    shards = f"sorted(set(__import__('json').load(open({path!r}))['weight_map'].values()))"
    return f"{{k: v for f in {shards} for k, v in {load}.items()}}"


def load_line(
    state: str,
    steps: Sequence[Step],
    names: Sequence[str],
    leaving: Leaving | None,
    *,
    strict: bool = True,
    objects: bool = False,
) -> str:
    """Return the line that loads a state dict; empty where `state` is.

    `steps` change its `names`; `leaving` is what is left out, ``None``: whatever ``model`` has no entry of that name
    and shape for; `objects` says that some entries have no shape.
    """
    if not state:
        return ""
    tail = "" if strict else ", strict=False"
    if not steps and leaving is not None and not leaving:
        return f"model.load_state_dict({state}{tail})"
    name = python_all(steps, names)
    begin = "import re; " if "re.sub(" in name else ""
    conditions = leaving.conditions() if leaving is not None else []
    if leaving is None:
        begin += "own = model.state_dict(); "
        shape = "getattr({}, 'shape', 0)" if objects else "{}.shape"
        conditions.append(f"(n := {name}) in own and {shape.format('v')} == {shape.format('own[n]')}")
        name = "n"
    condition = f" if {' and '.join(conditions)}" if conditions else ""
    return f"{begin}model.load_state_dict({{{name}: v for k, v in {state}.items(){condition}}}{tail})"


def loosened(line: str) -> str:
    """Return a line that loads strictly with strict=False; empty for one that does not call ``load_state_dict``."""
    begin, call, rest = line.rpartition("model.load_state_dict(")
    return f"{begin}{call}{rest.rpartition(')')[0]}, strict=False)" if call else ""


def distributed_line(path: str, prefix: str) -> str:
    """Return the line that reads a distributed checkpoint straight into the model, whose keys have a prefix there."""
    keys = f"{{{prefix!r} + k: v for k, v in model.state_dict().items()}}" if prefix else "model.state_dict()"
    return f"import torch.distributed.checkpoint as dcp; dcp.load({keys}, checkpoint_id={path!r})"


def in_order(state: str) -> str:
    """Return the line that loads tensors by their order alone, whatever they are called."""
    if not state:
        return ""
    pairs = f"zip(model.state_dict(), {state}.values())"
    return f"model.load_state_dict(dict({pairs}))"
