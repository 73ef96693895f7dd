"""A parameter's gradient came twice in one backward pass under DDP.

## What happens

`backward()` raises "Expected to mark a variable ready only once", and "Parameter at index 55 with name … has been
marked as ready twice".

## Why

DDP sums a gradient over the ranks as soon as it is there. It comes a second time when:

- Gradient checkpointing with `use_reentrant=True` runs a backward pass inside the backward pass, and
  `find_unused_parameters=True` has marked the parameters before: transformers with LoRA, most of the time.
- A layer is checkpointed twice, or its weights are shared between two checkpointed blocks.
- With `find_unused_parameters=True` the wrapper was called several times before `backward`, each time for a part of the
  model, or a parameter was used outside the wrapper's `forward`: `model.module.head(x)`, a loss that reads the weights. DDP
  took them for unused, and then their gradients came.

## How to tell

Look for `gradient_checkpointing`, for a warning that names `use_reentrant`, and for `find_unused_parameters`.
`TORCH_DISTRIBUTED_DEBUG=INFO` adds the parameter's name.

`gpudoctor lint train.py` finds `use_reentrant=True` on a block that is checkpointed twice, or beside `find_unused_parameters=True`.

## See also

- [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html): `use_reentrant`
- [peft issue 313](https://github.com/huggingface/peft/issues/313): LoRA and gradient checkpointing under DDP
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import ONCE, Known, Script

# At its end the message names the parameter.
HEADLINE = r"Expected to mark a variable ready only once"
MARKED = r"Parameter at index (?P<index>\d+)(?: with name (?P<name>\w+(?:\.\w+){0,40}))? has been marked as ready twice"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(HEADLINE, near=MARKED),
        Symptom(HEADLINE, unless=r"has been marked as ready twice"),
        MARKED,
        r"The parameter (?P<index>\d+) has already been reduced\.",  # DeepSpeed
    ],
    message="the gradient of a parameter[ (index <index>)][, <name>,] came twice in one backward pass, and DDP had "
    "summed it already",
    fixes=[
        Fix(
            "Checkpoint without a backward pass inside the backward pass",
            "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
            Kind.EDIT,
            proof="use_reentrant=False)",
        ),
        Fix(
            "The same in transformers and TRL",
            'TrainingArguments(..., gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False})',
            Kind.EDIT,
        ),
        Fix(
            "Do not search for unused parameters where all are used (transformers: --ddp_find_unused_parameters False)",
            "DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=False)",
            Kind.EDIT,
        ),
        Fix(
            "Put everything that uses parameters into one call of the wrapper per backward pass",
            "both = model(torch.cat([first, second]))\none, two = both.chunk(2)",
            Kind.EDIT,
        ),
        Fix(
            "Where the graph is the same in each iteration: say so to DDP",
            "DistributedDataParallel(model, device_ids=[local_rank], static_graph=True)",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Checkpointing in the reentrant form, of one block twice or under find_unused_parameters, in a model for DDP."""
    wrappers = [made for thing in script.of_kind("ddp") if (made := script.made_by(thing)) is not None]
    if not wrappers:
        return
    searching = next(
        (made for made in wrappers if made.value("find_unused_parameters").literal is True), None
    )
    if any(made.value("static_graph").literal is True or made.starred for made in wrappers):
        return
    said = set()
    for call in script.named("torch.utils.checkpoint.checkpoint"):
        function = call.arguments.get("function")
        if call.value("use_reentrant").literal is not True or function is None or call.place.line in said:
            continue
        if searching is not None or repeated(script, call.number):
            said.add(call.place.line)
            why = "find_unused_parameters=True marks parameters before"
            if searching is None:
                why = f"{function.text} is checkpointed twice"
            yield check.found(
                f"use_reentrant=True runs a backward pass inside the backward pass, and {why}: DDP gets a gradient twice",
                location=call.place,
            )


OWN = re.compile(r"self\.\w+")
"""A part of a model that is the same one in every pass of a loop."""


def repeated(script: Script, number: int) -> bool:
    """Return whether the block of a checkpoint is checkpointed again in the same function, by a loop or another call."""
    own = script.calls[number]
    text = own.arguments["function"].text
    counted = [
        o for o in own.loops if o.scope == own.scope and o.over.known is Known.INDEX and o.over.text != ONCE
    ]
    if counted and own.arguments["function"].value.things and OWN.fullmatch(text):
        return True
    return any(
        call.number != number
        and call.scope == own.scope
        and call.stack == own.stack
        and call.arguments["function"].text == text
        for call in script.named("torch.utils.checkpoint.checkpoint")
        if "function" in call.arguments
    )
