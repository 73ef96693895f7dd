"""The lines of Python that load a state dict into ``model``."""

import os.path
from typing import Literal

from gpudoctor.checkpoint.comparison.alignment import Alignment
from gpudoctor.checkpoint.comparison.renames import drop_component
from gpudoctor.checkpoint.comparison.shapes import OBJECT
from gpudoctor.facts.checkpoint_file import CheckpointFile, Format

Taken = Literal["all", "names", "shapes"]
"""What of the state dict is given to the model: all of it, what it has by name, or what it has by name and shape."""
OPENED_BY_TORCH = (Format.TORCH_ZIP, Format.TORCH_LEGACY)
"""Kinds of file that torch.load opens."""
SAFETENSORS = "from safetensors.torch import load_file"


def load_lines(file: CheckpointFile, entry: str, alignment: Alignment, taken: Taken, *, strict: bool) -> str:
    """Return the lines that load a state dict, as a user would write them; empty where no library reads it."""
    if file.kind == Format.DISTRIBUTED:
        return _distributed(file.path, entry, alignment) if strict else ""
    lines = state_lines(file, entry)
    if not lines:
        return ""
    names = [*alignment.before, *alignment.left]
    for step in alignment.steps:
        condition = f" if k.startswith({step.strip!r})" if step.strip and alignment.left else ""
        lines.append(f"state = {{{step.python(names)}: v for k, v in state.items(){condition}}}")
        names = step.apply(names)
    if alignment.wrappers:
        lines += _rewrapped(alignment)
    if taken != "all":
        objects = any(key.layout == OBJECT for key in alignment.own.values())
        lines += ["own = model.state_dict()", _filter(taken, objects=objects)]
    if any("re.sub(" in line for line in lines):
        lines.insert(0, "import re")
    lines.append(f"model.load_state_dict(state{'' if strict else ', strict=False'})")
    return "\n".join(lines)


def loosened(lines: str) -> str:
    """Return lines that load strictly with strict=False; empty for those that do not call ``load_state_dict``."""
    call = "model.load_state_dict(state)"
    return f"{lines.removesuffix(')')}, strict=False)" if lines.endswith(call) else ""


def state_lines(file: CheckpointFile, entry: str) -> list[str]:
    """Return the lines that make a file's state dict ``state``, with its own library.

    `entry` is the path of the state dict in the file. A file that ``torch.load(weights_only=True)`` refuses is opened
    without that.
    """
    path, kind = file.path, file.kind
    if kind == Format.SAFETENSORS:
        return [SAFETENSORS, f"state = load_file({path!r})"]
    if kind == Format.TORCHSCRIPT:
        return [f"state = torch.jit.load({path!r}, map_location='cpu').state_dict()"]
    if kind == Format.SHARDED:
        return _sharded(path)
    if kind not in OPENED_BY_TORCH:
        return []
    keys = "".join(f"[{key!r}]" for key in entry_keys(entry, file))
    module = file.is_module(entry)
    safe = not module and not file.foreign
    inner = ".state_dict()" if module else ""
    return [f"state = torch.load({path!r}, map_location='cpu', weights_only={safe}){keys}{inner}"]


def entry_keys(entry: str, file: CheckpointFile) -> list[str | int]:
    """Return the keys that lead to an entry; one may hold a dot, and in a list it is a number."""
    known = {known.path for known in file.entries}
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


def _rewrapped(alignment: Alignment) -> list[str]:
    """Return the lines that give names the components that the target's wrappers put into its own."""
    names = list(alignment.other)
    lines = []
    pairs = "k for k in model.state_dict()"
    for wrapper in alignment.wrappers:
        step = drop_component(wrapper)
        lines.append(f"names = {{{step.python(names)}: {pairs}}}")
        names, pairs = step.apply(names), "v for k, v in names.items()"
    return [*lines, "state = {names.get(k, k): v for k, v in state.items()}"]


def _filter(taken: Taken, *, objects: bool) -> str:
    """Return the line that keeps what the model has; `objects`: some entries are no tensors, and have no shape."""
    shapes = " and v.shape == own[k].shape" if taken == "shapes" else ""
    if shapes and objects:
        shapes = " and getattr(v, 'shape', None) == getattr(own[k], 'shape', None)"
    return f"state = {{k: v for k, v in state.items() if k in own{shapes}}}"


def _sharded(path: str) -> list[str]:
    """Return the lines for the shards that an index names, each read once, without what lies beside them."""
    folder = os.path.dirname(path)
    place = f"{folder + os.sep!r} + file" if folder else "file"
    torch_made = path.endswith((".bin.index.json", ".pt.index.json", ".pth.index.json"))
    load = f"load_file({place})"
    if torch_made:
        load = f"torch.load({place}, map_location='cpu', weights_only=True)"
    return [
        "import json",
        *([] if torch_made else [SAFETENSORS]),
        "state = {}",
        f"for file in set(json.load(open({path!r}))['weight_map'].values()):",
        f"    state.update({load})",
    ]


def _distributed(path: str, entry: str, alignment: Alignment) -> str:
    """Return the lines that read a distributed checkpoint straight into the model, whose keys have a prefix there."""
    if len(alignment.steps) > 1 or alignment.wrappers or not all(step.strip for step in alignment.steps):
        return ""
    prefix = (f"{entry}." if entry else "") + "".join(step.strip for step in alignment.steps)
    keys = f"{{{prefix!r} + k: v for k, v in state.items()}}" if prefix else "state"
    return (
        "import torch.distributed.checkpoint as dcp\nstate = model.state_dict()\n"
        f"dcp.load({keys}, checkpoint_id={path!r})"
    )
