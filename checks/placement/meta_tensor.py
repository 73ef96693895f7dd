"""Weights are still on the meta device, where a tensor has a shape and no numbers.

## What happens

"NotImplementedError: Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of
torch.nn.Module.to()", "Tensor.item() cannot be called on meta tensors", or "Tensor on device meta is not on the expected
device cuda:0!". Before it, torch may warn "copying from a non-meta parameter in the checkpoint to a meta parameter in
the current model, which is a no-op".

## Why

The meta device makes large models without memory; the numbers must be filled in before anything is computed.

- `.to("cuda")` or `.cuda()` after loading with `device_map`, where parts were put on the CPU or the disk
  ("offloaded"), or under `torch.device("meta")`.
- `load_state_dict` without `assign=True` into a model on meta: it copies nothing.
- A weight is not in the checkpoint, or under another name: it was never filled in. A buffer that is not saved
  (`persistent=False`) is the same.
- FSDP or DeepSpeed fill in on rank 0 only, and the others ask too early.

## How to tell

`[name for name, p in model.named_parameters() if p.is_meta]`, and the same for `named_buffers()`. Where all are listed
nothing was loaded; where a few are, they are missing from the checkpoint: `gpudoctor checkpoint inspect FILE`.

## See also

- [Meta device](https://docs.pytorch.org/docs/stable/meta.html): `to_empty`, and loading with `assign=True`
- [load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html): `assign`, `to_empty`
- [Big model inference](https://huggingface.co/docs/accelerate/concept_guides/big_model_inference): what is offloaded
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting

# What shows that a library placed the model, and not the script.
PLACED = re.compile(
    r"device_map|low_cpu_mem_usage|from_pretrained|accelerate[/\\](?:hooks|big_modeling)|offload|dispatch_model"
)
LOADED = re.compile(r"load_state_dict|which is a no-op")

MAP = Fix(
    "After loading with device_map: do not move the model, it is placed already; or load it whole",
    "model = AutoModel.from_pretrained(name)  # without device_map and low_cpu_mem_usage\nmodel.to(device)",
    Kind.EDIT,
)
ASSIGN = Fix(
    "Load a state dict into a model on meta",
    "model.load_state_dict(state, assign=True)",
    Kind.EDIT,
    proof="model.load_state_dict(state, assign=True)",
)
FRESH = Fix(
    "Start with fresh weights: make memory, then fill it, every module with its own method",
    "model.to_empty(device=device)\nfor module in model.modules():\n"
    '    if hasattr(module, "reset_parameters"):\n        module.reset_parameters()',
    Kind.EDIT,
)
SEE = Fix(
    "See what was not filled in",
    "print([name for name, p in model.named_parameters() if p.is_meta])",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"FSDP parameters should be materialized from meta device before training(?:, but the following were still on meta device: \['(?P<name>[\w.]+)')?",
        r"Cannot copy out of meta tensor; no data",
        r"Tensor\.item\(\) cannot be called on meta tensors",
        r"can't convert meta device type tensor to numpy",
        # the other way round, a tensor that did not follow its model, is device-mismatch
        r"Tensor on device meta is not on the expected device (?P<device>[\w:]+)",
        r"found at least two devices, (?:meta and (?P<device>[\w:]+)|(?P<other>[\w:]+) and meta)\b",
        r"(?P<name>[\w.]+): copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op",
        r"(?P<name>[\w.]+) is on the meta device, we need a `?value\b",
        r"attempted to run this operator with Meta tensors",
        r"\bsome parameters are on the meta device\b",  # accelerate
        r"(?P<name>[\w.]{1,200}) is on the meta device because it was offloaded",  # transformers
    ],
    fixes=[FRESH, ASSIGN, MAP, SEE],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Give first what helps where a library placed the model, where a state dict was loaded, or where neither shows."""
    fixes = [FRESH, ASSIGN, SEE, MAP]
    if LOADED.search(sighting.around):
        fixes = [ASSIGN, FRESH, SEE, MAP]
    if PLACED.search(sighting.around):
        fixes = [MAP, ASSIGN, SEE, FRESH]
    name = f", among them {sighting.groups['name']}," if "name" in sighting.groups else ""
    device = sighting.groups.get("device") or sighting.groups.get("other")
    others = f", and others on {device}" if device else ""
    yield check.found(
        f"weights{name} are on the meta device, which holds no numbers{others}: they were never loaded, or must be "
        "loaded in another way",
        fixes=fixes,
    )
