"""Compare a checkpoint with another one, or with a model that the patient builds without its weights."""

import os
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import msgspec

from gpudoctor.checkpoint.compare import compare, rank
from gpudoctor.checkpoint.read import read
from gpudoctor.checkpoint.survey import survey
from gpudoctor.checkpoint.tree import WIDTHS, Unreadable
from gpudoctor.child import Child, run
from gpudoctor.facts.checkpoint_file import CheckpointFile, Key, StateDict
from gpudoctor.facts.comparison import Comparison
from gpudoctor.interpreter import Patient, Unusable, choose_patient

DEADLINE = 120.0
"""Seconds for importing torch and the user's code and building the model."""
MOST = 6
"""State dicts of one file that are compared, the largest."""
MARK = b"gpudoctor {"
SCRIPT = Path(__file__).parent.parent / "patient" / "meta_model.py"
# The working folder comes first on the path of `python -c`, as it does for a training script beside the model.
START = "import sys; exec(compile(open(sys.argv[1], encoding='utf-8').read(), sys.argv[1], 'exec'))"


class _Message(msgspec.Struct):
    """A line that the patient's script tells."""

    doing: str = ""
    failed: str = ""
    torch: str = ""
    note: str = ""
    keys: list[tuple[str, str, tuple[int, ...] | None, str]] | None = None


def against(
    own: CheckpointFile,
    target: str,
    arguments: Mapping[str, str] | None = None,
    python: str | None = None,
    *,
    deadline: float = DEADLINE,
) -> Comparison:
    """Tell whether a checkpoint loads into `target`, and if not, why.

    `target` is another checkpoint, ``package.module:factory``, or ``file.py:ClassName``. A factory is imported and
    called with `arguments` (Python literals, or else text) by the patient that `python` names: the user's own code
    runs there, on purpose, for at most `deadline` seconds; nothing of the checkpoint does. Of several state dicts those
    that match best are compared. Raises `Unreadable`.
    """
    if not own.state_dicts:
        raise Unreadable(f"{own.path}: holds no state dict that could be compared")
    if os.path.exists(target):
        return _against_file(own, target, arguments)
    place, colon, factory = target.rpartition(":")
    if not colon:
        raise Unreadable(_no_target(target))
    if not place or not all(part.isidentifier() for part in factory.split(".")):
        raise Unreadable(f"{target}: name a model as package.module:factory or as file.py:ClassName")
    if place.endswith(".py") and not os.path.isfile(place):
        raise Unreadable(f"{target}: there is no file {place}")
    if not place.endswith(".py") and not all(part.isidentifier() for part in place.split(".")):
        raise Unreadable(f"{target}: {place} is neither a module's name nor a file that ends in .py")
    given = dict(arguments or {})
    keys, words, note = model_keys(place, factory, given, _patient(python), deadline)
    if not keys:
        raise Unreadable(f"{target}: this model has no parameters and no buffers")
    found = _best(own, [StateDict(entry="", keys=keys)], words)
    return msgspec.structs.replace(found, notes=(*found.notes, note)) if note else found


def _no_target(target: str) -> str:
    if os.sep in target or target.endswith((".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".json", ".py")):
        return f"{target}: no such file"
    return f"{target}: no such file; a model is named as package.module:factory or as file.py:ClassName"


def _patient(python: str | None) -> Patient:
    try:
        return choose_patient(python)
    except Unusable as error:
        raise Unreadable(str(error)) from None


def _against_file(own: CheckpointFile, target: str, arguments: Mapping[str, str] | None) -> Comparison:
    if target.endswith(".py"):
        raise Unreadable(f"{target}: name the class or function in it too, as in {target}:Net")
    if arguments:
        raise Unreadable(f"{target} is a checkpoint: --arg is for a model that is built")
    other = survey(read(target))
    if not other.state_dicts:
        raise Unreadable(f"{target}: holds no state dict that could be compared")
    return _best(own, other.state_dicts, target)


def _best(own: CheckpointFile, others: Sequence[StateDict], words: str) -> Comparison:
    """Compare every state dict of the file with every one of the target, and return the best match."""
    ours, theirs = _largest(own.state_dicts), _largest(others)
    pairs = [(compare(a, b.keys, own, words), b) for a, b in product(ours, theirs)]
    found, other = min(pairs, key=lambda pair: rank(pair[0]))
    notes = []
    for count, side, entry in (
        (len(own.state_dicts), "file", found.entry),
        (len(others), "target", other.entry),
    ):
        if count > 1:
            notes.append(f"of {count} state dicts in the {side}, {entry or 'the outermost'} matches best")
    return msgspec.structs.replace(found, target_entry=other.entry, notes=(*found.notes, *notes))


def _largest(state_dicts: Sequence[StateDict]) -> list[StateDict]:
    if len(state_dicts) <= MOST:
        return list(state_dicts)
    kept = sorted(state_dicts, key=lambda state: -len(state.keys))[:MOST]
    return [state for state in state_dicts if state in kept]


def model_keys(
    place: str, factory: str, arguments: Mapping[str, str], patient: Patient, deadline: float = DEADLINE
) -> tuple[tuple[Key, ...], str, str]:
    """Return the keys of a model that the patient builds, what it is in words, and a note on how it was built or "".

    `place` is a module's name or a Python file, `factory` what is called there with `arguments`. It is built on the
    meta device where torch has one (2.0), so that no weights are allocated. Raises `Unreadable`.
    """
    heard: list[_Message] = []
    broken: list[str] = []

    def hear(line: bytes) -> None:
        if line.startswith(MARK):
            try:
                heard.append(msgspec.json.decode(line[len(MARK) - 1 :], type=_Message))
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                broken.append(str(error))

    request = {"place": place, "factory": factory, "arguments": dict(arguments)}
    # -B: looking at a model must not leave compiled files beside it.
    words = [patient.executable, "-B", "-c", START, str(SCRIPT), msgspec.json.encode(request).decode()]
    child = Child("model", words, deadline, hear)
    run([child])
    final = next((m for m in heard if m.keys is not None or m.failed), None)
    name = f"{place}:{factory}"
    if final is None or final.keys is None:
        raise Unreadable(f"{name}: {_why(final, child, heard, broken)}")
    called = ", ".join(f"{key}={value}" for key, value in arguments.items())
    text = f"{name}({called}), built by torch {final.torch}"
    return tuple(_key(*row) for row in final.keys), text, final.note


def _why(final: _Message | None, child: Child, heard: Sequence[_Message], broken: Sequence[str]) -> str:
    """Say in one line why the patient gave no keys."""
    if final is not None:
        return final.failed
    if broken:
        return f"the patient's answer cannot be read: {broken[0]}"
    doing = next((m.doing for m in reversed(heard) if m.doing), "")
    end = child.end or "ended before it had answered"
    last = child.stderr.decode(errors="replace").strip().splitlines()[-1:] if not child.timed_out else []
    return ": ".join([f"{end} while {doing}" if doing else end, *last])[:500]


def _key(name: str, dtype: str, shape: tuple[int, ...] | None, layout: str) -> Key:
    elements = 1
    for size in shape or ():
        elements *= size
    return Key(
        name=name, dtype=dtype if shape is not None else "", shape=shape or (), device="meta",
        size=elements * WIDTHS.get(dtype, 0), layout=layout if shape is not None else "lazy",
    )  # fmt: skip
