"""Each rank trains a model of its own, because nothing averages the gradients.

## What happens

Nothing is raised. Each rank's loss falls, and the weights of the ranks drift apart from the first step on. What is saved by
rank 0 has learnt from rank 0's samples alone.

## Why

`init_process_group` connects the ranks and does nothing else. The gradients are averaged by `DistributedDataParallel`, or by an
`all_reduce` for each parameter between backward and step. Where the model itself is called, `model.module(x)`, and not its
wrapper, DDP does not prepare for the backward pass either.

## How to tell

Gather one weight after a few steps: `assert torch.equal(parts[0], parts[1]), "the ranks trained models of their own"`. gpudoctor
knows these words in a log.

## See also

- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): sums a tensor over all ranks, in place
- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): averages the gradients in backward
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"the ranks trained models of their own"],
    message="the ranks' weights differ: nothing averages their gradients",
    fixes=[
        Fix(
            "Average the gradients between backward and step",
            "loss.backward()\nfor parameter in model.parameters():\n    dist.all_reduce(parameter.grad)\n    parameter.grad /= dist.get_world_size()\noptimizer.step()",
            Kind.EDIT,
        ),
        Fix(
            "Or wrap the model, and call the wrapper: DDP averages while backward still runs",
            "model = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
    ],
)
