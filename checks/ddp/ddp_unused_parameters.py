"""Some parameters took no part in the loss, and DDP waits for their gradients.

## What happens

The second iteration raises "Expected to have finished reduction in the prior iteration before starting a new one" and
lists the parameter indices that received no gradient.

## Why

DDP sums a gradient over the ranks as soon as it is ready, and an iteration is over when all are. A parameter whose
output does not reach the loss never gets one:

- A layer is defined and not called, or only on some inputs (a frozen branch, a mixture of experts, layer drop).
- An output of `forward` is not used in the loss, or is hidden from DDP in an object of your own.
- `forward` was called twice before `backward`, or through `model.module`.

## How to tell

`TORCH_DISTRIBUTED_DEBUG=DETAIL` prints the names of those parameters. Without DDP, after one `backward()`:
`[n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]`.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- [DDP: internal design](https://docs.pytorch.org/docs/stable/notes/ddp.html)
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Expected to have finished reduction in the prior iteration",
        r"Parameter ind(?:ices|exes) which did not receive grad for rank (?P<rank>\d+): (?P<indices>[\d ]+)",
        r"Parameters which did not receive grad for rank (?P<rank>\d+): (?P<names>[\w., ]+)",
    ],
    message="DDP waited[ on rank <rank>] for gradients that never came[: parameters <indices>][: <names>]",
    fixes=[
        Fix(
            "Remove what is not used, or let it take part in the loss",
            "del model.unused_head",
            Kind.EDIT,
        ),
        Fix(
            "Freeze what shall not learn before DDP sees it",
            "model.backbone.requires_grad_(False)\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "Where the unused part changes from batch to batch: let DDP search for it, which costs a walk of the graph",
            "DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=True)",
            Kind.EDIT,
        ),
        Fix("See their names", "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=gpu train.py"),
    ],
)
