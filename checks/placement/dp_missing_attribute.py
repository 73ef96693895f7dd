"""The wrapper around the model does not pass on the model's attributes.

## What happens

"'DataParallel' object has no attribute 'config'", after wrapping, for a method, a layer or a setting that the model
itself has. The same with DistributedDataParallel, FullyShardedDataParallel, a DeepSpeed engine or `torch.compile`.
The other way round: "'ResNet' object has no attribute 'module'", where the code expects a wrapper and there is none.

## Why

DataParallel and its relatives pass on `forward` and what every `nn.Module` has, and nothing else. The model is inside,
at `.module`. Code that was written for one GPU asks the wrapper; code that was written for several asks the bare model
for `.module` when it runs on one.

## How to tell

`print(type(model), type(getattr(model, "module", model)))` shows the wrapper and what is inside. With Hugging Face's
Trainer a DataParallel that nobody wrote comes from several visible GPUs under plain `python`.

A method that computes with parameters should be called through `forward`: what goes around the wrapper goes around
DistributedDataParallel's gradient averaging too.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): the model is its `.module`
- [diffusers#8477](https://github.com/huggingface/diffusers/issues/8477): `unwrap_model` of accelerate
"""

from gpudoctor import Check, Fix, Kind, Severity

WRAPPER = (
    r"\w*DataParallel\w*|FullyShardedDataParallel|OptimizedModule|DeepSpeedEngine|PipelineEngine|DDP|FSDP|"
    r"_FabricModule|_LightningModuleWrapperBase"
)
# Names of the wrappers' own: another version of torch is missing them.
OWN = r"_sync_|_former_parameters|_module_copies|_ddp_|_set_|_rebuild_|_fsdp_|require_|ddp_|reducer'|no_sync'|module'"
NOT_A_MODEL = r"NoneType|DataFrame|Tensor|Namespace|Parameter"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"'(?P<wrapper>{WRAPPER})' object has no attribute '(?!{OWN})(?P<name>\w+)'",
        rf"'(?!(?:{NOT_A_MODEL}|{WRAPPER})')(?P<bare>[A-Z]\w+)' object has no attribute 'module'(?!\w)",
    ],
    message="[<wrapper> does not pass on <name>: ask the model inside, at .module][<bare> is not wrapped, so it has no .module]",
    fixes=[
        Fix(
            "Ask the model inside for <name>; it works with and without the wrapper",
            'getattr(model, "module", model).<name>',
            Kind.EDIT,
            proof='getattr(model, "module", model).',
        ),
        Fix(
            "Keep a name for the model before it is wrapped, and use that one for all but forward",
            "bare = model\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix("With accelerate", "accelerator.unwrap_model(model)", Kind.EDIT),
        Fix(
            "Where several GPUs are not wanted at all, show the program one",
            "CUDA_VISIBLE_DEVICES=0 python train.py",
        ),
    ],
)
