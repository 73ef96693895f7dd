"""The optimizer holds parameters that FSDP has replaced.

## What happens

The loss does not fall, and nothing is said: the optimizer steps parameters that the model does not use any more.

## Why

FullyShardedDataParallel puts the parameters of a module into flat ones, and `fully_shard` puts DTensors in their place. An
optimizer that was built before has the old ones. With `use_orig_params=True` FullyShardedDataParallel of torch 2.15 was seen to
keep them, which its documentation does not promise. DistributedDataParallel keeps the model's parameters: there the order does
not matter.

## How to tell

`{id(p) for g in optimizer.param_groups for p in g["params"]} & {id(p) for p in model.parameters()}` is empty.
Or have the script check that: `assert held & own, "the optimizer has none of the model's parameters"`, with the two sets of above.
`gpudoctor explain` recognises that message in a log.

## See also

- [FullyShardedDataParallel](https://docs.pytorch.org/docs/stable/fsdp.html): the optimizer comes after the wrap
- [fully_shard](https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html): DTensor parameters
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"the optimizer has none of the model's parameters"],
    message="the optimizer steps parameters that the model does not use: it was built before FSDP replaced them",
    fixes=[
        Fix(
            "Shard first, then build the optimizer; the same with FullyShardedDataParallel",
            "fully_shard(model)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
            Kind.EDIT,
            proof="fully_shard(model)",
        )
    ],
)
SHARDING = ("torch.distributed.fsdp.FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """An optimizer of a model's parameters, made before FSDP takes the model."""
    sharded = {number: call for call in script.named(*SHARDING) for number in call.value("module").things}
    for optimizer in script.of_kind("optimizer"):
        call = sharded.get(optimizer.inner)
        if call is not None and call.value("use_orig_params").literal is True:
            continue  # keeps the parameters that the optimizer has (torch 2.15)
        near = call is not None and call.place.path == optimizer.place.path  # elsewhere it may be built anew
        if call is not None and near and 0 <= optimizer.made < call.number:
            yield check.found(
                f"this optimizer is built before {call.text}() takes the model (line {call.place}): it keeps the "
                "parameters that FSDP replaces",
                location=optimizer.place,
            )
