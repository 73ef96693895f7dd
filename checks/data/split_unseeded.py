"""Every rank splits the data set at random, and differently.

## What happens

Nothing fails. What is training data on one rank is validation data on another, so the validation score is too good.

## Why

`random_split` draws from torch's generator, which each process seeds differently unless somebody sets the seed. So do
scikit-learn's `train_test_split` and a permutation that NumPy draws.

## How to tell

Print the first indices of each rank's validation part: `print(validation.indices[:5])`. They differ.

Or have the script check it: gather the indices: `assert parts[0] == parts[1], "the ranks split the data differently"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.utils.data.random_split](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split): "Optionally fix the generator for reproducible results"
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script, origins

DRAWN = Fix(
    "Draw with a generator of a fixed seed, the same on every rank",
    "self.files = random.Random(0).sample(files, number)  # was: random.sample(files, number)",
    Kind.EDIT,
    source="https://docs.python.org/3/library/random.html#random.Random",
)

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"the ranks split the data differently"],
    message="the ranks split the data differently: some train on what others hold out",
    fixes=[
        Fix(
            "Split with a generator of a fixed seed, the same on every rank",
            "train, validation = random_split(dataset, [0.9, 0.1], generator=torch.Generator().manual_seed(0))",
            Kind.EDIT,
            proof="generator=torch.Generator().manual_seed(0))",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A data set that every rank splits at random, without a generator and without a seed before it."""
    if not script.distributed or script.frameworks:
        return
    yield from _orders(script)
    spawning = any(True for _ in script.named("torch.multiprocessing.spawn", "multiprocessing.Process"))
    drawn = [call for call in script.named(*ORDERS) if _is_split_by(script, call)]
    folds = [call for call in script.named(*FOLDS) if call.value("shuffle").literal is True]
    parts = [call for call in script.methods("sample") if _part(call)]
    splits = [*script.named("torch.utils.data.random_split"), *script.methods("train_test_split")]
    own = [
        call for call in script.named(*DRAWS, *ORDERS) if call not in drawn and _of_shared_set(script, call)
    ]
    for call in [*splits, *drawn, *folds, *parts, *own]:
        if not call.reached or _by_some(script, call) or (spawning and not call.spawned):
            continue
        if any(call.given(name) and not call.value(name).is_none for name in SEEDED):
            continue
        if any(_seeds(c, call) and not _of_parent(script, c, call) for c in script.calls[: call.number]):
            continue
        if call.value("shuffle").literal is False:
            continue
        what = (
            "splits the data set here with a generator of its own: what one trains on, another validates on"
        )
        if call in own or (call in drawn and _shared_out(script, call)):
            what = (
                "draws here, with a generator of its own, the samples that are then shared out among the ranks: together they "
                "go through some twice and through others never"
            )
        yield check.found(
            f"each rank {what}", location=call.place, fixes=[DRAWN] if call in own else list(check.fixes)
        )


def _by_some(script: Script, call: Call) -> bool:
    """Return whether some ranks alone make a call: nothing comes to it where a test for the rank says otherwise."""
    same = [other for other in script.calls if other.place == call.place] if call.rank_conditions else []
    return not all(
        any((one.place, one.negated) == (test.place, not test.negated) for c in same for one in c.conditions)
        for test in call.rank_conditions
    )


def _of_parent(script: Script, before: Call, split: Call) -> bool:
    """Return whether a call is made by the parent of started processes alone: they begin with generators of their own."""
    fresh = any(True for _ in script.named("torch.multiprocessing.spawn"))
    guarded = any(condition.kind == "main" for condition in before.conditions)
    return fresh and split.spawned and not before.spawned and guarded


FOLDS = ("sklearn.model_selection.KFold", "sklearn.model_selection.StratifiedKFold")


def _part(call: Call) -> bool:
    """Return whether a call draws a part of a table's rows."""
    size = call.value("frac").literal
    return isinstance(size, float) and size < 1


def _seeds(before: Call, split: Call) -> bool:
    """Return whether a call before a split may have set the seed that it draws by: NumPy's for train_test_split and sample.

    Both take NumPy's global state where they are given no seed (scikit-learn's check_random_state, pandas'
    DataFrame.sample, datasets' Dataset.train_test_split).
    """
    others = ["torch.manual_seed", "torch.random.manual_seed", "torch.cuda."]
    by_python = split.name.startswith("random.")
    by_numpy = split.method in ("train_test_split", "sample", "KFold", "StratifiedKFold") and not by_python
    others.append("numpy.random." if by_python else "random.seed")
    of_rank = any(argument.value.by_rank for argument in before.arguments.values())
    elsewhere = (by_numpy or by_python) and before.name.startswith(tuple(others))
    return "seed" in before.name.lower() and not of_rank and not elsewhere


ONE_SEED = Fix(
    "Give every rank's sampler the same seed: it takes its share of one order",
    "sampler = DistributedSampler(dataset, seed=0)  # was: seed=seed + rank",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler",
)


def _orders(script: Script) -> Iterator[Finding]:
    """Report a sampler whose order each rank draws by a seed of its own: the shares are parts of different orders."""
    for call in script.named("torch.utils.data.DistributedSampler"):
        if call.reached and call.value("seed").by_rank and call.value("shuffle").literal is not False:
            yield check.found(
                "each rank's sampler shuffles here by a seed of its own, and takes its share of an order that no other rank "
                "has: together they go through some samples twice and through others never",
                location=call.place,
                fixes=[ONE_SEED],
            )


SEEDED = ("generator", "random_state", "seed")
"""Arguments by which a split is the same on every rank."""
ORDERS = ("torch.randperm", "numpy.random.permutation", "random.shuffle", "numpy.random.shuffle")


def _is_split_by(script: Script, order: Call) -> bool:
    """Return whether two data sets, or samplers of a part, take their samples from one random order of each rank's."""
    if any(call.collective and _takes(script, call, order) for call in script.calls):
        return False  # all ranks get that of one
    taken = [
        made for t in script.of_kind("dataset", "sampler") if (made := script.made_by(t)) and _is_part(made)
    ]
    if sum(_takes(script, made, order) for made in taken) > 1 or _shared_out(script, order):
        return True
    cut = [part for part in script.named("<part>") if part.receiver.made == order.number]
    parts = {part.text for part in cut}
    if any(_kept_samples(script, part) for part in cut):
        return True
    return any(part.startswith(":") and f"{part[1:].strip()}:" in parts for part in parts)


def _shared_out(script: Script, order: Call) -> bool:
    """Return whether a DistributedSampler shares out what a random order picked of a data set."""
    subsets = [t for t in script.of_kind("dataset") if t.type == "torch.utils.data.Subset"]
    picked = {t.number for t in subsets if (made := script.made_by(t)) and _takes(script, made, order)}
    samplers = (t for t in script.of_kind("sampler") if t.type == "torch.utils.data.DistributedSampler")
    return any(sampler.inner in picked for sampler in samplers)


DRAWS = ("random.sample", "random.choices", "numpy.random.choice")


def _of_shared_set(script: Script, draw: Call) -> bool:
    """Return whether a data set's own samples are drawn, or put in order, which a DistributedSampler shares out by number.

    What its length is asked of are its samples.
    """
    method = draw.scope.rpartition(".")[2]
    sets = {thing.number: thing.type for thing in script.of_kind("dataset") if draw.of_class(thing.type)}
    samplers = (t for t in script.of_kind("sampler") if t.type == "torch.utils.data.DistributedSampler")
    if not sets or method in EACH_TIME or not any(sampler.inner in sets for sampler in samplers):
        return False
    counted = {
        argument.text
        for call in script.named("len")
        if any(call.of_class(owner, "__len__") for owner in sets.values())
        for argument in call.arguments.values()
    }
    first = draw.arguments.get("0")
    if first is not None and draw.method == "shuffle":
        return first.text in counted
    kept = (c for c in script.methods("__set__") if c.scope == draw.scope and c.text in counted)
    return any(c.value("value").made == draw.number or _takes(script, c, draw) for c in kept)


def _kept_samples(script: Script, part: Call) -> bool:
    """Return whether the first of a random order are the samples that a data set is made of, and the rest are left out."""
    method = part.scope.rpartition(".")[2]
    own = any(part.of_class(thing.type) for thing in script.of_kind("dataset"))
    return part.text.startswith(":") and own and method not in EACH_TIME


EACH_TIME = ("__getitem__", "__getitems__", "__iter__", "collate_fn", "set_epoch")
"""Methods of a data set that are called while it is gone through: each rank does so in its own share."""


def _is_part(made: Call) -> bool:
    return made.name != "torch.utils.data.DistributedSampler"


def _takes(script: Script, made: Call, order: Call) -> bool:
    """Return whether one of a call's arguments comes from a random order."""
    return any(
        source.number == order.number
        for argument in made.arguments.values()
        for source in origins(script, argument.value)
    )
