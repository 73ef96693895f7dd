"""A model is wrapped for several GPUs twice.

## What happens

With DataParallel around DataParallel, or `data_parallel(nn.DataParallel(net), x)`, the forward pass fails on two GPUs: "Caught
RuntimeError in replica 1 on device 1", inside of it "Caught RuntimeError in replica 0 on device 0", and at the end "Expected all
tensors to be on the same device". With DataParallel inside of DistributedDataParallel every rank uses every GPU: memory runs out on
GPU 0, and it is slower than either. The keys of the state dict begin with `module.module.`.

## Why

Each wrapper distributes the batch, or the gradients, on its own and knows nothing of the other one. A replica has its weights as
plain tensors on its own GPU: the inner DataParallel finds no parameters there that it could copy to the others, and cuts the batch
all the same.

## How to tell

`print(model)`: two wrappers, one in the other.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html) and [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): one of them
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Known, Script

INNER = (
    r"in replica \d+ on device \d+\.\s{1,4}Original Traceback(?:(?!\nTraceback)[\s\S]){0,8000}?"
    r"Error: Caught \w+ in replica \d+ on device"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning",
    symptoms=[Symptom(r"Caught \w+ in replica (?P<replica>\d+) on device (?P<device>\d+)", near=INNER)],
    message="replica <replica> on device <device> was split into replicas again: DataParallel wraps a model that is wrapped "
    "already",
    fixes=[
        Fix(
            "Wrap the bare model once",
            "model = DistributedDataParallel(net, device_ids=[local_rank])  # net is not wrapped",
            Kind.EDIT,
        ),
        Fix(
            "Or with DataParallel, once as well",
            "model = nn.DataParallel(net)  # net is not wrapped",
            Kind.EDIT,
            proof="model = nn.DataParallel(net)",
        ),
    ],
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
        made = script.made_by(inner) if inner is not None else None
        if inner is not None and not (made is not None and call.excluded(made)):
            outer, held = call.name.rpartition(".")[2], inner.type.rpartition(".")[2]
            yield check.found(
                f"{outer} is given a model that {held} wraps already (line {inner.place}): each of them distributes it",
                severity=Severity.WARNING,
                location=call.place,
            )
