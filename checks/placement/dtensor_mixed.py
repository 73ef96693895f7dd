"""A sharded tensor (DTensor) meets an ordinary one.

## What happens

"RuntimeError: aten.mm.default got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before
calling distributed operators!" in a forward, in the optimizer or while gradients are clipped.

## Why

`fully_shard` (FSDP2) and tensor parallelism turn parameters into DTensors. An operation takes either kind, not both.

| where it fails | why |
| --- | --- |
| `aten.mm`, `aten.addmm`, `aten.embedding` in forward | a method other than `forward` was called, or `module.weight` used directly: only the module's own forward brings the whole weights together |
| `aten._foreach_…` or `aten._fused_adamw_` in the optimizer | sharded and ordinary parameters in one group: part of the model was not wrapped |
| `aten._foreach_norm`, `aten.mul_` in `clip_grad_norm_` | the same, in one call |
| elsewhere | a tensor of your own: a mask, a buffer, averaged weights |

## How to tell

`print({type(p).__name__ for p in model.parameters()})` after wrapping: `Parameter` and `DTensor` together mean that a part
was left out. The operator in the message says where to look.

## See also

- [torch.distributed.tensor](https://docs.pytorch.org/docs/stable/distributed.tensor.html): distribute_tensor, full_tensor
- [fully_shard](https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html): `register_fsdp_forward_method`
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # load_state_dict, of whole tensors
        (
            r'While copying the parameter named "(?P<parameter>[\w.]{1,200})".{0,400}?(?P<operator>aten\.copy_\.\w+):? '
            r"got mixed torch\.Tensor and DTensor"
        ),
        # older releases put a colon after the operator
        r"(?:(?P<operator>(?P<update>aten\.(?:add|sub|mul|lerp|copy)_\.\w+)|\w+\.\w+\.\w+):? )?got mixed torch\.Tensor and DTensor",
    ],
    message="an operation[, <operator>,] got sharded tensors (DTensor) and ordinary ones",
    fixes=[
        Fix(
            "The state dict holds whole tensors, <parameter> and others: let torch share them out",
            "from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict\n\n"
            "set_model_state_dict(model, state, options=StateDictOptions(full_state_dict=True))",
            Kind.EDIT,
        ),
        Fix(
            "What <update> changes may be a copy of the parameters that is older than their sharding, such as an average of "
            "them: copy them afterwards",
            "fully_shard(model)\naverage = [p.detach().clone() for p in model.parameters()]",
            Kind.EDIT,
        ),
        Fix(
            "Wrap the model itself last, so that no parameter is left out",
            "for block in model.layers:\n    fully_shard(block)\nfully_shard(model)",
            Kind.EDIT,
            proof="fully_shard(model",
        ),
        Fix(
            "Call the model, not a part of it; another method than forward is made known first",
            'from torch.distributed.fsdp import register_fsdp_forward_method\n\nregister_fsdp_forward_method(model, "encode")',
            Kind.EDIT,
        ),
        Fix(
            "Where both kinds are wanted: a group of the optimizer, and a call of clip_grad_norm_, for each",
            "from torch.distributed.tensor import DTensor\n\n"
            "sharded = [p for p in model.parameters() if isinstance(p, DTensor)]\n"
            "plain = [p for p in model.parameters() if not isinstance(p, DTensor)]\n"
            'optimizer = torch.optim.AdamW([{"params": sharded}, {"params": plain}])',
            Kind.EDIT,
        ),
        Fix(
            "Turn a tensor that is the same on every rank into a DTensor",
            "from torch.distributed.tensor import DTensor, Replicate\n\n"
            "mask = DTensor.from_local(mask, weight.device_mesh, [Replicate()])",
            Kind.EDIT,
        ),
    ],
)
