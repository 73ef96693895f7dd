"""All ranks draw the same random numbers for their samples.

## What happens

Nothing is raised. Crops, masks, noise and dropout are the same on all ranks in a step, so the batch of all ranks has less
variety than its size promises.

## Why

`torch.manual_seed(0)` on every rank gives all of them one sequence of numbers. For the weights that is wanted; what is drawn
for the samples after it should differ. The sampler must keep one seed on all ranks: it makes one order, and each rank takes
its share of it.

## How to tell

Gather one random tensor that is drawn after the seed is set: `assert not torch.equal(drawn[0], drawn[1]), "the ranks draw the
same random numbers"`. `gpudoctor explain` recognises that message in a log.

## See also

- [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html): what manual_seed covers, and the workers of a DataLoader
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import UNKNOWN, Call, Known, Script

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for a script whose samples are changed alike",
    symptoms=[r"the ranks draw the same random numbers"],
    message="the ranks draw the same random numbers: one seed for all makes their noise and augmentation the same",
    fixes=[
        Fix(
            "Give each rank a seed of its own, after the model is made (`random.seed` and `numpy.random.seed` likewise, where samples "
            "are drawn by them without workers)",
            "torch.manual_seed(seed + dist.get_rank())",
            Kind.EDIT,
            proof="+ dist.get_rank())",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A seed that is the same on every rank, and samples that are changed by numbers drawn from it."""
    if not script.distributed or script.frameworks:
        return
    seeds = [call for call in script.calls if call.name in SEEDS and call.reached]
    if not seeds or any(argument.value.by_rank for call in seeds for argument in call.arguments.values()):
        return
    if any(True for _ in script.of_kind("generator")):
        return
    noise = _noise(script) if any(call.name.startswith("torch.") for call in seeds) else None
    if noise is not None:
        yield check.found(
            f"every rank takes the same seed here, and {noise.text} in line {noise.place} draws a model's input from it: "
            "all ranks compute the same",
            severity=Severity.WARNING,
            location=seeds[0].place,
        )
        return
    if any(call.given("worker_init_fn") for call in script.calls):
        return
    steps = {call.loops for call in script.methods("backward") if call.loops}
    picked = next((call for call in script.calls if call.loops in steps and _picks(call)), None)
    if picked is not None:
        yield check.found(
            f"every rank takes the same seed here, and `{picked.text}` in line {picked.place} picks the samples of a "
            "step by it: all ranks train on the same batch",
            severity=Severity.WARNING,
            location=seeds[0].place,
        )
        return
    drawn = next(
        (call for call in script.calls if call.scope.endswith(".__getitem__") and _draws(call)), None
    )
    if drawn is None and any(call.name == "torch.manual_seed" and _always(call) for call in seeds):
        drawn = next((call for call in script.calls if call.reached and AUGMENTS.match(call.name)), None)
    if drawn is not None:
        seeds.sort(key=lambda call: call.name != "torch.manual_seed")
        anew = next((call for call in seeds if _in_each_epoch(call)), None)
        again = ", and each epoch begins with that seed again: all epochs change them alike too"
        yield check.found(
            f"every rank takes the same seed here, and {drawn.text} in line {drawn.place} draws from it: all ranks "
            f"change their samples in the same way{again if anew is not None else ''}",
            severity=Severity.NOTE if anew is None else Severity.WARNING,
            location=(anew or seeds[0]).place,
        )


AUGMENTS = re.compile(
    r"torchvision\.transforms\.(?:v2\.)?(?:Random\w+|ColorJitter|AutoAugment|RandAugment|TrivialAugmentWide)$"
)
"""What changes samples by numbers of torch's generator, which seeds a loader's workers too."""


def _always(call: Call) -> bool:
    """Return whether a call is made whatever the options are: a seed that somebody asks for is wanted."""
    return not any(condition.kind == "if" and not condition.early for condition in call.conditions)


def _in_each_epoch(call: Call) -> bool:
    """Return whether a seed is set again in each epoch, to the same number."""
    given = next(iter(call.arguments.values()), None)
    same = given is not None and (given.value.is_literal or given.value.known is Known.ARGUMENT)
    return call.within("epoch") is not None and same


SEEDS = frozenset({"torch.manual_seed", "random.seed", "numpy.random.seed", "torch.cuda.manual_seed_all"})


def _noise(script: Script) -> Call | None:
    """Return what draws noise in a step of training that a model takes, and takes nothing of the batch beside it.

    Where nothing but noise is learnt from, numbers at random stand for the data: a benchmark or an example.
    """
    drawn = [call.loops[-1] for call in script.named("next") if call.loops]  # a batch at a time
    steps = {
        call.loops
        for call in script.methods("backward")
        if call.within("batch") or any(loop in call.loops for loop in drawn)
    }
    if len({call.receiver.thing for call in script.methods("__call__") if call.loops in steps}) < 2:
        return None
    for call in script.methods("__call__"):
        if call.loops not in steps or not call.reached or not call.receiver.things:
            continue
        given = [argument.value for argument in call.arguments.values()]
        first = given[0] if given else UNKNOWN
        made = script.calls[first.made] if first.known is Known.TENSOR and first.made >= 0 else None
        while made is not None and made.method in MOVING and made.receiver.made >= 0:
            made = script.calls[made.receiver.made]
        if made is not None and made.name in NOISE and made.loops in steps:
            if not any(value.from_data or value.by_rank for value in given):
                return made
    return None


NOISE = frozenset({"torch.randn", "torch.rand", "torch.randn_like", "torch.rand_like", "torch.normal"})
MOVING = ("to", "cuda", "view", "reshape", "float", "half", "requires_grad_", "unsqueeze")


def _picks(call: Call) -> bool:
    """Return whether a call picks samples at random: by their number, which it is told, or out of a list."""
    first = next(iter(call.arguments.values()), None)
    if first is None or any(argument.value.by_rank for argument in call.arguments.values()):
        return False
    if call.name in ("random.sample", "random.choice", "random.choices"):
        return re.search(r"data|samples|train|corpus|texts", first.text) is not None
    return call.name in PICKING and re.search(r"\blen\(|\.shape\[0\]|\.size\(0\)", first.text) is not None


PICKING = frozenset({
    "torch.randint", "torch.randperm", "numpy.random.randint", "numpy.random.choice", "numpy.random.permutation",
    "random.randint", "random.randrange",
})  # fmt: skip


def _draws(call: Call) -> bool:
    """Return whether a call draws a random number of Python, NumPy or torch."""
    return call.name.startswith(("random.", "numpy.random.", "torch.rand")) and not call.name.endswith(
        ".seed"
    )
