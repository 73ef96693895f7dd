"""DDP was given a module in which nothing learns.

## What happens

The constructor raises "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a
gradient". Where one rank alone raises it, the others wait for that rank, or report 0 parameters of it.

## Why

DDP does nothing but share gradients out, and this module has none:

- A helper network that is only evaluated was handed to DDP or `accelerator.prepare`: a teacher, an EMA copy, a VAE,
  a perceptual loss.
- The whole model was frozen before the wrap, and the layers that are to learn were added or unfrozen after it.
- An adapter was loaded for inference: `PeftModel.from_pretrained` without `is_trainable=True`.
- The model is quantised: integers have no gradients.

## How to tell

`sum(p.requires_grad for p in model.parameters())` is 0 just before the wrap. The traceback names the line, and with it
the module, that was wrapped.

## See also

- [requires_grad_](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_): freezes a whole module, or undoes that
- [PeftModel.from_pretrained](https://huggingface.co/docs/peft/package_reference/peft_model): `is_trainable`
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"DistributedDataParallel is not needed when a module doesn't have any parameters? that requires? a gradient",
        r"replicas_\[0\]\.size\(\) >= 1 ASSERT FAILED.{0,120}reducer\.cpp",
        r"tensors\.size\(\) > 0 INTERNAL ASSERT FAILED.{0,120}reducer\.cpp",  # 1.1 to 1.3, before the clear message
    ],
    message="no parameter of the module that DDP was given requires a gradient: there is nothing to share out",
    fixes=[
        Fix(
            "Do not wrap a network that is only evaluated, move it alone",
            "teacher = teacher.eval().requires_grad_(False).to(device)",
            Kind.EDIT,
            proof="teacher = teacher.eval().requires_grad_(False).to(",
        ),
        Fix(
            "Unfreeze or add what is to be trained before the wrap",
            "model.head.requires_grad_(True)\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "Load an adapter to go on training it",
            'model = PeftModel.from_pretrained(base, "ADAPTER", is_trainable=True)',
            Kind.EDIT,
        ),
    ],
)
