"""The model was moved or converted after DDP had wrapped it.

## What happens

Mostly nothing is raised. The model trains, and the ranks' weights drift apart, as if it had never been wrapped: seen with
torch 2.15 after `.to(torch.float64)`.

## Why

DDP puts a hook on the node of each parameter that collects its gradient. When `.to(device)`, `.half()` or `.double()` changes
type or device of a parameter, torch makes a new node for it, without the hook, and no gradient of it is summed again. A model
that is moved between machines and GPUs before the wrap has no such fault.

## How to tell

Look for `.to(`, `.cuda(`, `.half(` or `.double(` below the line that wraps the model. Or gather one weight after a step:
`assert torch.equal(parts[0], parts[1]), "DDP no longer sums the gradients of these parameters"`. gpudoctor knows these words in a log.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): never change the parameters after the wrap, and why
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"DDP no longer sums the gradients of these parameters"],
    message="the ranks' weights differ: parameters were moved or converted after DDP had put its hooks on them",
    fixes=[
        Fix(
            "Move and convert first, wrap last",
            "model = model.to(device, torch.bfloat16)\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
            proof="model = model.to(",
        ),
    ],
)
