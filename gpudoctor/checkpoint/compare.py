"""Compare the keys of a state dict with those of a model or of another checkpoint: does it load, and if not, why."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.align import Alignment, align
from gpudoctor.checkpoint.drift import extras, renames
from gpudoctor.checkpoint.key_groups import depth_notes, group_keys
from gpudoctor.checkpoint.load_line import NAMED, fix_line, in_order, is_module, load_line, state_expression
from gpudoctor.checkpoint.naming import Step
from gpudoctor.checkpoint.shape_reasons import loads, shape_differences
from gpudoctor.facts.checkpoint_file import CheckpointFile, Key, StateDict
from gpudoctor.facts.comparison import Comparison, ShapeDifference

SAME_ORDER = (
    "the same shapes in the same order: probably one model under two sets of names; "
    "the line loads by order alone, so check the result"
)


class _Sides(Struct):
    """Both sides while they are compared."""

    own: dict[str, Key]
    """The file's tensors by the names that they have after the steps."""
    other: dict[str, Key]
    steps: list[Step]
    expressed: bool
    """Whether the steps lead to these names."""
    before: list[str]
    """The names as they are in the file, in the order of `own`."""

    def alone(self) -> tuple[list[str], list[str]]:
        """Return the names that the file alone has, and those that the target alone has."""
        return [n for n in self.own if n not in self.other], [n for n in self.other if n not in self.own]

    def matched(self) -> int:
        """Return how many names both have."""
        return sum(name in self.other for name in self.own)


def compare(
    own: StateDict, other: Sequence[Key], file: CheckpointFile | None = None, target: str = "the model"
) -> Comparison:
    """Tell whether the state dict `own` loads into a module whose keys are `other`; nothing is opened or run.

    `file` is where `own` is from, for the lines that are offered; `target` says in words what `other` is. Of keys that
    bear one name, the last counts. 100,000 keys take half a second where a prefix is all, a few where nothing agrees.
    """
    keys = {key.name: key for key in own.keys}
    theirs = {key.name: key for key in other}
    found = align(list(keys), list(theirs))
    sides = _Sides(
        own=dict(zip(found.names, keys.values(), strict=True)),
        other=theirs, steps=list(found.steps), expressed=found.expressed, before=list(keys),
    )  # fmt: skip
    own_only, other_only = sides.alone()
    if own_only or other_only:
        result = _architecture(sides, own_only, other_only, own, file)
    else:
        result = _same_names(sides, found, own, file)
    return _with_context(result, sides, own, file, target)


def _with_context(
    result: Comparison, sides: _Sides, own: StateDict, file: CheckpointFile | None, target: str
) -> Comparison:
    steps = sides.steps if sides.expressed else []
    plain = all(step.strip or step.add for step in steps)
    return replace(
        result, path=file.path if file is not None else "", entry=own.entry, keys=len(sides.own), target=target,
        target_keys=len(sides.other), matched=sides.matched(),
        strip=next((step.strip for step in steps if step.strip), ""),
        add=next((step.add for step in steps if step.add), ""),
        renames=() if plain else tuple((step.pattern, step.new) for step in steps),
        notes=(*result.notes, *_notes(sides, own, file)),
    )  # fmt: skip


def _same_names(sides: _Sides, found: Alignment, own: StateDict, file: CheckpointFile | None) -> Comparison:
    """Return the outcome where the names agree, after a change of prefix or without one."""
    shapes = shape_differences(sides.own, sides.other)
    state = state_expression(file, own.entry)
    change = _change(sides.steps)
    if shapes:
        line = _leaving_out(sides, shapes, state)
        count = "1 tensor has" if len(shapes) == 1 else f"{len(shapes)} tensors have"
        once = f" once {change}" if change else ""
        sentence = f"The same {len(sides.own)} names{once}; {count} another shape."
        return Comparison(
            outcome="shape", sentence=sentence, shapes=shapes, load_line=line,
            fix_line=_fix(sides, own, file) if sides.steps else "",
        )  # fmt: skip
    line = load_line(state, sides.steps, sides.before) if sides.expressed else _into_inner(state, sides)
    change = change if found.expressed else "the target's wrappers are put into the names"
    if not found.steps and found.expressed:
        whole = " once that entry is taken out of the file" if own.entry else ""
        return Comparison(
            outcome="loads",
            sentence=f"Loads as it is{whole}.",
            load_line=line,
            fix_line=_fix(sides, own, file),
        )
    return Comparison(
        outcome="prefix", sentence=f"Loads once {change}.", load_line=line, fix_line=_fix(sides, own, file)
    )


def _change(steps: Sequence[Step]) -> str:
    """Say what the steps do to the names."""
    words = []
    for step in steps:
        if step.strip:
            words.append(f'the prefix "{step.strip}" is taken off')
        elif step.add:
            words.append(f'"{step.add}" is put in front of the names')
        elif step.literal:
            words.append(f'"{step.literal}" is taken out of the names')
        else:
            words.append("parts are renamed")
    return " and ".join(dict.fromkeys(words))


def _fix(sides: _Sides, own: StateDict, file: CheckpointFile | None, without: Sequence[str] = ()) -> str:
    return fix_line(file, own.entry, sides.steps, without) if sides.expressed else ""


def _into_inner(state: str, sides: _Sides) -> str:
    """Return the line for a target that is wrapped in too many places to name: by order, where orders agree."""
    return in_order(state) if list(sides.own) == list(sides.other) else ""


def _leaving_out(sides: _Sides, shapes: Sequence[ShapeDifference], state: str) -> str:
    """Return the line that loads everything but the tensors of another shape; empty where nothing else is left."""
    if len(shapes) >= len(sides.own) or not sides.expressed:
        return ""
    if len(shapes) > NAMED:
        return load_line(state, sides.steps, sides.before, fitting=True, strict=False)
    differing = {difference.name for difference in shapes}
    without = [before for before, name in zip(sides.before, sides.own, strict=True) if name in differing]
    return load_line(state, sides.steps, sides.before, without=without, strict=False)


def _architecture(
    sides: _Sides, own_only: list[str], other_only: list[str], own: StateDict, file: CheckpointFile | None
) -> Comparison:
    """Return the outcome where names differ otherwise than by a prefix."""
    groups = group_keys(own_only, other_only, sides.own, sides.other)
    notes = depth_notes(list(sides.own), list(sides.other))
    counts = f"{len(own_only)} keys in the file alone, {len(other_only)} in the target alone"
    drift = [
        why for step, why in renames(own_only, other_only, sides.own, sides.other) if _accepts(sides, step)
    ]
    own_rest, other_rest = sides.alone()
    dropped, own_rest, why_own = extras(own_rest, sides.other)
    filled, other_rest, why_other = extras(other_rest, sides.own)
    drift += [*why_own, *why_other]
    tied = [name for name in other_rest if _tied(name, sides)]
    if tied:
        drift.append(
            f"{tied[0]} is tied to the embedding and was saved once: call model.tie_weights() after loading"
        )
        other_rest = [name for name in other_rest if name not in tied]
    shapes = shape_differences(sides.own, sides.other)
    explained = not own_rest and not other_rest and not shapes and sides.expressed
    state = state_expression(file, own.entry)
    if explained:
        line = _without_extras(sides, state, dropped, strict=not filled and not tied)
        ending = "; the difference is known, and loads" if line else ""
    else:
        line, more = _partly(sides, state, own_rest, other_rest)
        notes += more
        ending = ""
    return Comparison(
        outcome="architecture", sentence=f"The names differ: {counts}{ending}.", shapes=shapes, groups=groups,
        drift=tuple(dict.fromkeys(drift)), notes=tuple(notes), load_line=line,
        fix_line=_fix(sides, own, file, _originals(sides, dropped)) if explained else "",
    )  # fmt: skip


def _without_extras(sides: _Sides, state: str, dropped: Mapping[str, Sequence[str]], *, strict: bool) -> str:
    """Return the line that leaves out harmless keys, by their ends where no key that is wanted ends so too."""
    wanted = [before for before, name in zip(sides.before, sides.own, strict=True) if name in sides.other]
    ends = [end.replace("\\", "") for end in dropped]
    plain = not any(set("()[]|*+?") & set(end) for end in ends) and not any(
        name.endswith(tuple(ends)) for name in wanted if ends
    )
    return load_line(
        state, sides.steps, sides.before, ends=ends if plain else (), fitting=not plain, strict=strict
    )


def _originals(sides: _Sides, dropped: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names that keys have in the file."""
    gone = {name for names in dropped.values() for name in names}
    return [before for before, name in zip(sides.before, sides.own, strict=True) if name in gone]


def _accepts(sides: _Sides, step: Step) -> bool:
    """Take a step if more names agree after it and no two become one; tell whether it was taken."""
    names = step.apply(list(sides.own))
    if len(set(names)) < len(names) or sum(n in sides.other for n in names) <= sides.matched():
        return False
    sides.own = dict(zip(names, sides.own.values(), strict=True))
    sides.steps.append(step)
    return True


def _tied(name: str, sides: _Sides) -> bool:
    """Tell whether a missing output layer is the embedding's own tensor, which safetensors saves once."""
    if not name.endswith(("lm_head.weight", "decoder.weight", "output_projection.weight")):
        return False
    return any(
        key.shape == sides.other[name].shape and ("emb" in other or other.endswith("wte.weight"))
        for other, key in sides.own.items()
        if other in sides.other and len(key.shape) == 2
    )


def _partly(
    sides: _Sides, state: str, own_rest: Sequence[str], other_rest: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the line that loads what agrees, and what there is to say of it."""
    fits = sum(name in sides.other and loads(key, sides.other[name]) for name, key in sides.own.items())
    if _same_order(sides) and fits * 2 < len(sides.own):
        return in_order(state), [SAME_ORDER]
    if not fits or not sides.expressed:
        return "", [] if fits else ["nothing in the file fits the target"]
    line = load_line(state, sides.steps, sides.before, fitting=True, strict=False)
    return line, [
        f"the line loads {fits} of the target's {len(sides.other)} tensors; the others keep what they were built with"
    ]


def _same_order(sides: _Sides) -> bool:
    ours = [(key.shape, key.dtype) for key in sides.own.values()]
    theirs = [(key.shape, key.dtype) for key in sides.other.values()]
    return ours == theirs and len(set(ours)) > 1


def _notes(sides: _Sides, own: StateDict, file: CheckpointFile | None) -> list[str]:
    notes = []
    if own.entry and not is_module(file, own.entry):
        notes.append(
            f"the file is a whole checkpoint: its state dict is the entry {own.entry}; "
            "load_state_dict must be given that, not the whole"
        )
    pairs = {(key.dtype, sides.other[name].dtype) for name, key in sides.own.items() if name in sides.other}
    changed = sorted(pair for pair in pairs if pair[0] != pair[1] and all(pair))
    if changed:
        kinds = ", ".join(f"{a} in the file, {b} in the target" for a, b in changed[:3])
        notes.append(f"other element types ({kinds}): load_state_dict converts them")
    if file is not None and file.kind == "distributed":
        notes.append(
            "a distributed checkpoint is loaded by torch.distributed.checkpoint.load; "
            "torch.distributed.checkpoint.format_utils.dcp_to_torch_save makes one file of it"
        )
    if is_module(file, own.entry):
        notes.append(
            "the file holds a whole pickled module: the line needs its classes, and runs what is in the file; "
            "only for a file whose origin you trust"
        )
    elif file is not None and file.foreign:
        notes.append(
            f"torch.load(weights_only=True) refuses this file, for it asks for {file.foreign[0].name}"
        )
    return notes


def rank(comparison: Comparison) -> tuple[int, int]:
    """Return a key that sorts comparisons, the best match first."""
    order = {"loads": 0, "prefix": 1, "shape": 2, "architecture": 3}
    return order[comparison.outcome], -comparison.matched
