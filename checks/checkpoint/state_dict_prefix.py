"""The checkpoint's keys have a wrapper's prefix, module. or _orig_mod.

## What happens

`load_state_dict` reports every key twice: `Missing key(s) in state_dict: "conv1.weight"` and `Unexpected key(s) in
state_dict: "module.conv1.weight"`, or the other way round. With `strict=False`, and in libraries that load so (mmcv,
detectron2, transformers), nothing fails, nothing is loaded, and the model starts from random weights.

## Why

DataParallel and DistributedDataParallel keep the model in their attribute `module`, `torch.compile` in `_orig_mod`,
a LightningModule where `self.model = …` says. `torch.optim.swa_utils.AveragedModel`, which averages weights, has
`module` too, and the key `n_averaged` beside it. The wrapper's `state_dict()` has that name in front of each key. A
checkpoint that was saved from a wrapped model fits a wrapped one only, and the reverse.

## How to tell

`gpudoctor checkpoint inspect FILE` shows the keys and who put the prefix there, and `--against` compares them with
another file or with the model. If they are those of the model but for the prefix, this is it; if they differ otherwise
too, the checkpoint belongs to another model.

`gpudoctor lint train.py` finds where a wrapper's own state dict is saved, and what the script loads it into.

## See also

- [consume_prefix_in_state_dict_if_present](https://github.com/pytorch/pytorch/blob/main/torch/nn/modules/utils.py): its source
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): DataParallel
"""

import json
import re
import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom, count
from gpudoctor.facts import (
    PREFIXES,
    Call,
    CheckpointFile,
    Comparison,
    Format,
    Outcome,
    Prefix,
    Script,
    StateDict,
    bare_into_wrapper,
    copying,
    lax,
    loads,
    removed,
    saved_wrappers,
    stored,
    strips,
)
from gpudoctor.wordings import (
    BETWEEN_LISTS,
    MISSING_WRAPPED,
    NOT_A_STATE_DICT,
    NOTHING_UNEXPECTED,
    SIZED_WRAPPED,
    UNEXPECTED_WRAPPED,
    WRAPPER,
)

# On which side the names have it: the file's, the model's, or one that the words do not tell.
FILE, MODEL, EITHER = (rf"(?P<{side}>{WRAPPER})\." for side in ("file", "model", "either"))
# On both sides, the keys differ by something else: state-dict-architecture.
BOTH_SIDES = rf"\A(?=[\s\S]*{MISSING_WRAPPED})[\s\S]*{UNEXPECTED_WRAPPED}"
# Any other prefix shows in the first key of each list: the one ends with the other.
IN_FILE = rf"Missing key\(s\) in state_dict:? \"(?P<key>\w+\.[\w.]{{1,200}}){BETWEEN_LISTS}(?P<file>[\w.]{{1,100}})\.(?P=key)\""
IN_MODEL = rf"Missing key\(s\) in state_dict:? \"(?P<model>[\w.]{{1,100}}?)\.(?P<key>\w+\.[\w.]{{1,200}}){BETWEEN_LISTS}(?P=key)\""
# Or inside of them, where a part of the model is wrapped.
INSIDE_MODEL = (
    rf"Missing key\(s\) in state_dict:? \"(?P<front>[\w.]{{1,100}}?)\.(?P<part_of_model>{WRAPPER})\.(?P<end>[\w.]{{1,200}})"
    rf"{BETWEEN_LISTS}(?P=front)\.(?P=end)\""
)
INSIDE_FILE = (
    rf"Missing key\(s\) in state_dict:? \"(?P<front>[\w.]{{1,100}}?)\.(?P<end>[\w.]{{1,200}})"
    rf"{BETWEEN_LISTS}(?P=front)\.(?P<part_of_file>{WRAPPER})\.(?P=end)\""
)
IN_SOURCE = r"[Uu]nexpected keys? in source state_dict: (?P<file>[\w.]{1,100}?)\.(?P<key>\w+\.[\w.]{1,200}),[\s\S]{0,9000}?missing keys? in source state_dict: (?P=key)\b"
AVERAGED = "n_averaged"
"""The key that torch.optim.swa_utils.AveragedModel has beside those of the model."""
OPENED = re.compile(
    r"\bload(?:_file)?\([rf]?['\"](?P<path>[^'\"{}\n]{1,200}\.(?:pt|pth|bin|ckpt|tar|pkl|safetensors))['\"]"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="of a file alone, a warning: it may be meant for a wrapped model; a note for a prefix of the model's own",
    symptoms=[
        Symptom(
            rf"Missing key\(s\) in state_dict:? ['\"]{MODEL}",
            unless=rf"{BOTH_SIDES}|{NOT_A_STATE_DICT}|{NOTHING_UNEXPECTED}|{SIZED_WRAPPED}",
        ),
        Symptom(
            rf"Unexpected key\(s\) in state_dict:? ['\"](?:(?P<count>n_averaged)['\"], ['\"])?{FILE}",
            unless=rf"{BOTH_SIDES}|{NOT_A_STATE_DICT}|{SIZED_WRAPPED}",
        ),
        # the middle of a list of keys
        Symptom(
            r"^[\w.]{0,100}\", (?:\"module\.[\w.]+\", ){0,400}?\"(?P<either>module)\.[\w.]+\.(?:weight|bias)\", ",
            unless=r"key\(s\) in state_dict|size mismatch for",
        ),
        # A wrapped model has no key without the wrapper's name.
        Symptom(
            rf"Unexpected key\(s\) in state_dict:? \"(?!{WRAPPER}\.)\w+\.",
            near=r"state_dict for (Distributed)?DataParallel:\s{1,9}Unexpected key",
            unless=NOT_A_STATE_DICT,
        ),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict:? \"\w", near=IN_FILE),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict:? \"\w", near=IN_MODEL),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict:? \"\w", near=INSIDE_MODEL),
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict:? \"\w", near=INSIDE_FILE),
        # what load_state_dict(strict=False) returns
        Symptom(rf"unexpected_keys=\[['\"]{FILE}", unless=BOTH_SIDES),
        Symptom(rf"missing_keys=\[['\"]{MODEL}", unless=BOTH_SIDES),
        rf"unexpected key \"{FILE}\S* in state_dict",  # until 0.3
        rf"[Uu]nexpected key: ['\"]{FILE}",  # torchtune
        rf"missing keys in state_dict: \"\{{'{MODEL}",
        rf"KeyError: ['\"]{EITHER}[\w.]+\.(weight|bias|running_mean|running_var)['\"]",
        rf"were not used when initializing \w+: [\[{{]['\"]{FILE}",  # transformers
        rf"newly initialized: [\[{{]['\"]{MODEL}",
        rf"Weights from pretrained model not used in \w+: \[['\"]{FILE}",  # pytorch_pretrained_bert
        Symptom(rf"[Uu]nexpected keys? in source state_dict: {FILE}", unless=BOTH_SIDES),  # mmcv
        Symptom(rf"[Mm]issing keys? in source state_dict: {MODEL}", unless=BOTH_SIDES),
        Symptom(r"([Uu]nexpected|[Mm]issing) keys? in source state_dict: \w", near=IN_SOURCE),
        Symptom(  # detectron2
            r"state_dict contains keys that are not used by the model",
            near=rf"not used by the model:?\s{{1,9}}{FILE}",
        ),
    ],
    message="the keys of the file or those of the model have a wrapper's prefix, and the others do not",
    fixes=[
        Fix(
            "Save the model, not its wrapper",
            'torch.save(model.module.state_dict(), "model.pt")',
            Kind.EDIT,
            proof="torch.save(model.module.state_dict(),",
        ),
        Fix(
            "Mend the file: write a copy without the prefix that it has",
            "gpudoctor checkpoint fix model.pt -o mended.pt --strip-prefix module.",
        ),
        Fix(
            "Or a copy with it, for a wrapped model",
            "gpudoctor checkpoint fix model.pt -o mended.pt --add-prefix module.",
        ),
        Fix(
            "Load a checkpoint that has the prefix into a bare model",
            'state = torch.load("model.pt", map_location="cpu", weights_only=True)\n'
            'torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")\n'
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


@check.code
def code(script: Script) -> Iterator[Finding]:
    """The wrapper's own state_dict goes into the file: an error where the bare model is to take it, or the reverse."""
    yield from into_wrapper(script)
    yield from into_prepared(script)
    yield from told_by_unwrapping(script)
    for saved in saved_wrappers(script):
        prefix = PREFIXES[saved.wrapper.kind]
        wrapped, bare = loads(script, saved)
        wrapper = saved.wrapper.type if prefix == "_orig_mod." else saved.wrapper.type.rpartition(".")[2]
        if saved.wrapper.kind == "prepared":
            wrapper = f"what {saved.wrapper.type.partition('.')[0]} prepared"
        said = f"what is saved is the state dict of {wrapper} (line {saved.wrapper.place}): its keys begin with {prefix}"
        severity = Severity.WARNING
        if strips(script, prefix):
            said, severity = f"{said}, which this script takes off again", Severity.NOTE
        elif bare:
            said, severity = (
                f"{said}, and the bare model that loads it (line {bare[0].place}) has none of them",
                Severity.ERROR,
            )
        elif wrapped and removed(script, saved.save):
            said = f"{said}, as this run needs them, which removes the file again"
            severity = Severity.NOTE
        elif wrapped:
            said = f"{said}, and only a model that is wrapped in the same way loads it"
        else:
            said = f"{said}, and no bare model will find its names there"
        yield check.found(
            said,
            severity=severity,
            location=saved.state.place,
            fixes=[PREPARED if saved.wrapper.type.startswith("accelerate.") else unwrapped(prefix)],
        )


def into_wrapper(script: Script) -> Iterator[Finding]:
    """Report a wrapper that is given what the script saves of the model inside it."""
    for found in bare_into_wrapper(script):
        call, wrapper, prefix = found.load, found.wrapper, PREFIXES[found.wrapper.kind]
        saved = (
            f"what line {found.save.place} saves has the keys of the model inside it"
            if found.sure
            else f"all that this script saves of it (line {found.save.place}) has the keys of the model inside it"
        )
        silent = call.value("strict").literal is False
        passes = "; with strict=False nothing is loaded, and nothing fails" if silent else ""
        yield check.found(
            f"{call.text} is that of the wrapper (line {wrapper.place}), whose keys begin with {prefix}, and {saved}{passes}",
            severity=Severity.ERROR if found.sure and not silent else Severity.WARNING,
            location=call.place,
            fixes=[INSIDE if prefix == "module." else INSIDE_COMPILED],
        )
        return


def into_prepared(script: Script) -> Iterator[Finding]:
    """Report accelerate's wrapper that is given what its own class saves of the model taken out of it."""
    for call in script.methods("load_state_dict", "prepared"):
        given, owner = call.value("state_dict"), call.scope.rpartition(".")[0]
        wrapper = script.thing(call.receiver, "prepared")
        if lax(call) or not owner or wrapper is None or not given.text.startswith("checkpoint["):
            continue
        saves = [c for c in script.named("torch.save") if c.scope.rpartition(".")[0] == owner]
        for saved in saves if wrapper.type.startswith("accelerate.") else ():
            state = stored(saved, given)
            taken = script.calls[state.made].receiver.made if state.made >= 0 else -1
            if taken >= 0 and script.calls[taken].method == "unwrap_model":
                yield check.found(
                    f"{call.text} is that of accelerate's wrapper, whose keys begin with module. where there are several "
                    f"processes, and what line {saved.place} saves has the keys of the model inside it",
                    location=call.place,
                    fixes=[UNWRAPPED_FIRST],
                )
                break


def told_by_unwrapping(script: Script) -> Iterator[Finding]:
    """Report the state dict of what the same function, or object, takes out of accelerate's wrapper elsewhere."""
    unwrapped: dict[str, Call] = {}
    for call in script.methods("unwrap_model"):
        given = next(iter(call.arguments.values()), None)
        if given is not None and not given.value.things:
            unwrapped.setdefault(given.text, call)
    for call in script.methods("state_dict") if unwrapped else ():
        name = call.text.removesuffix(".state_dict")
        taken = unwrapped.get(name)
        if (
            taken is None
            or call.receiver.things
            or not (taken.scope == call.scope or name.startswith("self."))
        ):
            continue
        made = call.receiver.made
        bare = 0 <= made < len(script.calls) and script.calls[made].method == "unwrap_model"
        saved = any(
            f"{call.text}()" in a.text for c in script.named("torch.save") for a in c.arguments.values()
        )
        if saved and not bare and not strips(script, "module."):
            yield check.found(
                f"what is saved is the state dict of {name}, which line {taken.place} takes out of accelerate's wrapper "
                "and this line does not: with several processes its keys begin with module., and no bare model will find "
                "its names there",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[PREPARED],
            )
            return


UNWRAPPED_FIRST = Fix(
    "Load it into the model inside",
    "accelerator.unwrap_model(model).load_state_dict(state)",
    Kind.EDIT,
    source="https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.unwrap_model",
)
INSIDE = Fix(
    "Load it into the model inside",
    "model.module.load_state_dict(state)",
    Kind.EDIT,
)
INSIDE_COMPILED = Fix(
    "Load it into the model inside",
    "model._orig_mod.load_state_dict(state)",
    Kind.EDIT,
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say on which side the prefix is, and what mends that; the file's name may stand in the traceback."""
    side = next((name for name in ("file", "model", "either") if name in sighting.groups), "model")
    prefix = f"{sighting.groups.get(side, 'module')}."
    opened = OPENED.search(sighting.around)
    path = opened["path"] if opened else "model.pt"
    if "front" in sighting.groups:
        yield part_wrapped(sighting.groups)
        return
    if "count" in sighting.groups:
        said = f"the file holds an average of weights: its keys have {prefix}, and {AVERAGED} counts the averaged models"
        fixes = [copied(path, prefix, AVERAGED), taken_off(prefix, AVERAGED)]
    elif side == "file":
        said = f"the file's keys have {prefix} and the model's do not: it was saved from a wrapped model"
        fixes = [copied(path, prefix), taken_off(prefix), unwrapped(prefix)]
    elif side == "model":
        said = f"the model's keys have {prefix} and the file's do not: the model is wrapped now, and was not when it was saved"
        fixes = putting_on(path, prefix)
    else:
        said = f"keys have {prefix} on one side alone: the model was wrapped when it was saved, or is when it is loaded"
        fixes = [copied(path, prefix), taken_off(prefix), *putting_on(path, prefix)]
    yield check.found(said, fixes=fixes)


def part_wrapped(groups: dict[str, str]) -> Finding:
    """Say that a part of the model is wrapped on one side, which puts the wrapper's name inside of its keys."""
    front, end = groups["front"], groups["end"]
    if "part_of_model" in groups:
        name, has, lacks = groups["part_of_model"], "model's", "file's"
        change = f'key.replace("{front}.", "{front}.{name}.", 1) if key.startswith("{front}.") else key'
    else:
        name, has, lacks = groups["part_of_file"], "file's", "model's"
        change = f'key.replace("{front}.{name}.", "{front}.", 1)'
    said = f"the {has} keys have {name}. behind {front}. ({front}.{name}.{end}) and the {lacks} do not: {front} is wrapped there"
    load = Fix(
        "Change the keys while loading",
        f"state = {{{change}: value for key, value in state.items()}}\nmodel.load_state_dict(state)",
        Kind.EDIT,
    )
    save = Fix(
        "Take the wrapper's name out of the keys when saving",
        f'state = {{key.replace("{front}.{name}.", "{front}.", 1): value for key, value in model.state_dict().items()}}\n'
        'torch.save(state, "model.pt")',
        Kind.EDIT,
    )
    return check.found(said, fixes=[load, save])


def copied(path: str, prefix: str, counter: str = "") -> Fix:
    """Return the line that writes a copy without a prefix, and without the entry that counts averaged models."""
    less = ", without the count" if counter else ""
    drop = f" --drop {shlex.quote(counter)}" if counter else ""
    return Fix(
        f"Write a copy for a bare model{less}; the tensors are copied as they are",
        f"gpudoctor checkpoint fix {copying(path, 'mended')}{drop} --strip-prefix {prefix}",
    )


def taken_off(prefix: str, counter: str = "", model: str = "model") -> Fix:
    """Return the lines that load a state dict without a prefix, and without the count of averaged models."""
    summary = "Or take it off while loading"
    lines = f'state = {{key.removeprefix("{prefix}"): value for key, value in state.items()}}\n{model}.load_state_dict(state)'
    if counter:
        summary = "Or take both off while loading"
        lines = f'state.pop("{counter}")\n{lines}'
    return Fix(summary, lines, Kind.EDIT)


def putting_on(path: str, prefix: str) -> list[Fix]:
    """Return what loads a file without a prefix into a wrapped model, or mends it."""
    return [
        Fix(
            "Load it into the model inside of the wrapper", f"model.{prefix}load_state_dict(state)", Kind.EDIT
        ),
        Fix(
            "Or write a copy with the prefix",
            f"gpudoctor checkpoint fix {copying(path, 'mended')} --add-prefix {prefix}",
        ),
    ]


PREPARED = Fix(
    "Save what is inside of accelerate's wrapper",
    'torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")',
    Kind.EDIT,
)


def unwrapped(prefix: str) -> Fix:
    """Return how to save a model so that its file has no prefix."""
    return Fix(
        "Save the model next time, not its wrapper",
        f'torch.save(model.{prefix}state_dict(), "model.pt")',
        Kind.EDIT,
    )


@check.checkpoint
def checkpoint(file: CheckpointFile, comparison: Comparison | None) -> Iterator[Finding]:
    """A prefix on all keys of a state dict, or inside of their names.

    The file may be meant for a wrapped model; what it was compared with tells.
    """
    if comparison is not None:
        yield from known(comparison)
        return
    for state in file.state_dicts:
        for prefix in state.prefixes:
            if prefix.text.startswith("*"):
                yield inside(prefix, state, file)
            elif prefix.keys == prefix.total:
                yield in_front(prefix, state, file)


def known(comparison: Comparison) -> Iterator[Finding]:
    """Report a prefix that keeps the file from loading into what it was compared with."""
    if comparison.outcome is Outcome.PREFIX:
        copy = Fix("Write a copy with the target's names", comparison.fix_line)
        load = Fix("Or load it under the target's names", comparison.load_line, Kind.EDIT)
        fixes = [fix for fix in (copy, load) if fix.command]
        yield check.found(comparison.said, evidence=comparison.evidence, fixes=fixes or None)


def in_front(prefix: Prefix, state: StateDict, file: CheckpointFile) -> Finding:
    """Report a prefix that all keys have: a note for what may be the model's own, or an average beside the model."""
    own = prefix.text.endswith(("model.", "net."))
    who = "which may be the model's own, or " if own else "which comes from "
    besides = f" but {AVERAGED}" if prefix.keys < len(state.keys) else ""
    said = (
        f"all {count(prefix.keys, 'key')}{state.of_entry}{besides} have {prefix.text}, {who}{prefix.wrapper}"
    )
    said += "" if own else ": a bare model does not load them"
    if file.is_module(state.entry):
        fixes = [unpickled(prefix, state, file)]
    else:
        fixes = (averaged if besides else renamed)(prefix, state, file)
    return check.found(
        said,
        severity=Severity.NOTE if own or (besides and len(file.state_dicts) > 1) else Severity.WARNING,
        evidence=[key.name for key in state.keys if key.name != AVERAGED][:2],
        fixes=fixes,
    )


def renamed(prefix: Prefix, state: StateDict, file: CheckpointFile) -> list[Fix]:
    """Return what takes a prefix off, or loads the keys as they are."""
    same = "Or load it into a model that is wrapped in the same way"
    load = [taken_off(prefix.text), Fix(same, "wrapped.load_state_dict(state)", Kind.EDIT)]
    return [copied(file.path, prefix.text), *load] if mendable(state, file) else load


def averaged(prefix: Prefix, state: StateDict, file: CheckpointFile) -> list[Fix]:
    """Return what loads an average of weights, which has a count beside the model's keys."""
    counter = f"{state.entry}.{AVERAGED}" if state.entry else AVERAGED
    lines = "swa = torch.optim.swa_utils.AveragedModel(model)\nswa.load_state_dict(state)\nmodel = swa.module"
    load = [
        taken_off(prefix.text, AVERAGED, "swa.module"),
        Fix("Or go on averaging: load it into the same wrapper", lines, Kind.EDIT),
    ]
    return [copied(file.path, prefix.text, counter), *load] if mendable(state, file) else load


def unpickled(prefix: Prefix, state: StateDict, file: CheckpointFile) -> Fix:
    """Return how to save what is inside of a wrapper that was pickled itself: it has attributes, and no items."""
    path = json.dumps(file.path)
    script = file.kind == Format.TORCHSCRIPT
    call, more = ("torch.jit.load", "") if script else ("torch.load", ", weights_only=False")
    opened = f'{call}({path}, map_location="cpu"{more})'
    parts = [part for part in state.entry.split(".") if part]
    held = "".join(f"[{part if part.isdecimal() else json.dumps(part)}]" for part in parts)
    return Fix(
        "Your own file, which holds the model itself and runs its code when it is opened: save what is inside",
        f'loaded = {opened}{held}\ntorch.save(loaded.{prefix.text}state_dict(), "bare.pt")',
        Kind.EDIT,
    )


def inside(prefix: Prefix, state: StateDict, file: CheckpointFile) -> Finding:
    """Report a wrapper's name in the middle of keys."""
    name = prefix.text.removeprefix("*.")
    said = f"{prefix.keys} of {count(prefix.total, 'key')}{state.of_entry} have {name} inside, which comes from {prefix.wrapper}"
    pattern = "\\." + name.replace(".", "\\.") + "=."
    mend = Fix(
        "Write a copy for a model without it",
        f"gpudoctor checkpoint fix {copying(file.path, 'mended')} --rename '{pattern}'",
    )
    held = "loaded.state_dict()" if file.is_module(state.entry) else "state"
    load = Fix(
        "Or take it out while loading",
        f'state = {{key.replace("{name}", ""): value for key, value in {held}.items()}}',
        Kind.EDIT,
    )
    return check.found(
        said,
        severity=Severity.NOTE,
        evidence=[key.name for key in state.keys if f".{name}" in key.name][:2],
        fixes=[mend, load] if mendable(state, file) else [load],
    )


def mendable(state: StateDict, file: CheckpointFile) -> bool:
    """Return whether ``checkpoint fix`` can rename these keys: those of a dict in a file of its own."""
    return file.mendable and not file.is_module(state.entry)
