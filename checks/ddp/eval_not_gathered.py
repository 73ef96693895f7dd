"""Each rank's own share is reported as the validation result.

## What happens

Nothing fails. With a `DistributedSampler` each rank validates a part of the data, and what rank 0 prints is the accuracy on that part.

## Why

Nothing adds up the counts of the ranks. The sampler also repeats samples so that all ranks get as many.

## How to tell

Print the number of samples that were counted beside the accuracy: it is the length of the data set, divided by the number of ranks.

Or have the script check it: count on each rank: `assert seen == len(dataset), f"the accuracy {accuracy} is that of {seen} of {len(dataset)} samples"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.distributed.all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): sums a tensor over all ranks
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script, one_alone, without_gradients

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"the accuracy \S{1,20} is that of (?P<part>\d+) of (?P<all>\d+) samples"],
    message="the accuracy is that of <part> of <all> samples: nothing adds up the counts of the ranks",
    fixes=[
        Fix(
            "Sum the counts over the ranks before dividing",
            "counts = torch.tensor([correct, seen], device=device)\ndist.all_reduce(counts)\n"
            "accuracy = (counts[0] / counts[1]).item()",
            Kind.EDIT,
            proof="dist.all_reduce(counts)",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loop under no_grad over a loader with a DistributedSampler, in a program that reduces nothing."""
    if not script.distributed or script.frameworks:
        return
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        sampler = script.thing(made.value("sampler"), "sampler") if made is not None else None
        if made is None or sampler is None or sampler.type != "torch.utils.data.DistributedSampler":
            continue
        shared = script.made_by(sampler)
        if shared is not None and any(condition.impossible for condition in shared.conditions):
            continue  # it is told that there is one rank, and makes none
        quiet = [loop for loop in script.iterations(loader) if without_gradients(script, loop)]
        if quiet and not loader.escapes and not one_alone(quiet[0]) and not _gathers(script, quiet[0]):
            loop = quiet[0]
            said = next((call for call in script.calls[loop.number :] if _reports(call, loop)), None)
            yield check.found(
                f"the loop in line {loop.loops[-1].place} counts over one rank's share of the data, and nothing adds "
                "up the ranks",
                location=said.place if said is not None else loop.loops[-1].place,
            )


def _reports(call: Call, loop: Call) -> bool:
    """Return whether a call says what a loop came to."""
    if call.name != "print" and call.method not in ("add_scalar", "log", "info"):
        return False
    around = loop.stack[: len(call.stack)] == call.stack  # in the loop's function, or in one that calls it
    return (
        around
        and loop.loops[-1] not in call.loops
        and any(argument.value.from_data for argument in call.arguments.values())
    )


def _own_name(call: Call) -> str:
    """Return what is called without the modules around it: a class and its method, or a function."""
    *modules, last = call.name.split(".")
    return f"{modules[-1]}.{last}".lower() if modules and modules[-1][:1].isupper() else last.lower()


SUMS = ("reduce", "gather", "metric", "averagemeter", "synchronize_between")
"""Words in the names of what may add up the ranks' counts where that is not seen."""


def _gathers(script: Script, loop: Call) -> bool:
    """Return whether a collective, or something that is not seen, may add up the ranks in the loop or soon after it."""
    after = [
        call for call in script.calls[loop.number : loop.number + 150] if "lr_scheduler" not in call.name
    ]
    return any(
        (call.collective and call.method not in ("barrier", "new_group"))
        or any(word in _own_name(call) for word in SUMS)
        or call.name.startswith("torchmetrics.")  # its compute() asks all ranks
        for call in after
    )
