"""Let torch's own ``load_state_dict`` have the last word on a comparison with a real model."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import COUNTER, by_name
from gpudoctor.checkpoint.comparison.key_comparison import Draft, compare_keys
from gpudoctor.checkpoint.comparison.sentences import refused
from gpudoctor.checkpoint.comparison.snippets import loosened
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict
from gpudoctor.facts.comparison import Comparison, Outcome
from gpudoctor.text import count, listed

KEYS_MOST = 30_000
"""Keys that are tried for all state dicts of a file; of more, those of the best one alone."""


class Verdict(Struct, frozen=True):
    """What torch said of one trial."""

    error: str = ""
    """Of a strict load; empty where it loads."""
    refused: str = ""
    """Of a load with strict=False; empty where that loads."""
    missing: list[str] = []
    unexpected: list[str] = []


class Asked(Struct, frozen=True):
    """The trials for one state dict, by their places in the list of all."""

    draft: Draft
    plain: int
    lines: int
    unwrapped: list[tuple[str, int]]
    """Prefixes of wrappers, and the trials without them."""


def trials(drafts: Sequence[Draft], questions: list[dict[str, Any]]) -> list[Asked]:
    """Add what torch is to be asked, as the patient's script takes it, the best draft first; return what is what."""
    asked: list[Asked] = []

    def ask(state: StateDict, pairs: Sequence[tuple[str, str]], versions: dict[str, int]) -> int:
        keys = by_name(state)
        rows = [(new, keys[old].dtype, keys[old].shape, keys[old].layout) for old, new in pairs]
        questions.append({"keys": rows, "versions": versions})
        return len(questions) - 1

    total = 0
    for draft in drafts:
        state, advice = draft.state, draft.advice
        total += len(state.keys)
        if asked and total > KEYS_MOST:
            break
        names = list(by_name(state))
        plain = ask(state, [(name, name) for name in names], state.versions)
        lines = ask(state, advice.given, {}) if advice.anew else plain
        unwrapped = [
            (prefix.text, ask(state, [(name, name.removeprefix(prefix.text)) for name in names], {}))
            for prefix in (() if draft.fits else state.prefixes)
            if prefix.keys == prefix.total and not prefix.text.startswith("*")
        ]
        asked.append(Asked(draft, plain, lines, unwrapped))
    return asked


def as_torch_says(
    asked: Asked, verdicts: Sequence[Verdict], other: StateDict, file: CheckpointFile, target: str
) -> Comparison:
    """Return the comparison as torch has it."""
    draft = asked.draft
    if draft.state.sharded:  # of parts, torch is given other shapes than those that the file tells
        return draft.comparison
    said = verdicts[asked.lines]
    prefix = next((text for text, number in asked.unwrapped if not verdicts[number].error), "")
    if not verdicts[asked.plain].error:
        found = _as_it_is(draft, other, file, target)
    elif prefix and not (draft.fits and draft.advice.strict):
        found = _unwrapped(draft, file, target, prefix)
    elif draft.advice.strict and said.error:
        found = _refused(draft, said, file)
    elif draft.advice.strict or not draft.comparison.load_line:
        found = draft.comparison
    elif said.refused:
        note = f"torch refuses what the lines would load: {said.refused}"
        found = replace(draft.comparison, load_line="", notes=(*draft.comparison.notes, note))
    else:
        notes = [f"torch, with these lines: {words}"] if (words := _lists(said)) else []
        found = replace(draft.comparison, notes=(*draft.comparison.notes, *notes))
    return replace(found, settled=True)


def _as_it_is(draft: Draft, other: StateDict, file: CheckpointFile, target: str) -> Comparison:
    """Return the comparison of a state dict that torch loads as it is, whatever its names look like."""
    if draft.comparison.outcome is Outcome.LOADS:
        return draft.comparison
    ours, theirs = by_name(draft.state), by_name(other)
    missing, unexpected = [n for n in theirs if n not in ours], [n for n in ours if n not in theirs]
    if all(name.endswith(COUNTER) for name in missing) and not unexpected:
        why = f"torch fills in {count(len(missing), 'counter')} of BatchNorm that it lacks"
    else:
        what = [f"{count(len(unexpected), 'key')} in the file alone"] if unexpected else []
        what += [f"{count(len(missing), 'key')} in the model alone"] if missing else []
        why = f"the model itself takes care of the names that differ ({', '.join(what) or 'shapes'})"
    return _with_itself(draft, draft.state, file, target, why)


def _unwrapped(draft: Draft, file: CheckpointFile, target: str, prefix: str) -> Comparison:
    """Return the comparison of a state dict that torch loads without a wrapper's prefix."""
    state = draft.state
    bare = StateDict(
        entry="", keys=tuple(replace(key, name=key.name.removeprefix(prefix)) for key in state.keys),
        others=tuple(name.removeprefix(prefix) for name in state.others),
    )  # fmt: skip
    return _with_itself(draft, bare, file, target, "the model itself takes care of other names")


def _with_itself(draft: Draft, names: StateDict, file: CheckpointFile, target: str, why: str) -> Comparison:
    """Return the comparison of a state dict with names that the model takes, though they are not the model's own."""
    found, was = compare_keys(draft.state, names, file, target).comparison, draft.comparison
    sentence = f"{found.sentence.rstrip('.')}; {why}."
    return replace(found, sentence=sentence, target_keys=was.target_keys, matched=was.matched)


def _refused(draft: Draft, verdict: Verdict, file: CheckpointFile) -> Comparison:
    """Return the comparison of names that agree, and that torch refuses all the same."""
    was = draft.comparison
    loose = "" if verdict.refused else loosened(was.load_line)
    notes = [f"with strict=False torch refuses it too: {verdict.refused}"] if verdict.refused else []
    return replace(
        was, outcome=Outcome.ARCHITECTURE, load_line=loose, notes=(*was.notes, *notes),
        sentence=f"The names agree, and torch refuses it all the same: {_lists(verdict) or verdict.error}.",
        fix_line=was.fix_line if loose and not refused(file, draft.state.entry) else "",
    )  # fmt: skip


def _lists(verdict: Verdict) -> str:
    """Say which keys torch misses, and which it does not expect."""
    sides = (("missing", verdict.missing), ("unexpected", verdict.unexpected))
    return ", ".join(f"{count(len(keys), 'key')} {name} ({listed(keys)})" for name, keys in sides if keys)
