"""Let torch's own ``load_state_dict`` have the last word on a comparison with a real model."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.context import refused
from gpudoctor.checkpoint.comparison.draft import Draft, draft
from gpudoctor.checkpoint.comparison.library_changes import COUNTER
from gpudoctor.checkpoint.comparison.load_line import loosened
from gpudoctor.checkpoint.comparison.sides import entries
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict
from gpudoctor.facts.comparison import Comparison
from gpudoctor.text import count, listed

KEYS_MOST = 30_000
"""Keys that are tried for all state dicts of a file; of more, those of the best one alone."""


class Verdict(Struct):
    """What torch said of one trial."""

    error: str = ""
    """Of a strict load; empty where it loads."""
    refused: str = ""
    """Of a load with strict=False; empty where that loads."""
    missing: list[str] = []
    unexpected: list[str] = []


class Asked(Struct):
    """The trials for one state dict, by their places in the list of all."""

    draft: Draft
    plain: int
    line: int
    wrapped: list[tuple[str, int]]
    """Prefixes of wrappers, and the trials without them."""


def trials(drafts: Sequence[Draft]) -> tuple[list[dict[str, Any]], list[Asked]]:
    """Return what torch is to be asked, as the patient's script takes it, the best draft first, and what is what."""
    asked: list[Asked] = []
    questions: list[dict[str, Any]] = []

    def ask(found: Draft, pairs: Sequence[tuple[str, str]], versions: dict[str, int]) -> int:
        keys = entries(found.state)
        rows = [(new, keys[old].dtype, keys[old].shape, keys[old].layout) for old, new in pairs]
        questions.append({"keys": rows, "versions": versions})
        return len(questions) - 1

    total = 0
    for found in drafts:
        total += len(found.state.keys)
        if asked and total > KEYS_MOST:
            break
        names = list(entries(found.state))
        plain = ask(found, [(name, name) for name in names], found.state.versions)
        line = ask(found, found.given, {}) if found.anew else plain
        wrapped = []
        for prefix in found.state.prefixes if not found.fits else ():
            if prefix.keys == prefix.total and not prefix.text.startswith("*"):
                bare = [(name, name.removeprefix(prefix.text)) for name in names]
                wrapped.append((prefix.text, ask(found, bare, {})))
        asked.append(Asked(found, plain, line, wrapped))
    return questions, asked


def settle(
    asked: Asked, verdicts: Sequence[Verdict], other: StateDict, file: CheckpointFile, target: str
) -> Comparison:
    """Return the comparison as torch has it."""
    found = asked.draft
    if found.state.sharded:  # of parts, torch is given other shapes than those that the file tells
        return found.comparison
    plain, line = verdicts[asked.plain], verdicts[asked.line]
    if not plain.error:
        return replace(_as_it_is(found, other, file, target), settled=True)
    if not found.fits or not found.strict:
        for prefix, number in asked.wrapped:
            if not verdicts[number].error:
                return replace(_unwrapped(found, file, target, prefix), settled=True)
    if found.strict and line.error:
        return replace(_refused(found, line, file), settled=True)
    if not found.strict and line.refused:
        said = f"torch refuses what the line would load: {line.refused}"
        return replace(found.comparison, load_line="", notes=(*found.comparison.notes, said), settled=True)
    return replace(_counted(found, line), settled=True)


def _as_it_is(found: Draft, other: StateDict, file: CheckpointFile, target: str) -> Comparison:
    """Return the comparison of a state dict that torch loads as it is, whatever its names look like."""
    if found.comparison.outcome == "loads":
        return found.comparison
    theirs = {key.name for key in other.keys} | {*other.others}
    ours = entries(found.state)
    missing, unexpected = [n for n in theirs if n not in ours], [n for n in ours if n not in theirs]
    if all(name.endswith(COUNTER) for name in missing) and not unexpected:
        why = f"torch fills in {count(len(missing), 'counter')} of BatchNorm that it lacks"
    else:
        what = [f"{count(len(unexpected), 'key')} in the file alone"] if unexpected else []
        what += [f"{count(len(missing), 'key')} in the model alone"] if missing else []
        why = f"the model itself takes care of the names that differ ({', '.join(what) or 'shapes'})"
    bare = draft(found.state, found.state, file, target).comparison
    return _of(found, replace(bare, sentence=f"{bare.sentence.rstrip('.')}; {why}."))


def _unwrapped(found: Draft, file: CheckpointFile, target: str, prefix: str) -> Comparison:
    """Return the comparison of a state dict that torch loads without a wrapper's prefix."""
    state = found.state
    bare = StateDict(
        entry="", keys=tuple(replace(key, name=key.name.removeprefix(prefix)) for key in state.keys),
        others=tuple(name.removeprefix(prefix) for name in state.others),
    )  # fmt: skip
    result = draft(state, bare, file, target).comparison
    return _of(
        found,
        replace(
            result, sentence=f"{result.sentence.rstrip('.')}; the model itself takes care of other names."
        ),
    )


def _of(found: Draft, result: Comparison) -> Comparison:
    """Return a comparison of a state dict with itself as one with the model."""
    return replace(result, target_keys=found.comparison.target_keys, matched=found.comparison.matched)


def _refused(found: Draft, verdict: Verdict, file: CheckpointFile) -> Comparison:
    """Return the comparison of names that agree, and that torch refuses all the same."""
    was = found.comparison
    what = _lists(verdict)
    said = f"The names agree, and torch refuses it all the same: {what or verdict.error}."
    loose = "" if verdict.refused else loosened(was.load_line)
    note = f"with strict=False torch refuses it too: {verdict.refused}" if verdict.refused else ""
    kept = was.fix_line if loose and not refused(file, found.state.entry) else ""
    return replace(
        was, outcome="architecture", sentence=said, load_line=loose, fix_line=kept,
        notes=(*was.notes, note) if note else was.notes,
    )  # fmt: skip


def _counted(found: Draft, verdict: Verdict) -> Comparison:
    """Add what torch says is missing or left over where a part is loaded."""
    what = _lists(verdict) if not found.strict else ""
    if not what or not found.comparison.load_line:
        return found.comparison
    return replace(found.comparison, notes=(*found.comparison.notes, f"torch, with that line: {what}"))


def _lists(verdict: Verdict) -> str:
    words = []
    for name, keys in (("missing", verdict.missing), ("unexpected", verdict.unexpected)):
        if keys:
            words.append(f"{count(len(keys), 'key')} {name} ({listed(keys)})")
    return ", ".join(words)
