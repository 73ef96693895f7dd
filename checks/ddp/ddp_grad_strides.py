"""DDP copies gradients that lie in memory in another order than it expects.

## What happens

A warning, once per run: "Grad strides do not match bucket view strides. This may indicate grad was not created
according to the gradient layout contract … This is not an error, but may impair performance." The lines after it name
sizes and strides.

## Why

DDP keeps gradients in flat buckets, laid out as the parameters are. A gradient in another order has to be copied:

- A convolution with a 1 x 1 kernel: cuDNN returns its gradient in the channels-last order, or the other way round.
- The input of a layer was turned by `permute` or `transpose`.
- `channels_last` is used for the model and not for its input, or changed after the wrap.

Results are right. It is never why a run failed: look for another line.

## How to tell

The sizes in the next line name the layer: `[n for n, p in model.named_parameters() if list(p.shape) == SIZES]`.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): `gradient_as_bucket_view`, and strides that must agree
- [latent-diffusion issue 281](https://github.com/CompVis/latent-diffusion/issues/281): the warning at a 1 x 1 convolution
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

WARNS = r"Grad strides do not match bucket view strides"
SIZES = r"grad\.sizes\(\) = (?P<sizes>\[[\d, ]*\]), strides\(\) = (?P<strides>\[[\d, ]*\])"

check = Check(
    severity=Severity.NOTE,
    symptoms=[Symptom(WARNS, near=SIZES), Symptom(WARNS, unless=SIZES)],
    message="DDP copies a gradient[ of sizes <sizes> and strides <strides>] whose order in memory is not its parameter's; "
    "harmless, and a little slower",
    fixes=[
        Fix(
            "Give the layer that is named an input in plain order, or leave it as it is",
            "x = self.proj(x.permute(0, 3, 1, 2).contiguous())",
            Kind.EDIT,
        ),
        Fix(
            "Use channels_last for model and input alike, before the wrap",
            "model = model.to(memory_format=torch.channels_last)\nx = x.to(memory_format=torch.channels_last)",
            Kind.EDIT,
            proof="model = model.to(memory_format=torch.channels_last)",
        ),
    ],
)
