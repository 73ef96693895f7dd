"""The checkpoint's keys bear a wrapper's prefix, module. or _orig_mod.

## What happens

`load_state_dict` reports every key twice: `Missing key(s) in state_dict: "conv1.weight"` and `Unexpected key(s) in
state_dict: "module.conv1.weight"`, or the other way round. With `strict=False`, and in libraries that load so (mmcv,
detectron2, transformers), nothing fails, nothing is loaded, and the model starts from random weights.

## Why

DataParallel and DistributedDataParallel keep the model in their attribute `module`, `torch.compile` in `_orig_mod`,
a LightningModule where `self.model = …` says. The wrapper's `state_dict()` has that name in front of each key. A
checkpoint that was saved from a wrapped model fits a wrapped one only, and the reverse.

## How to tell

`gpudoctor checkpoint inspect model.pt` shows the keys and who put the prefix there, and `--against` compares them with
another file or with the model. If they are those of the model but for the prefix, this is it; if they differ otherwise
too, the checkpoint belongs to another model.

## See also

- [consume_prefix_in_state_dict_if_present](https://docs.pytorch.org/docs/stable/generated/torch.nn.modules.utils.html)
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): DataParallel
"""

import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Source, Symptom
from gpudoctor.facts import CheckpointFile, Prefix, StateDict

NAMES = r"(?:module|_orig_mod|_forward_module|_fsdp_wrapped_module)"
PREFIX = rf"(?P<prefix>{NAMES})\."
# On both sides, the keys differ by something else: state-dict-architecture.
MISSING = rf"[Mm]issing[ _]keys?(\(s\))?\W.{{0,22}}?['\" ]{NAMES}\."
UNEXPECTED = rf"[Uu]nexpected[ _]keys?(\(s\))?\W.{{0,22}}?['\" ]{NAMES}\."
BOTH_SIDES = rf"\A(?=[\s\S]*{MISSING})[\s\S]*{UNEXPECTED}"
# Keys of a wrapped model that it does not have, or those of a file that holds more than the model.
WRAPPED = (
    r"state_dict for (Distributed)?DataParallel:\s{1,9}Unexpected key\(s\) in state_dict: .module\.|"
    r"Unexpected key\(s\) in state_dict: .(epoch|state_dict|model|model_state_dict|optimizer|net|arch|best_\w+|iteration)['\"]"
)
# Any other prefix shows in the first key of each list: the one ends with the other.
BETWEEN = r"\"[\s\S]{0,9000}?Unexpected key\(s\) in state_dict: \""
IN_FILE = rf"Missing key\(s\) in state_dict: \"(?P<key>\w+\.[\w.]{{1,200}}){BETWEEN}(?P<prefix>[\w.]{{1,100}})\.(?P=key)\""
IN_MODEL = rf"Missing key\(s\) in state_dict: \"(?P<prefix>[\w.]{{1,100}}?)\.(?P<key>\w+\.[\w.]{{1,200}}){BETWEEN}(?P=key)\""
IN_SOURCE = r"[Uu]nexpected keys? in source state_dict: (?P<prefix>[\w.]{1,100}?)\.(?P<key>\w+\.[\w.]{1,200}),[\s\S]{0,9000}?missing keys? in source state_dict: (?P=key)\b"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            rf"(Missing|Unexpected) key\(s\) in state_dict: ['\"]{PREFIX}", unless=rf"{BOTH_SIDES}|{WRAPPED}"
        ),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict: \"\w", near=IN_FILE),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict: \"\w", near=IN_MODEL),
        # what load_state_dict(strict=False) returns
        Symptom(rf"(unexpected_keys|missing_keys)=\[['\"]{PREFIX}", unless=BOTH_SIDES),
        rf"unexpected key \"{PREFIX}\S* in state_dict",  # until 0.3
        rf"missing keys in state_dict: \"\{{'{PREFIX}",
        rf"KeyError: ['\"]{PREFIX}[\w.]+\.(weight|bias|running_mean|running_var)['\"]",
        rf"were not used when initializing \w+: [\[{{]['\"]{PREFIX}",  # transformers
        rf"newly initialized: [\[{{]['\"]{PREFIX}",
        rf"Weights from pretrained model not used in \w+: \[['\"]{PREFIX}",  # pytorch_pretrained_bert
        Symptom(
            rf"([Uu]nexpected|[Mm]issing) keys? in source state_dict: {PREFIX}", unless=BOTH_SIDES
        ),  # mmcv
        Symptom(r"([Uu]nexpected|[Mm]issing) keys? in source state_dict: \w", near=IN_SOURCE),
        Symptom(  # detectron2
            r"state_dict contains keys that are not used by the model",
            near=rf"not used by the model:?\s{{1,9}}{PREFIX}",
        ),
    ],
    message="keys bear <prefix>. on one side alone: the model was wrapped when it was saved or is when it is loaded",
    fixes=[
        Fix(
            "Save the model, not its wrapper",
            'torch.save(model.module.state_dict(), "model.pt")',
            Kind.EDIT,
        ),
        Fix(
            "Mend the file: write a copy without the prefix that it has",
            "gpudoctor checkpoint fix model.pt -o mended.pt --strip-prefix <prefix>.",
        ),
        Fix(
            "Or a copy with it, for a wrapped model",
            "gpudoctor checkpoint fix model.pt -o mended.pt --add-prefix <prefix>.",
        ),
        Fix(
            "Load a checkpoint that has the prefix into a bare model",
            'state = torch.load("model.pt", map_location="cpu", weights_only=True)\n'
            'torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "<prefix>.")\n'
            "model.load_state_dict(state)",
            Kind.EDIT,
        ),
        Fix(
            "The same for any prefix and any version of torch",
            'state = {key.removeprefix("module.").removeprefix("_orig_mod."): value for key, value in state.items()}',
            Kind.EDIT,
        ),
        Fix(
            "Load a checkpoint without the prefix into a wrapped model",
            "model.module.load_state_dict(state)",
            Kind.EDIT,
        ),
    ],
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """A prefix on all keys of a state dict, or inside of their names; the file may be meant for a wrapped model."""
    for state in file.state_dicts:
        for prefix in state.prefixes:
            if prefix.text.startswith("*"):
                yield inside(prefix, state, file)
            elif prefix.keys == prefix.total:
                yield in_front(prefix, state, file)


def in_front(prefix: Prefix, state: StateDict, file: CheckpointFile) -> Finding:
    """Report a prefix that all keys bear: a warning for a wrapper's, a note for what may be the model's own."""
    own = prefix.text.endswith(("model.", "net."))
    who = "which may be the model's own, or " if own else "which comes from "
    said = f"all {prefix.keys} keys{of(state)} bear {prefix.text}, {who}{prefix.wrapper}"
    said += "" if own else ": a bare model does not load them"
    mend = Fix(
        "Write a copy for a bare model; the tensors are copied as they are",
        f"{mending(file)} --strip-prefix {prefix.text}",
    )
    load = Fix(
        "Or take it off while loading",
        f'state = {{key.removeprefix("{prefix.text}"): value for key, value in state.items()}}',
        Kind.EDIT,
    )
    wrapped = Fix(
        "Or load it into a model that is wrapped in the same way", "wrapped.load_state_dict(state)", Kind.EDIT
    )
    return check.found(
        said,
        severity=Severity.NOTE if own else Severity.WARNING,
        source=Source.CHECKPOINT,
        evidence=[key.name for key in state.keys[:2]],
        fixes=[mend, load, wrapped] if mendable(state, file) else [load, wrapped],
    )


def inside(prefix: Prefix, state: StateDict, file: CheckpointFile) -> Finding:
    """Report a wrapper's name in the middle of keys."""
    name = prefix.text.removeprefix("*.")
    said = f"{prefix.keys} of {prefix.total} keys{of(state)} have {name} inside, which comes from {prefix.wrapper}"
    pattern = "\\." + name.replace(".", "\\.") + "=."
    mend = Fix("Write a copy for a model without it", f"{mending(file)} --rename '{pattern}'")
    load = Fix(
        "Or take it out while loading",
        f'state = {{key.replace("{name}", ""): value for key, value in state.items()}}',
        Kind.EDIT,
    )
    example = [key.name for key in state.keys if f".{name}" in key.name][:2]
    return check.found(
        said,
        severity=Severity.NOTE,
        source=Source.CHECKPOINT,
        evidence=example,
        fixes=[mend, load] if mendable(state, file) else [load],
    )


def mendable(state: StateDict, file: CheckpointFile) -> bool:
    """Tell whether ``checkpoint fix`` can rename these keys: those of a dict in a file of its own."""
    pickled = any(entry.kind == "module" and entry.path == state.entry for entry in file.entries)
    return file.kind in ("torch zip", "torch legacy", "safetensors") and not pickled


def mending(file: CheckpointFile) -> str:
    """Write the command that mends a file into a copy of the same kind of name."""
    _, dot, suffix = file.path.rpartition("/")[2].rpartition(".")
    return f"gpudoctor checkpoint fix {shlex.quote(file.path)} -o mended.{suffix if dot and suffix.isalnum() else 'pt'}"


def of(state: StateDict) -> str:
    """Name the entry that a state dict is."""
    return f" of {state.entry!r}" if state.entry else ""
