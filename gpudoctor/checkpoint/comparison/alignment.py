"""What a file's names become so that they agree with a target's: a prefix or wrappers taken off, or put in."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.renames import Step, add, apply_all, drop_component, strip
from gpudoctor.checkpoint.comparison.shapes import OBJECT, loads
from gpudoctor.checkpoint.description.wrappers import WRAPPERS
from gpudoctor.facts.checkpoint_file import Key, StateDict

ADAPTED = "base_layer"
"""Where PEFT keeps the layer that has an adapter."""
COMPONENTS = (*WRAPPERS, ADAPTED)
ONE = "one parameter "
"""Begins the storage of a model's key that is the same parameter as another one's."""
HEADS = ("lm_head.weight", "decoder.weight", "output_projection.weight", "proj_out.weight")
"""Output layers that models of language tie to their embedding."""
COUNTER = "num_batches_tracked"
MODELS = frozenset("model state_dict model_state_dict net network module student online encoder_q".split())
"""What the model itself is called where a checkpoint has several of one shape."""
COPY = re.compile(
    r"(?:^|[^a-z])(?:ema|teacher|target|swa|avg|average[ds]?|averaged_model|momentum|shadow|encoder_k|old|prev|best|"
    r"copy|init|initial|first_stage|frozen|reference|ref)(?:[^a-z]|$)"
)
"""What is mostly an average, a copy, or another stage of it."""
SAMPLE = 1000
"""Names of each side that vote for a prefix."""
PREFIX_PARTS_MOST = 12
"""Components of a prefix that are tried."""
FINALISTS = 4
PREFIXES_MOST = 64


class Alignment(Struct, frozen=True):
    """Both sides, with the names of the file changed so that the most of them are the target's."""

    own: dict[str, Key]
    """The file's entries that are taken, by the names that they have after the change."""
    other: dict[str, Key]
    before: list[str]
    """The names as they are in the file, in the order of `own`."""
    steps: tuple[Step, ...] = ()
    wrappers: tuple[str, ...] = ()
    """Components that the target's own wrappers put into its names; they are put in after the steps."""
    left: dict[str, Key] = {}
    """What is not taken, since it does not begin with the prefix that everything else has, by its name in the file."""
    fits: tuple[str, ...] = ()
    """Prefixes that fit equally, the one that is taken first; empty where there is no choice."""
    drift: tuple[str, ...] = ()
    """Which change of a library explains a step, a sentence each."""
    parts: tuple[tuple[str, str], ...] = ()
    """Parts that have another name in the target, and that name."""

    @property
    def adapted(self) -> bool:
        """Whether PEFT's component for what a layer with an adapter had before is taken off names or put in."""
        return ADAPTED in self.wrappers or any(step.component == f"{ADAPTED}." for step in self.steps)

    def alone(self) -> tuple[list[str], list[str]]:
        """Return the names that the file alone has, and those that the target alone has."""
        return [n for n in self.own if n not in self.other], [n for n in self.other if n not in self.own]

    def shared(self) -> int:
        """Return how many names both sides have."""
        return len(self.own.keys() & self.other.keys())

    def matched(self) -> int:
        """Return how many tensors have a name that both sides have."""
        return sum(name in self.other for name, key in self.own.items() if key.layout != OBJECT)

    def originals(self, names: set[str]) -> list[str]:
        """Return what keys that have these names after the change are called in the file."""
        return [before for before, name in zip(self.before, self.own, strict=True) if name in names]

    def renamed(self, step: Step) -> "Alignment":
        """Return this with a step more; unchanged where that makes no more names the target's."""
        own = dict(zip(step.apply(list(self.own)), self.own.values(), strict=True))
        after = replace(self, own=own, steps=(*self.steps, step))
        return after if len(own) == len(self.own) and after.shared() > self.shared() else self


def by_name(state: StateDict) -> dict[str, Key]:
    """Return what a state dict has by name: its tensors, and its other entries as keys of the layout `OBJECT`."""
    found = {key.name: key for key in state.keys}
    for name in state.others:
        key = Key(name=name, dtype="", shape=(), size=0, device="", layout=OBJECT)
        found.setdefault(name, key)
    return found


def align_prefix(ours: dict[str, Key], theirs: dict[str, Key]) -> Alignment:
    """Return both sides after the change of prefix, and of wrappers' components, with which they agree most."""
    plain = _prefixed(ours, theirs)
    if plain.shared() == len(theirs):
        return plain
    bare = _unwrapped(ours, theirs)
    return bare if bare is not None and bare.shared() > plain.shared() else plain


def copy_rank(name: str) -> int:
    """Return how likely an entry or a prefix is the model itself: 0 by its name, 2 a copy such as EMA, 1 the rest."""
    text = name.rstrip(".").lower()
    if COPY.search(text):
        return 2
    return 0 if not text or text.rpartition(".")[2] in MODELS or text.partition(".")[0] in MODELS else 1


def one_parameter(name: str, key: Key) -> bool:
    """Return whether a key of the target may be the same parameter as another key with its storage."""
    return key.storage is not None and (key.storage.startswith(ONE) or name.endswith(HEADS))


def _unwrapped(ours: dict[str, Key], theirs: dict[str, Key]) -> Alignment | None:
    """Return what comes of disregarding wrappers' components wherever they stand; ``None`` where there are none."""
    mine, components = _wrappers(list(ours)), _wrappers(list(theirs))
    drops = [drop_component(component) for component in mine]
    bare = apply_all(drops, list(ours))
    names = apply_all([drop_component(component) for component in components], list(theirs))
    if not (mine or components) or len({*bare}) < len(ours) or len({*names}) < len(theirs):
        return None
    own, other = dict(zip(bare, ours.values(), strict=True)), dict(zip(names, theirs.values(), strict=True))
    found = _prefixed(own, other)
    original, wrapped = dict(zip(bare, ours, strict=True)), dict(zip(names, theirs, strict=True))
    return replace(
        found, own={wrapped.get(name, name): key for name, key in found.own.items()}, other=theirs,
        before=[original[name] for name in found.before], steps=(*drops, *found.steps), wrappers=tuple(components),
        left={original[name]: key for name, key in found.left.items()},
    )  # fmt: skip


def _wrappers(names: Sequence[str]) -> list[str]:
    """Return which wrappers' components stand in any of the names."""
    text = "\n".join(names)
    found = [name for name in COMPONENTS if f"{name}." in text]
    return [name for name in found if re.search(rf"(?:^|\.){name}\.", text, re.MULTILINE)]


def _prefixed(ours: dict[str, Key], theirs: dict[str, Key]) -> Alignment:
    """Return both sides after a change of prefix alone; one that covers every key of a side comes first."""
    names = list(ours)
    for wanted in dict.fromkeys((tuple(theirs), tuple(_needed(theirs)))):
        if prefixes := covering(names, wanted):
            prefix, fits = _chosen(prefixes, ours, {name: theirs[name] for name in wanted})
            return _under(prefix, fits, ours, theirs)
    if len(names) < len(theirs) and (prefixes := covering(list(theirs), names)):
        prefix, fits = _chosen(prefixes, theirs, ours)
        put = dict(zip([prefix + name for name in names], ours.values(), strict=True))
        return Alignment(
            own=put, other=theirs, steps=(add(prefix),) if prefix else (), before=names, fits=fits
        )
    steps = _voted(names, list(theirs))
    own = dict(zip(apply_all(steps, names), ours.values(), strict=True))
    return Alignment(own=own, other=theirs, steps=steps, before=names)


def covering(own: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the prefixes, the empty one too, with which each name of `other` is one of `own`; exact and complete."""
    if not other or len(own) < len(other):
        return []
    ours = set(own)
    probe = max(other, key=len)
    ends = [name[: -len(probe)] for name in own if name.endswith(probe)]
    begins = [text for text in dict.fromkeys(ends) if not text or text.endswith(".")][:PREFIXES_MOST]
    return [text for text in begins if all(text + name in ours for name in other)]


def _needed(theirs: Mapping[str, Key]) -> list[str]:
    """Return the names that a file of this model cannot lack: no counters of BatchNorm, one of those that are tied."""
    seen: set[str | None] = set()
    needed = []
    for name, key in theirs.items():
        counter = name.endswith(COUNTER) and name[: -len(COUNTER)] + "running_mean" in theirs
        if not counter and not (key.storage in seen and one_parameter(name, key)):
            needed.append(name)
        seen.add(key.storage)
    return needed


def _chosen(
    prefixes: Sequence[str], whole: Mapping[str, Key], part: Mapping[str, Key]
) -> tuple[str, tuple[str, ...]]:
    """Return which of the prefixes that make `part` of `whole` is taken, and all that fit as well as it."""
    differing = {
        prefix: sum(not loads(whole[prefix + name], key) for name, key in part.items()) for prefix in prefixes
    }
    equal = [prefix for prefix in prefixes if differing[prefix] == min(differing.values())]
    equal.sort(key=lambda prefix: (copy_rank(prefix), len(prefix)))
    return equal[0], tuple(equal) if len(equal) > 1 else ()


def _under(prefix: str, fits: tuple[str, ...], ours: Mapping[str, Key], theirs: dict[str, Key]) -> Alignment:
    """Return the alignment that takes what has a prefix, and leaves the rest."""
    taken = {name[len(prefix) :]: key for name, key in ours.items() if name.startswith(prefix)}
    return Alignment(
        own=taken, other=theirs, before=[prefix + name for name in taken], fits=fits,
        steps=(strip(prefix),) if prefix else (),
        left={name: key for name, key in ours.items() if not name.startswith(prefix)},
    )  # fmt: skip


def _voted(own: Sequence[str], other: Sequence[str]) -> tuple[Step, ...]:
    """Return the steps after which the most names agree; none where a few agree by chance."""
    theirs = set(other)
    plain = most = len(theirs.intersection(own))
    best: tuple[Step, ...] = ()
    for taken, put in dict.fromkeys(_candidates(own, other)):
        steps = [step(text) for step, text in ((strip, taken), (add, put)) if text]
        names = set(apply_all(steps, own))
        matched = len(names & theirs)
        if taken and put and taken != put and not matched == len(own) == len(other):
            continue  # a part that is called otherwise, and no wrapper
        if matched > most and len(names) == len(own):
            best, most = tuple(steps), matched
    return best if most > plain and most * 2 >= min(len(own), len(other)) else ()


def _candidates(own: Sequence[str], other: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield prefixes to take off and to put in front that may be it."""
    ours, theirs = set(own), set(other)
    votes: Counter[tuple[str, str]] = Counter()
    for name in own[:: -(-len(own) // SAMPLE) or 1]:
        if name not in theirs:
            votes.update((text, "") for text in beginnings(name) if name[len(text) :] in theirs)
    for name in other[:: -(-len(other) // SAMPLE) or 1]:
        if name not in ours:
            votes.update(("", text) for text in beginnings(name) if name[len(text) :] in ours)
    for (taken, put), _ in votes.most_common(FINALISTS):
        yield taken, put
        if put:
            yield put, put  # some of the own names have it already
    first, second = common_beginning(own), common_beginning(other)
    while first and second and first.split(".")[-2] == second.split(".")[-2]:
        first, second = first[: first[:-1].rfind(".") + 1], second[: second[:-1].rfind(".") + 1]
    yield first, second


def beginnings(name: str) -> Iterator[str]:
    """Yield the beginnings of a name that are whole components, the shortest first, each with its dot."""
    place = name.find(".")
    for _ in range(PREFIX_PARTS_MOST):
        if place < 0:
            return
        yield name[: place + 1]
        place = name.find(".", place + 1)


def common_beginning(names: Sequence[str]) -> str:
    """Return the components with which all names begin, with the dot after them; the last component is never one."""
    if not names:
        return ""
    first, last = min(names), max(names)  # whatever these two begin with, all others do
    pairs = enumerate(zip(first, last, strict=False))
    end = next((n for n, (a, b) in pairs if a != b), min(len(first), len(last)))
    return first[: first.rfind(".", 0, end) + 1]
