"""The checkpoint's keys are those of another model.

## What happens

`load_state_dict` reports "Missing key(s) in state_dict" and "Unexpected key(s) in state_dict", and the two lists differ
by more than a wrapper's prefix. Or the file is not what it was taken for: `KeyError: 'state_dict'`. With `strict=False`
the parameters that are missing keep their random values.

## Why

- Another architecture, depth or option than the one that was saved: another backbone, a head more or less.
- The code was changed since: a layer got another name or place.
- A library changed its keys: transformers 4.31 dropped `embeddings.position_ids`, timm and torchvision renamed layers.
- An adapter (LoRA), quantised or EMA weights; or the file holds more than the model: `{"model": …, "optimizer": …}`.

## How to tell

Compare both sets of keys: `set(torch.load("model.pt", map_location="cpu", weights_only=True)) ^ set(model.state_dict())`. Keys with one
common stem name the part that differs. If they agree but for a prefix, it is `state-dict-prefix`.

## See also

- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): also a part of the keys, with `strict=False`
- [load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict): `strict`, and the keys that it returns
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Comparison, Outcome
from gpudoctor.wordings import (
    BETWEEN_LISTS,
    MISSING_WRAPPED,
    NOT_A_STATE_DICT,
    NOTHING_UNEXPECTED,
    SIZED_WRAPPED,
    UNEXPECTED_WRAPPED,
    WRAPPER,
)

# A wrapper's prefix on one side alone is state-dict-prefix; on both sides the keys differ otherwise.
ONE_SIDE = rf"\A(?![\s\S]*(?:{NOT_A_STATE_DICT}|{NOTHING_UNEXPECTED}|{SIZED_WRAPPED}))(?!(?=[\s\S]*{MISSING_WRAPPED})[\s\S]*{UNEXPECTED_WRAPPED})[\s\S]*({MISSING_WRAPPED}|{UNEXPECTED_WRAPPED})"
# Any other prefix shows in the first key of each list: the one ends with the other.
IN_FILE = (
    rf"Missing key\(s\) in state_dict:? \"(?P<a>\w+\.[\w.]{{1,200}}){BETWEEN_LISTS}[\w.]{{1,100}}\.(?P=a)\""
)
IN_MODEL = (
    rf"Missing key\(s\) in state_dict:? \"[\w.]{{1,100}}?\.(?P<b>\w+\.[\w.]{{1,200}}){BETWEEN_LISTS}(?P=b)\""
)
# Or inside of them, where a part of the model is wrapped.
INSIDE_MODEL = (
    rf"Missing key\(s\) in state_dict:? \"(?P<d>[\w.]{{1,100}}?)\.{WRAPPER}\.(?P<e>[\w.]{{1,200}})"
    rf"{BETWEEN_LISTS}(?P=d)\.(?P=e)\""
)
INSIDE_FILE = (
    rf"Missing key\(s\) in state_dict:? \"(?P<f>[\w.]{{1,100}}?)\.(?P<g>[\w.]{{1,200}})"
    rf"{BETWEEN_LISTS}(?P=f)\.{WRAPPER}\.(?P=g)\""
)
# A wrapped model has no key without the wrapper's name.
BARE = rf"state_dict for (?:Distributed)?DataParallel:\s{{1,9}}Unexpected key\(s\) in state_dict:? .(?!{WRAPPER}\.)\w+\."
PREFIX = rf"{ONE_SIDE}|{IN_FILE}|{IN_MODEL}|{INSIDE_MODEL}|{INSIDE_FILE}|{BARE}"
FIRST = r"['\"](?P<key>[\w.-]+)"
# mmcv and mmengine only print it unless strict=True; of a backbone without its head it is meant so.
RAISED = (
    r"RuntimeError: (?:Error\(s\) in loading state_dict|The model and loaded state dict do not match exactly)"
)
IN_SOURCE = r"unexpected keys? in source state_dict: [\w.]{1,100}?\.(?P<c>\w+\.[\w.]{1,200}),[\s\S]{0,9000}?missing keys? in source state_dict: (?P=c)\b"
LISTED = re.compile(r"(?:Missing|Unexpected) key\(s\) in state_dict:? (.{1,4000})")
LOADING = (
    r"torch\.load\(|load_state_dict|load_checkpoint|load_from_checkpoint|(?:checkpoint|ckpt|saved|state)\["
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(rf"(Missing|Unexpected) key\(s\) in state_dict:? {FIRST}", unless=PREFIX),
        Symptom(rf"KeyError: .(unexpected key|missing keys) .{{0,20}}?{FIRST}", unless=ONE_SIDE),  # until 0.3
        Symptom(
            rf"([Uu]nexpected|[Mm]issing) keys? in source state_dict: (?!{WRAPPER}\.)(?P<key>[\w.-]+)",
            near=RAISED,
            unless=rf"{ONE_SIDE}|{IN_SOURCE}",
        ),
        # the middle of a list of keys
        Symptom(
            r"^[\w.]{0,100}\", (?:\"[\w.]+\", ){0,400}?\"(?!module\.)[\w.]+\.(?:weight|bias)\", ",
            unless=r"key\(s\) in state_dict|size mismatch for",
        ),
        # its first line alone: keys or sizes differ, and which is not told
        Symptom(
            r"RuntimeError: Error\(s\) in loading state_dict for (?P<model>\w+):?\W{0,4}$",
            unless=r"(?:Missing|Unexpected) key\(s\)|size mismatch for|[Ww]hile copying the parameter",
        ),
        r"RuntimeError: Missing key in checkpoint state_dict: (?P<key>[\w.-]*\w)",  # torch.distributed.checkpoint
        r"RuntimeError: Checkpoint at .{1,300} is missing keys: \W{0,3}(?P<key>[\w.-]*\w)",
        # the file is not what it was taken for
        r"KeyError: (?P<key>['\"](?:model_|net_|ema_|optimizer_)?state_dict(?:_ema)?['\"]) *$",
        Symptom(
            r"KeyError: (?P<key>['\"](?:model|net|model_ema|ema|weights|params|teacher|student|optimizer)['\"]) *$",
            near=LOADING,
        ),
        r"TypeError: Expected state_dict to be dict-like, got",
        r"OrderedDict' object has no attribute '(?:eval|train|parameters|named_parameters|modules|state_dict|load_state_dict|forward)'",
        r"'dict' object has no attribute '(?:eval|parameters|named_parameters|state_dict|load_state_dict)'",
        r"Trying to restore (?:training|optimizer) state but checkpoint contains only the model",  # Lightning
        r"KeyError: (?P<key>'pytorch-lightning_version')",
        r"Cannot load .{1,300} because the following keys are missing",  # diffusers
        r"Cannot load model parameters from checkpoint .{0,300}; please ensure that the architectures match",  # fairseq
        # transformers and huggingface_hub, of a checkpoint in shards; Lightning
        rf"^\W{{0,4}}(?:RuntimeError: )?(?:Error\(s\) in loading state_dict for \w{{1,100}}\s{{1,4}})?(?:Missing|Unexpected) key\(s\): {FIRST}",
        r"contains a key '(?P<key>[\w.-]{1,200})' that does not exist in the loaded checkpoint",
    ],
    message="the model and the file have different keys[, such as <key>], and no wrapper's prefix explains it",
    fixes=[
        Fix(
            "Build the model as it was when it was saved, then load strictly",
            "model.load_state_dict(state, strict=True)",
            Kind.EDIT,
        ),
        Fix(
            "Take the model out of a file that holds more: print its keys first",
            'file = torch.load("model.pt", map_location="cpu", weights_only=True)\nprint(*file)\n'
            'model.load_state_dict(file["model"])',
            Kind.EDIT,
            proof='model.load_state_dict(file["model"])',
        ),
        Fix(
            "Drop by name what is not wanted on purpose, and look at what is left",
            'state = {k: v for k, v in state.items() if not k.endswith("position_ids")}\n'
            "print(model.load_state_dict(state, strict=False))",
            Kind.EDIT,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Leave it to state-dict-shape where more tensors differ in size than keys differ in name."""
    listed = sum(keys.count(",") + 1 for keys in LISTED.findall(sighting.around))
    if listed and sighting.around.count("size mismatch for ") >= listed:
        return
    if "model" in sighting.groups:
        model = sighting.groups["model"]
        yield check.found(
            f"the file does not fit {model}: which keys or sizes differ stands below that line, and is not here"
        )
        return
    such = f", such as {sighting.groups['key']}" if "key" in sighting.groups else ""
    said = f"the model and the file have different keys{such}, and no wrapper's prefix explains it"
    yield check.found(said)


@check.checkpoint
def checkpoint(comparison: Comparison) -> Iterator[Finding]:
    """Keys that differ from those of what the file was compared with."""
    if comparison.outcome is Outcome.ARCHITECTURE:
        copy = Fix("Write a copy with the target's names", comparison.fix_line)
        load = Fix("Load what fits the target's names", comparison.load_line, Kind.EDIT)
        fixes = [fix for fix in (copy, load) if fix.command]
        yield check.found(comparison.said, evidence=comparison.evidence, fixes=fixes or None)
