"""A model is wrapped for several GPUs twice.

## What happens

With `data_parallel(nn.DataParallel(net), x)` every forward pass cuts the batch and copies the model twice. With DataParallel
inside of DistributedDataParallel every rank uses every GPU: memory runs out on GPU 0, and it is slower than either. The keys of
the state dict begin with `module.module.`.

## Why

Each wrapper distributes the batch, or the gradients, on its own and knows nothing of the other one.

## How to tell

`print(model)`: two wrappers, one in the other.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html) and [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): one of them
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Known, Script

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix(
            "Wrap the bare model once",
            "model = DistributedDataParallel(net, device_ids=[local_rank])  # net is not wrapped",
            Kind.EDIT,
        )
    ],
    no_reproduction="not written yet",
)
WRAPPING = (
    "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.DistributedDataParallel",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A wrapper that is given what another one made, for certain."""
    for call in script.named(*WRAPPING):
        given = call.value("module")
        inner = script.thing(given, "dp", "ddp") if given.known is Known.THING else None
        if inner is not None:
            outer, held = call.name.rpartition(".")[2], inner.type.rpartition(".")[2]
            yield check.found(
                f"{outer} is given a model that {held} wraps already (line {inner.place.line}): each of them distributes it",
                location=call.place,
            )
