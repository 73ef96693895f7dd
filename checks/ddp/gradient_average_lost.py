"""The gradients are summed over the ranks, and never divided.

## What happens

Nothing is raised. The step is as many times too long as there are ranks: with 8 ranks the learning rate is in effect 8 times
the one that was set, and the training that was stable on one GPU diverges.

## Why

`all_reduce` sums. What follows is often an expression whose value is thrown away, `p.grad / size` or `p.grad.div(size)`, in
the place of `p.grad /= size` or `p.grad.div_(size)`. With `ReduceOp.AVG` the collective
divides by itself.
DistributedDataParallel divides by itself; dividing again makes the step too short.

## How to tell

Give every rank the same sample: the averaged gradient must then be that of one rank. `assert torch.equal(averaged, own),
"the gradients are a sum over the ranks, not their mean"`. gpudoctor knows these words in a log.

## See also

- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): the operation is SUM where none is named
- [ReduceOp](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp): SUM and AVG
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"gradients are a sum over the ranks"],
    message="the gradients are a sum over the ranks, not their mean: the step is as many times too long as there are ranks",
    fixes=[
        Fix(
            "Divide in place",
            "dist.all_reduce(parameter.grad)\nparameter.grad /= dist.get_world_size()",
            Kind.EDIT,
        ),
        Fix(
            "Or let the collective average: NCCL, and gloo too, seen with torch 2.15",
            "dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)",
            Kind.EDIT,
        ),
    ],
)
