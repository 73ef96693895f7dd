"""A DataParallel replica asks for its parameters and has none.

## What happens

"StopIteration: Caught StopIteration in replica 0 on device 0.", and the last frame of the original traceback is
`next(self.parameters())`, often `self.device` or `self.dtype` of an old transformers model. Inside a generator Python
says "RuntimeError: generator raised StopIteration" instead.

## Why

DataParallel copies the model to each GPU for each forward. Since torch 1.5 these replicas hold their weights as plain
tensors, not as registered parameters: `self.fc.weight` is there, and `self.parameters()` is empty, on every replica.

## How to tell

Read the last frame under "Original Traceback": it iterates over `parameters()`. The same model works on one GPU, and
under DistributedDataParallel, which makes no replicas.

A `StopIteration` without "in replica" is another failure: an iterator of the program's own that is used up.

`gpudoctor lint train.py` finds `next(self.parameters())` in what `forward` runs.

## See also

- [pytorch#40457](https://github.com/pytorch/pytorch/issues/40457): parameters of replicas since torch 1.5
- [transformers#4189](https://github.com/huggingface/transformers/issues/4189): BERT under DataParallel
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Script, origins, wrapped_classes
from gpudoctor.wordings import REPLICA

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"Caught StopIteration {REPLICA}",
        Symptom(r"generator raised StopIteration", near=REPLICA),
    ],
    message="replica <replica> on device <device> ran through an empty list: since torch 1.5 the replicas of DataParallel have "
    "no registered parameters",
    fixes=[
        Fix(
            "Take device and type from the input, or from a weight by its name",
            "device, dtype = x.device, self.fc.weight.dtype  # was: next(self.parameters())",
            Kind.EDIT,
        ),
        Fix(
            "One process per GPU, here 2, with DistributedDataParallel instead of DataParallel",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
        Fix(
            "Where the frame is in transformers, take a newer one",
            "python -m pip install --upgrade transformers",
        ),
        Fix(
            "Train on one GPU: no replicas, and no second GPU",
            "CUDA_VISIBLE_DEVICES=0 python train.py",
            Kind.MITIGATION,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """next(self.parameters()) in what the forward of a replicated module runs."""
    scopes = {
        f"{item.own_name}.{method}"
        for item in wrapped_classes(script, "dp")
        for method in item.methods
        if method == "forward" or method in item.used_in_forward
    }
    for call in script.named("next"):
        first = next(iter(call.arguments.values()), None)
        if call.scope in scopes and first is not None and "self" in first.text:
            if any(made.method in ("parameters", "buffers") for made in origins(script, first.value)):
                yield check.found(
                    f"`next({first.text})` runs in forward, on DataParallel's replicas: since torch 1.5 they have no registered "
                    "parameters, and it raises StopIteration",
                    location=call.place,
                )
