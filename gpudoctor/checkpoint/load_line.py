"""The one line of Python that loads a state dict into ``model``, and the ``gpudoctor checkpoint fix`` line."""

import os.path
import shlex
from collections.abc import Sequence

from gpudoctor.checkpoint.naming import Step, python_all
from gpudoctor.facts.checkpoint_file import CheckpointFile

MENDED = ("torch zip", "torch legacy", "safetensors")
"""Kinds of file that ``gpudoctor checkpoint fix`` writes copies of."""
NAMED = 4
"""Keys that a line names one by one."""


def state_expression(file: CheckpointFile | None, entry: str) -> str:
    """Return the Python expression that gives a state dict of a file, on the CPU.

    `entry` is the path of the state dict in the file. Of a set of files, the expression is that of its own library.
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
    known = {known.path for known in file.entries} if file is not None else set()
    keys = "".join(f"[{key!r}]" for key in entry_keys(entry, known))
    if is_module(file, entry):
        return f"torch.load({path!r}, map_location='cpu', weights_only=False){keys}.state_dict()"
    return f"torch.load({path!r}, map_location='cpu', weights_only=True){keys}"


def is_module(file: CheckpointFile | None, entry: str) -> bool:
    """Tell whether an entry of a file is a whole pickled module, and no state dict."""
    return file is not None and any(known.path == entry and known.kind == "module" for known in file.entries)


def entry_keys(entry: str, known: set[str]) -> list[str]:
    """Return the keys that lead to an entry; `known` are the paths of all entries, since a key may hold a dot."""
    parts = entry.split(".") if entry else []
    keys: list[str] = []
    path, held = "", ""
    for number, part in enumerate(parts):
        held = f"{held}.{part}" if held else part
        full = f"{path}.{held}" if path else held
        if full in known or not known or number == len(parts) - 1:
            keys.append(held)
            path, held = full, ""
    return keys


def _sharded(path: str) -> str:
    folder = os.path.dirname(path) if path.endswith(".json") else path
    pattern = os.path.join(folder, "*.safetensors")
    load = "__import__('safetensors.torch').torch.load_file(f)"
    return f"{{k: v for f in __import__('glob').glob({pattern!r}) for k, v in {load}.items()}}"


def load_line(
    state: str,
    steps: Sequence[Step],
    names: Sequence[str],
    *,
    without: Sequence[str] = (),
    ends: Sequence[str] = (),
    fitting: bool = False,
    strict: bool = True,
) -> str:
    """Return the line that loads the state dict that the expression `state` gives.

    `steps` change its `names`; `without` are own names to leave out, and `ends` what other names that are left out end
    with; `fitting` leaves out what ``model`` has no tensor of that name and shape for. Empty where `state` is.
    """
    if not state:
        return ""
    tail = "" if strict else ", strict=False"
    if not steps and not without and not ends and not fitting:
        return f"model.load_state_dict({state}{tail})"
    name = python_all(steps, names)
    conditions = [f"not k.endswith({end!r})" for end in ends]
    if without:
        conditions.append(f"k not in {set(without)!r}" if len(without) > 1 else f"k != {without[0]!r}")
    begin = "import re; " if "re.sub(" in name else ""
    if fitting:
        begin += "own = model.state_dict(); "
        conditions.append(f"(n := {name}) in own and v.shape == own[n].shape")
        name = "n"
    condition = f" if {' and '.join(conditions)}" if conditions else ""
    return f"{begin}model.load_state_dict({{{name}: v for k, v in {state}.items(){condition}}}{tail})"


def in_order(state: str) -> str:
    """Return the line that loads tensors by their order alone, whatever they are called."""
    return f"model.load_state_dict(dict(zip(model.state_dict(), {state}.values())))" if state else ""


def rename_options(steps: Sequence[Step]) -> list[str]:
    """Return the options of ``gpudoctor checkpoint fix`` that do the steps, in order."""
    if all(step.strip or step.add for step in steps):
        pairs = [
            ("--strip-prefix", step.strip) if step.strip else ("--add-prefix", step.add) for step in steps
        ]
        return [word for pair in pairs for word in pair]
    return [word for step in steps for word in ("--rename", f"{step.pattern}={step.new}")]


def fix_line(
    file: CheckpointFile | None, entry: str, steps: Sequence[Step], without: Sequence[str] = ()
) -> str:
    """Return the line that writes a copy with the target's names, and without the keys `without`.

    Empty where there is nothing to do to the file, or too much for one line.
    """
    if not (entry or steps or without) or len(without) > NAMED:
        return ""
    if any("=" in step.pattern for step in steps):  # --rename could not tell which of them parts old from new
        return ""
    path = file.path if file is not None else "checkpoint.pt"
    if is_module(file, entry) or (file is not None and file.kind not in MENDED):
        return ""
    stem, extension = os.path.splitext(path)
    words = ["gpudoctor", "checkpoint", "fix", path, "-o", f"{stem}-fixed{extension}"]
    words += [word for name in without for word in ("--drop", f"{entry}.{name}" if entry else name)]
    if entry:
        words += ["--select", entry]
    return shlex.join([*words, *rename_options(steps)])
