"""A model spread over all GPUs is trained by several processes.

## What happens

accelerate says "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode", or the
same of "8-bit or 4-bit precision on multiple devices". DeepSpeed: "Zero-3 is not compatible with passing a
`device_map`". transformers warns: "You've set device_map=`auto` while triggering a distributed run with torchrun".

## Why

`device_map="auto"` cuts one model into pieces and puts them on all the GPUs that a process sees, or on the CPU and the
disk. DistributedDataParallel wants a whole copy per process, on that process's own GPU. Under torchrun or
`accelerate launch` every process would spread its copy over the same GPUs. A model beside it that is not trained, a
teacher, takes memory on the other ranks' GPUs in the same way.

A quantised model must also be loaded straight onto the GPU where it is trained: it is not moved later.

## How to tell

`print(model.hf_device_map)`: several devices in it mean that the model is spread. In the code, look for `device_map=`;
in the launch, for torchrun or a number of processes above 1.

## See also

- [transformers#31557](https://github.com/huggingface/transformers/issues/31557): the message, and what helps
- [Big model inference](https://huggingface.co/docs/accelerate/concept_guides/big_model_inference): `device_map`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning for a model that is not wrapped",
    symptoms=[
        r"can't train a model that has been loaded with `?device_map=\W?(?P<map>\w+)\W{1,3}in any distributed mode",
        r"can't train a model that has been loaded in (?P<bits>8-bit(?: or 4-bit)?) precision (?:on|with) ",
        r"contains `?DTensor`? parameters, which is incompatible with DDP",
        r"You've set device_map=`?(?P<map>\w+)`? while triggering a distributed run",
        r"DeepSpeed Zero-3 is not compatible with .{0,60}passing a `?device_map",
    ],
    message="the model was loaded[ in <bits> precision][ with device_map=<map>] across devices, and several processes train it: "
    "each needs a whole copy on its own GPU",
    fixes=[
        Fix(
            "Load the whole model onto this process's GPU",
            'AutoModel.from_pretrained(name, device_map={"": int(os.environ["LOCAL_RANK"])})',
            Kind.EDIT,
        ),
        Fix(
            "Or leave the placing to accelerate and the Trainer",
            "AutoModel.from_pretrained(name)  # without device_map",
            Kind.EDIT,
        ),
        Fix("Keep the model spread, and train it with one process", "python train.py"),
        Fix(
            "A model too large for one GPU: shard it, without device_map",
            "accelerate launch --use_fsdp --num_processes 8 train.py",
        ),
    ],
    no_reproduction="needs 2 GPUs and accelerate",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A model that device_map spreads over the GPUs, wrapped in DistributedDataParallel."""
    for wrapper in script.of_kind("ddp", "fsdp"):
        made = script.made_by(script.innermost(wrapper))
        spread = made.value("device_map").literal if made is not None else None
        if made is not None and spread in SPREADING:
            yield check.found(
                f'device_map="{spread}" spreads one model over all GPUs, and each rank that wraps it does so with the same '
                "GPUs",
                location=made.place,
            )
            return
    if script.process_group is None or any("CUDA_VISIBLE_DEVICES" in call.variable for call in script.calls):
        return
    for call in script.calls:
        if (
            call.method == "from_pretrained"
            and call.value("device_map").literal in SPREADING
            and call.reached
        ):
            if call.number > script.process_group.number and not call.rank_conditions:
                yield check.found(
                    f'device_map="{call.value("device_map").literal}" on every rank spreads this model over all GPUs of the '
                    "node, those of the other ranks too",
                    severity=Severity.WARNING,
                    location=call.place,
                )


SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
"""Values of device_map that use all GPUs that are visible (transformers' and accelerate's documentation)."""
