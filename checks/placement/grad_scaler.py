"""The gradient scaler of mixed precision is used in a way that cannot work.

## What happens

"ValueError: Attempting to unscale FP16 gradients.", "AssertionError: No inf checks were recorded for this optimizer.",
"unscale_() has already been called on this optimizer since the last update()", or "Attempted step but _scale is None".

## Why

| message | why |
| --- | --- |
| Attempting to unscale FP16 gradients | the weights themselves are float16 (`model.half()`, `torch_dtype=torch.float16`, LoRA weights of a model that was loaded so): mixed precision wants them in float32 and computes in float16 |
| No inf checks were recorded | the optimizer saw no gradient: nothing was computed with its parameters, they are frozen, or `zero_grad()` came between `backward` and `step` |
| unscale_() has already been called, step() has already been called | twice in one step: clipping in two places, or `update()` was left out |
| unscale_() is being called after step() | clip before the step |
| _scale is None | `backward` on the loss itself instead of `scaler.scale(loss)` |

## How to tell

`print({p.dtype for p in model.parameters() if p.requires_grad})` must be float32 alone for float16 training. For the
second: `print(sum(p.grad is not None for g in optimizer.param_groups for p in g["params"]))` before `scaler.step`.

## See also

- [Mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): clipping, several optimizers
- [GradScaler](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling): what it scales, and its methods
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<half>(?:Attempting to )?unscale (?:FP|fp)16 [Gg]radients)",
        r"(?P<nothing>No inf checks were recorded (?:for this optimizer|prior to update))",
        r"(?P<twice>(?:unscale_|step)\(\)) has already been called (?:on this optimizer )?since the last update",
        r"unscale_\(\) is being called (?P<late>after step)",
        r"Attempted (?P<unscaled>\w+) but _scale is None",
    ],
    message='the gradient scaler cannot work[: the weights are float16 themselves ("<half>")][: the optimizer saw no gradient '
    '("<nothing>")][: <twice> was called twice in one step][: gradients are clipped <late>][: <unscaled> came without '
    "scaler.scale(loss)]",
    follows=["loss-not-finite"],
    fixes=[
        Fix(
            "<half>: keep the weights that are trained in float32, and let autocast compute in float16",
            "for p in model.parameters():\n    if p.requires_grad:\n        p.data = p.data.float()",
            Kind.EDIT,
        ),
        Fix(
            "One step in the order that the scaler wants",
            "scaler.scale(loss).backward()\nscaler.unscale_(optimizer)  # only to clip, and once\n"
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)\nscaler.update()\n"
            "optimizer.zero_grad(set_to_none=True)",
            Kind.EDIT,
            proof="scaler.unscale_(optimizer)",
        ),
        Fix(
            "<nothing>: step only an optimizer whose parameters got gradients",
            'if any(p.grad is not None for g in optimizer.param_groups for p in g["params"]):\n    scaler.step(optimizer)',
            Kind.EDIT,
        ),
        Fix(
            "From Ampere on: bfloat16 needs no scaler",
            'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = loss_function(model(x), target)\nloss.backward()',
            Kind.EDIT,
        ),
    ],
)
