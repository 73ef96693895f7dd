"""Compare a checkpoint with another one, or with a model that the patient builds without its weights."""

import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import msgspec
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import ONE
from gpudoctor.checkpoint.comparison.key_comparison import Draft, compare_keys
from gpudoctor.checkpoint.comparison.ranking import largest, ranked, with_others
from gpudoctor.checkpoint.comparison.torch_word import Asked, Verdict, as_torch_says, trials
from gpudoctor.checkpoint.formats.paths import STDIN, paths_of
from gpudoctor.checkpoint.look import Looked, look
from gpudoctor.checkpoint.tree import WIDTHS, Unreadable
from gpudoctor.child import Child, run
from gpudoctor.facts.checkpoint_file import CheckpointFile, Key, StateDict
from gpudoctor.facts.comparison import Comparison
from gpudoctor.interpreter import Patient, choose_patient
from gpudoctor.patient_process import SCRIPTS, Conversation, Message, asking
from gpudoctor.report import Say
from gpudoctor.text import listed

DEADLINE = 120.0
"""Seconds for importing torch and the user's code and building the model."""


class _Message(msgspec.Struct):
    """What the patient's script tells beside what it is doing."""

    torch: str = ""
    note: str = ""
    keys: list[tuple[str, str, tuple[int, ...] | None, str, int]] | None = None
    """Name, type, shape, layout, and a number that keys of one parameter share."""
    others: list[str] = []
    verdicts: list[Verdict] | None = None
    untried: str = ""


def compare(
    own: CheckpointFile,
    target: str,
    arguments: Mapping[str, str] | None = None,
    python: str | None = None,
    *,
    deadline: float = DEADLINE,
) -> Comparison:
    """Return whether a checkpoint loads into `target`, and if not, why.

    `target` is another checkpoint, ``package.module:factory``, or ``file.py:ClassName``. A factory is imported and
    called with `arguments` (Python literals, or else text) by the patient that `python` names: the user's own code
    runs there, on purpose, for at most `deadline` seconds; nothing of the checkpoint does. Of several state dicts those
    that match best are compared. Raises `BadInput`.
    """
    other = other_checkpoint(target, arguments)
    if other is not None and not other.whole:
        raise Unreadable(f"{target}: {listed(other.file.trouble)}")
    return compare_all([own], other.file if other else target, arguments, python, deadline=deadline)[0]


def other_checkpoint(
    target: str, arguments: Mapping[str, str] | None = None, say: Say = lambda doing: None, *, verify: bool = False
) -> Looked | None:  # fmt: skip
    """Look at the checkpoint that is the target, as at any that is named; ``None`` where a model is meant.

    Raises `BadInput` where it cannot be read, or holds nothing to compare with; one that is damaged is no error.
    """
    if target != STDIN and not os.path.exists(target):
        return None
    if target.endswith(".py"):
        raise Unreadable(f"{target}: name the class or function in it too, as in {target}:Net")
    if arguments:
        raise Unreadable(f"{target} is a checkpoint: --arg is for a model that is built")
    with paths_of([target]) as named:
        if len(named) > 1:
            inside = listed([each.shown for each in named])
            raise Unreadable(f"{target}: name one of the {len(named)} checkpoints in it: {inside}")
        seen = look(named[0], say, verify=verify)
    if seen.lost:
        raise Unreadable(seen.lost)
    if seen.whole and not seen.file.state_dicts:
        raise Unreadable(f"{seen.file.path}: holds no state dict that could be compared")
    return seen


def compare_all(
    owns: Sequence[CheckpointFile],
    target: str | CheckpointFile,
    arguments: Mapping[str, str] | None = None,
    python: str | None = None,
    *,
    deadline: float = DEADLINE,
) -> list[Comparison]:
    """Return what `compare` does of each of several checkpoints; a model is built once, in one deadline."""
    for own in owns:
        if not own.state_dicts:
            raise Unreadable(f"{own.path}: holds no state dict that could be compared")
    if isinstance(target, CheckpointFile):
        return [_beside(own, target) for own in owns]
    place, colon, factory = target.rpartition(":")
    if not colon:
        raise Unreadable(_no_target(target))
    if not place or not all(part.isidentifier() for part in factory.split(".")):
        raise Unreadable(f"{target}: name a model as package.module:factory or as file.py:ClassName")
    if place.endswith(".py") and not os.path.isfile(place):
        raise Unreadable(f"{target}: there is no file {place}")
    if not place.endswith(".py") and not all(part.isidentifier() for part in place.split(".")):
        raise Unreadable(f"{target}: {place} is neither a module's name nor a file that ends in .py")
    model = _Model(place, factory, dict(arguments or {}), owns)
    return model.compared(choose_patient(python), deadline)


def _no_target(target: str) -> str:
    if os.sep in target or target.endswith((".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".json", ".py")):
        return f"{target}: no such file"
    return f"{target}: no such file; a model is named as package.module:factory or as file.py:ClassName"


def _beside(own: CheckpointFile, other: CheckpointFile) -> Comparison:
    """Return the comparison of those state dicts of two checkpoints that match best."""
    pairs = [
        (compare_keys(a, b, own, other.path), b)
        for a, b in product(largest(own.state_dicts), largest(other.state_dicts))
    ]
    drafts = ranked([pair[0] for pair in pairs], own)
    best = drafts[0]
    entry = next(b.entry for found, b in pairs if found is best)
    found = replace(with_others(best, drafts, own), target_entry=entry)
    count = len(other.state_dicts)
    if count < 2:
        return found
    note = f"of {count} state dicts in the target, {entry or 'the outermost'} is what it was compared with"
    return replace(found, notes=(*found.notes, note))


class _Model:
    """A model that the patient builds, and the conversation with the patient about it."""

    def __init__(
        self, place: str, factory: str, arguments: dict[str, str], owns: Sequence[CheckpointFile]
    ) -> None:
        self.place, self.factory, self.arguments, self.owns = place, factory, arguments, owns
        self.name = f"{place}:{factory}"
        self.built: _Message | None = None
        self.final: _Message | None = None
        self.files: list[tuple[CheckpointFile, list[Draft], list[Asked]]] = []
        self.trials: list[dict[str, Any]] = []
        self.keys = StateDict(entry="", keys=())
        self.words = ""

    def compared(self, patient: Patient, deadline: float) -> list[Comparison]:
        """Have the model built and all names loaded, for at most `deadline` seconds; raises `Unreadable`."""
        with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
            self.questions = os.path.join(folder, "questions.json")
            request = {
                "place": self.place, "factory": self.factory, "arguments": self.arguments,
                "questions": self.questions,
            }  # fmt: skip
            command = asking(patient, SCRIPTS / "meta_model.py", msgspec.json.encode(request).decode())
            child = Child("model", command, deadline)
            conversation = Conversation(child, self.hear)
            run([child])
        if self.built is None:
            raise Unreadable(f"{self.name}: {conversation.why or 'ended before it had answered'}")
        if not self.built.keys and not self.built.others:
            raise Unreadable(f"{self.name}: this model has no parameters and no buffers")
        verdicts = self.final.verdicts if self.final is not None else None
        notes = [self.built.note] if self.built.note else []
        if verdicts is None or len(verdicts) < len(self.trials):
            why = (self.final and self.final.untried) or conversation.end or "it ended"
            notes.append(f"torch itself could not be asked whether the names load: {why}")
            verdicts = None
        return [self._settled(*each, verdicts, notes) for each in self.files]

    def hear(self, told: Message) -> None:
        """Take what the patient tells; answer the model's keys with what is to be tried."""
        message = msgspec.convert(told, _Message)
        if message.keys is not None and self.built is None:
            self.built = message
            self._ask(message)
        elif message.verdicts is not None or message.untried:
            self.final = message

    def _ask(self, message: _Message) -> None:
        rows = message.keys or []
        shared = {number for number, n in Counter(row[4] for row in rows).items() if n > 1}
        self.keys = StateDict(
            entry="", keys=tuple(_key(*row, shared) for row in rows), others=tuple(message.others)
        )
        called = ", ".join(f"{key}={value}" for key, value in self.arguments.items())
        self.words = f"{self.name}({called}), built by torch {message.torch}"
        for own in self.owns:
            found = [compare_keys(state, self.keys, own, self.words) for state in largest(own.state_dicts)]
            drafts = ranked(found, own)
            self.files.append((own, drafts, trials(drafts, self.trials)))
        with open(self.questions + ".part", "w", encoding="ascii") as file:
            json.dump(self.trials, file)
        os.rename(self.questions + ".part", self.questions)

    def _settled(
        self,
        own: CheckpointFile,
        drafts: list[Draft],
        asked: Sequence[Asked],
        verdicts: Sequence[Verdict] | None,
        notes: Sequence[str],
    ) -> Comparison:
        """Return the comparison that torch's answers leave, the best of a file's state dicts."""
        if verdicts is not None:
            done = [
                replace(a.draft, comparison=as_torch_says(a, verdicts, self.keys, own, self.words))
                for a in asked
            ]
            drafts = ranked([*done, *drafts[len(done) :]], own)
        found = with_others(drafts[0], drafts, own)
        return replace(found, notes=(*found.notes, *notes))


def _key(
    name: str, dtype: str, shape: tuple[int, ...] | None, layout: str, number: int, shared: set[int]
) -> Key:
    return Key(
        name=name, dtype=dtype if shape is not None else "", shape=shape or (), device="meta",
        size=math.prod(shape or ()) * WIDTHS.get(dtype, 0), layout=layout if shape is not None else "lazy",
        storage=f"{ONE}{number}" if number in shared else None,
    )  # fmt: skip
