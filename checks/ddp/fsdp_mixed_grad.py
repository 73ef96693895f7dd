"""FSDP was to flatten trained and frozen parameters into one.

## What happens

Wrapping raises "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`"; torch 2.0 says
"`FlatParameter` requires uniform `requires_grad`".

## Why

The first FSDP (`FullyShardedDataParallel`) puts all parameters of a wrapped module into one flat parameter, and that one
either requires a gradient or does not. In LoRA, or with a frozen backbone, both kinds are in one module.

## How to tell

`{n: p.requires_grad for n, p in block.named_parameters()}` of the module that the traceback is wrapping shows both
values.

## See also

- [FullyShardedDataParallel](https://docs.pytorch.org/docs/stable/fsdp.html): `use_orig_params`
- [fully_shard](https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html): shards each parameter on its own
- [torch issue 104690](https://github.com/pytorch/pytorch/issues/104690): what it costs, and how to wrap instead
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Must flatten tensors with uniform \W?requires_grad\W? when \W?use_orig_params=False",
        r"Error: .{1,300} has both parameters with requires_grad=True and False\.",
        r"\bFlatParameter\W? requires uniform \W?requires_grad\b",
    ],
    message="FSDP puts the parameters of a module into one, and here some are trained and some are frozen",
    fixes=[
        Fix(
            "Keep the original parameters (torch 2.1 and newer); their gradients take memory as if none were frozen",
            "model = FullyShardedDataParallel(model, use_orig_params=True)",
            Kind.EDIT,
            proof="use_orig_params=True)",
        ),
        Fix(
            "Or shard each parameter on its own with FSDP2 (torch 2.6 and newer), which has no flat parameters",
            "from torch.distributed.fsdp import fully_shard\n\nfor block in model.blocks:\n    fully_shard(block)\n"
            "fully_shard(model)",
            Kind.EDIT,
        ),
        Fix(
            "accelerate and the Trainer: the same, in the FSDP part of the configuration",
            "fsdp_use_orig_params: true",
            Kind.EDIT,
        ),
        Fix(
            "Or wrap so that no module holds both: trained layers in wrappers of their own",
            "from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy\n\npolicy = functools.partial(\n"
            "    lambda_auto_wrap_policy,\n"
            "    lambda_fn=lambda m: not list(m.children()) and all(p.requires_grad for p in m.parameters()),\n)\n"
            "model = FullyShardedDataParallel(model, auto_wrap_policy=policy)",
            Kind.EDIT,
        ),
    ],
)
