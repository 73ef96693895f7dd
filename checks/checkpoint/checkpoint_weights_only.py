"""torch.load refuses a class in the checkpoint: weights_only=True is the default.

## What happens

"Weights only load failed", and below it "Unsupported global: GLOBAL argparse.Namespace was not an allowed global by
default". The same file loads with torch 2.5 and before.

## Why

A pickle can run any code while it is read. Since torch 2.6 `torch.load` reads only tensors, numbers, strings and plain
containers unless told otherwise. The file also holds something else: `args`, a configuration, a numpy number, a random
state, a scheduler, or the whole model object. Older libraries (Lightning, transformers, ultralytics) load such files
without saying that they may.

"Unsupported operand" with a number below 128 is another failure: the file is no checkpoint
(`checkpoint-not-a-checkpoint`), and no option loads it.

## How to tell

The message names the first class that is refused; there may be more. `gpudoctor checkpoint inspect FILE` lists them all
without running anything, and offers the line that writes a copy without the entries that hold them. So does
`torch.serialization.get_unsafe_globals_in_checkpoint("FILE")` since torch 2.6.

Classes that only hold values, such as `argparse.Namespace` or numpy's numbers, do nothing when they are made. A name like
`os.system`, `builtins.eval`, `subprocess.Popen` or `runpy` does not belong in a checkpoint: do not load that file.

`gpudoctor lint train.py` finds objects that are saved beside the tensors, and loads whose result is used as a module.

## See also

- [Serialization semantics](https://docs.pytorch.org/docs/stable/notes/serialization.html): weights_only
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): `weights_only`, and what it allows
"""

import re
import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom, listed
from gpudoctor.facts import (
    HOLE,
    UNKNOWN,
    UNSAFE_LOADS,
    WRAPPERS,
    Call,
    CheckpointFile,
    Condition,
    Format,
    Known,
    Script,
    Value,
    contents,
    copying,
    path_form,
)

NAME = r"(?:GLOBAL|Unsupported class|instantiate unsupported class|unrecognized function|via \W?add_safe_globals\W?,? but got) (?:<\w+ )?['\"]?(?P<name>[A-Za-z_][\w.]*\w)"
# An opcode below 128 is text where a pickle should begin: checkpoint-not-a-checkpoint, or checkpoint-corrupt.
CORRUPT = r"Unsupported operand (?:\d{1,2}|1[01]\d|12[0-7])\b|pickle data was truncated|[Ii]nvalid load key"

RUNNING = frozenset(
    "os posix nt sys subprocess builtins __builtin__ runpy importlib pty socket shutil webbrowser".split()
)
"""Modules whose functions have no business in a checkpoint."""
MOST = 8
"""Entries that are left out at most; a file with more is written again."""

LOOK = Fix(
    "First see every class that the file asks for, without running any",
    "gpudoctor checkpoint inspect FILE",
)
OWN = Fix(
    "A file that you wrote yourself, and whose names are all yours or torch's (see `gpudoctor checkpoint inspect FILE`): "
    "let it run its code. Never do it with a file from elsewhere",
    'state = torch.load("FILE", map_location="cpu", weights_only=False)',
    Kind.MITIGATION,
)
ANEW = Fix(
    "Write the file again, with tensors and plain values alone",
    'torch.save({"model": model.state_dict(), "args": vars(args), "epoch": int(epoch)}, "model.pt")',
    Kind.EDIT,
    proof='"args": vars(args)',
)
UPGRADE = Fix(
    "Where Lightning, transformers or ultralytics loads it: a version of that library that knows its own classes",
    "python -m pip install --upgrade LIBRARY",
)
ANY = Fix(
    "For a program that cannot be changed, and files that are all your own: every file that it loads may run code",
    "export TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1",
    Kind.MITIGATION,
)
# A file names numpy.core where NumPy 1 wrote it and numpy._core where NumPy 2 did; both are tried, with 1.26 and 2.4.
NUMPY = Fix(
    "Allow numpy's numbers and arrays of numbers, which hold values alone",
    "import numpy\n\n"
    "core = numpy._core if numpy.__version__ >= '2' else numpy.core\n"
    "names = [(getattr(core.multiarray, name), f'numpy.{place}.multiarray.{name}')\n"
    "         for name in ('scalar', '_reconstruct') for place in ('core', '_core')]\n"
    "kinds = [type(numpy.dtype(kind)) for kind in '?bBhHiIlLqQefd']\n"
    "torch.serialization.add_safe_globals([*names, numpy.ndarray, numpy.dtype, *kinds])",
    Kind.EDIT,
)
TORCHSCRIPT = Fix(
    "Load it with what it was made for", 'model = torch.jit.load("FILE", map_location="cpu")', Kind.EDIT
)

check = Check(
    severity=Severity.ERROR,
    otherwise="of a file and in a script a warning, and a note where it may never be loaded so",
    symptoms=[
        Symptom(r"learn more about types accepted by default with weights_only", unless=CORRUPT),
        Symptom(r"Weights only load failed", near=NAME),
        Symptom(r"Weights only load failed", unless=rf"{NAME}|{CORRUPT}"),
        rf"WeightsUnpickler error:.{{0,40}} {NAME}",
        r"GLOBAL (?P<name>[A-Za-z_][\w.]*\w) was not an allowed global by default",
        r"types allowlisted via \W?add_safe_globals\W?, but got <class '(?P<name>[A-Za-z_][\w.]*\w)'>",
        r"classes allowlisted via \W?add_safe_globals\W? but got <class '(?P<name>[A-Za-z_][\w.]*\w)'>",
        r"Trying to (?:load unsupported GLOBAL|instantiate unsupported class|call reduce for unrecognized function) (?:<\w+ )?['\"]?(?P<name>[A-Za-z_][\w.]*\w)",
        Symptom(r"In PyTorch 2\.6, we changed the default value of the .{0,2}weights_only", unless=CORRUPT),
        r"Cannot use `{0,2}weights_only=True`{0,2} with TorchScript archives",
        Symptom(r"WeightsUnpickler error: Unsupported operand \d+", unless=CORRUPT),
    ],
    fixes=[
        LOOK,
        ANEW,
        UPGRADE,
        OWN,
        ANY,
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the class, and how just that one is allowed."""
    name = sighting.groups.get("name")
    said = "torch.load reads tensors and plain containers alone unless it is told otherwise"
    if "TorchScript archives" in sighting.line:
        yield check.found(f"{said}; this is a TorchScript archive", fixes=[TORCHSCRIPT])
    elif name is None:
        yield check.found(said)
    else:
        fixes = [LOOK, allowing(name), ANEW, UPGRADE, OWN, ANY]
        yield check.found(f"the file holds {name}, and {said}", fixes=[fix for fix in fixes if fix])


def allowing(name: str) -> Fix | None:
    """Return the lines that allow one class for the calls that follow; ``None`` for what should not be in a file."""
    module, _, own = name.rpartition(".")
    if module.partition(".")[0] in RUNNING:
        return None
    if module.startswith("numpy"):
        return NUMPY
    if module == "__main__":
        lines = f'from train import {own}\n\ntorch.serialization.add_safe_globals([({own}, "{name}")])'
        return Fix(
            "Allow this one class, which the script that saved the file defined (here train.py)",
            lines,
            Kind.EDIT,
        )
    lines = f"from {module} import {own}\n\ntorch.serialization.add_safe_globals([{own}])"
    return Fix("Allow this one class, if you know it, for the calls that follow", lines, Kind.EDIT)


OBJECTS = {"instance": "an object of", "optimizer": "the optimizer", "scheduler": "the scheduler"}
OBJECTS |= dict.fromkeys(("arguments", "model", "ddp", "dp", "compiled"), "the whole") | {
    "dataset": "the data set"
}
ALLOWED = (
    "state_dict",
    "load_state_dict",
    "eval",
    "parameters",
    "named_parameters",
    "__call__",
    "forward",
    "modules",
    "train",
)
"""What is done with a module, and not with a state dict."""


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Objects that go into a file which is then read by default, or a file that is read so and used as a module."""
    if any(call.value("key").literal == "weights_only" for call in script.methods("__setitem__")):
        return  # what torch.load is given is put together elsewhere
    if UNSAFE_LOADS in script.spelled:
        return
    read = {call.number: call for call in script.named("torch.load") if by_default(call)}
    yield from saved(script, list(read.values()))
    yield from settings_read(script, read)
    yield from states_read(script, read)
    for call in script.calls if read else ():
        thing = script.thing(call.receiver)
        loaded = script.thing(
            call.receiver, "checkpoint"
        )  # it is made here, or loaded whole: ``if resume: net = load()``
        made_here = (
            thing is not None
            and loaded is None
            and script.innermost(thing).kind in ("scheduler", "optimizer", "model")
        )
        inside = (
            call.name == "torch.load.module.__get__"
        )  # what DataParallel and its like hold: no state dict has that
        if (call.method not in ALLOWED and not inside) or made_here or any(map(told, call.conditions)):
            continue  # what this script makes, be it of numbers that were loaded, is no module of the file
        for origin in held(script, call.receiver):
            if read.pop(origin.number, None) is not None:
                yield refused(
                    origin, f"what is loaded here is used as a module (`{call.text}`, line {call.place})"
                )


def settings_read(script: Script, read: dict[int, Call]) -> Iterator[Finding]:
    """Report a file of which an entry is used as an object of settings: no dictionary and no tensor has such attributes."""
    for call in script.calls if read else ():
        entry = call.receiver
        if call.name == "vars":
            entry = next((argument.value for argument in call.arguments.values()), UNKNOWN)
        elif call.name != "<entry>.attribute.__get__" or call.text.rpartition(".")[2] in OF_TENSORS:
            continue
        if not entry.text.startswith("checkpoint[") or any(told(test) for test in call.conditions):
            continue
        origin = read.pop(entry.made, None)
        if origin is not None:
            asked = f"{call.text}()" if call.name == "vars" else call.text
            yield refused(
                origin,
                f"an entry of what is loaded here is used as an object of settings (`{asked}`, line {call.place})",
                "a file that holds a class like argparse.Namespace",
            )


def states_read(script: Script, read: dict[int, Call]) -> Iterator[Finding]:
    """Report a file of which an entry is numpy's random state: it holds an array of numpy, and no tensor."""
    for call in script.named("numpy.random.set_state"):
        given = next((argument.value for argument in call.arguments.values()), UNKNOWN)
        for origin in held(script, given):
            if read.pop(origin.number, None) is not None:
                yield refused(
                    origin,
                    f"an entry of what is loaded here is numpy's random state (line {call.place}), which holds an array of "
                    "numpy",
                )


def refused(load: Call, said: str, what: str = "it") -> Finding:
    """Return the finding that torch.load takes `what` with weights_only=False alone, for what is `said` of the file."""
    return check.found(
        f"{said}: without weights_only=False torch.load refuses {what} since 2.6",
        severity=Severity.WARNING,
        location=load.place,
        fixes=[ANEW, OWN],
    )


def told(test: Condition) -> bool:
    """Return whether a test asks what an object is, or lets through what failed: files of an older form."""
    return test.kind == "except" or any(word in test.text for word in ("isinstance", "hasattr"))


OF_TENSORS = frozenset(
    "shape device dtype data grad T mT H requires_grad is_cuda ndim real imag layout names is_leaf grad_fn itemsize nbytes "
    "is_sparse is_quantized is_meta module _metadata".split()
)
"""Attributes that a tensor, or a state dict, has too."""
THROUGH = frozenset("getattr copy.deepcopy next iter reversed zip enumerate".split())


def held(script: Script, value: Value, depth: int = 0) -> Iterator[Call]:
    """Yield the calls that gave a value or what it was taken out of; not what else they were given."""
    for item in value.possible():
        if 0 <= item.made < len(script.calls) and depth < 6:
            call = script.calls[item.made]
            yield call
            yield from held(script, call.receiver, depth + 1)
            for argument in call.arguments.values() if call.name in THROUGH else ():
                yield from held(script, argument.value, depth + 1)
        for nested in item.items if depth < 6 else ():
            yield from held(script, nested, depth + 1)


def by_default(call: Call) -> bool:
    """Return whether a torch.load takes tensors and plain values alone."""
    given = call.value("weights_only")
    asked = "weights_only" in call.arguments and not (given.literal is True or given.is_none)
    pickled = call.arguments.get(
        "pickle_module"
    )  # with one of its own torch.load takes any pickle (torch 2.15)
    asked = asked or (pickled is not None and not pickled.value.is_none)
    return not call.starred and not asked and not any(c.kind == "except" for c in call.conditions)


def saves(script: Script) -> Iterator[tuple[Call, Value]]:
    """Yield what is saved: by torch.save, and by functions of other files that are named for it and given a dictionary."""
    for call in script.calls:
        if call.name == "torch.save":
            yield call, call.value("obj")
        elif "save" in call.method.lower() and "." in call.name.strip(".") and not call.receiver.things:
            values = [argument.value for argument in call.arguments.values()]
            yield from ((call, value) for value in values if value.known is Known.MAPPING)


def entries_read(script: Script, read: list[Call]) -> set[str]:
    """Return the entries of a file that a script loads into its model, optimizer and scheduler."""
    numbers = {call.number for call in read}
    given = (a for call in script.methods("load_state_dict") for a in call.arguments.values())
    spelled = ((ENTRY.search(a.text), a.value) for a in given)
    return {
        found.group(1)
        for found, value in spelled
        if found is not None and any(call.number in numbers for call in held(script, value))
    }


ENTRY = re.compile(r"""\[["'](\w+)["']\]$""")


def saved(script: Script, read: list[Call]) -> Iterator[Finding]:
    """Report objects of classes that torch.load refuses, in what is saved."""
    paths = {call.arguments["f"].text for call in read if "f" in call.arguments}
    forms = {path_form(script, call.value("f"), defaults=True) for call in read} - {HOLE}
    same = [call.value("f") for call in read if call.value("f").made >= 0]
    other = [call for call in script.named("torch.load") if call not in read]
    entries = entries_read(script, read)
    for call, holding in saves(script):
        things = [script.things[value.thing] for value in contents(holding) if value.thing >= 0]
        thing = next((t for t in things if t.kind in OBJECTS and t.made >= 0), None)
        keys = [
            key
            for item in holding.possible()  # with an entry more under a test: ``if amp: state["scaler"] = ...``
            if item.known is Known.MAPPING and isinstance(item.literal, tuple)
            for key in item.literal
        ]
        resumed = len(entries.intersection(keys)) > 1
        if thing is None or other or not ("f" in call.arguments or resumed):
            continue
        again = "f" in call.arguments and (call.arguments["f"].text in paths or call.value("f") in same)
        by_default_options = resumed or path_form(script, call.value("f"), defaults=True) in forms
        inner = script.innermost(thing)
        what = (
            f"{OBJECTS[thing.kind]} {'model' if inner.kind in WRAPPERS else inner.type.rpartition('.')[2].rpartition(':')[2]}"
            if thing.kind != "arguments"
            else "a Namespace"
            if thing.type.endswith("Namespace")
            else "an object of settings"
        )
        where = (
            "which this script then does"
            if again or by_default_options
            else "which since torch 2.6 is the default"
        )
        yield check.found(
            f"what is saved holds {what}: torch.load refuses the file with weights_only=True, {where}",
            severity=Severity.ERROR if again else Severity.WARNING if by_default_options else Severity.NOTE,
            location=call.place,
            fixes=[ANEW],
        )


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """A file of torch.save that torch.load refuses by default since 2.6."""
    if file.kind == Format.TORCHSCRIPT:
        said = (
            "a TorchScript archive: torch.load refuses it by default since torch 2.6; torch.jit.load reads it"
        )
        yield check.found(said, severity=Severity.NOTE, fixes=[TORCHSCRIPT])
    elif file.foreign and file.kind in (Format.TORCH_ZIP, Format.TORCH_LEGACY):
        names = list(dict.fromkeys(foreign.name for foreign in file.foreign))
        yield check.found(
            f"the file holds {listed(names)}: torch.load refuses it since torch 2.6 unless weights_only=False",
            # A library's own settings or random state, which that library loads: nobody waits for weights from it.
            severity=Severity.WARNING if file.state_dicts or file.optimizers else Severity.NOTE,
            fixes=[*leaving_out(file), ANEW, OWN],
        )


def leaving_out(file: CheckpointFile) -> list[Fix]:
    """Return the line that writes a copy without the entries that hold what is refused, where no weights are in them."""
    entries = list(dict.fromkeys(entry for foreign in file.foreign for entry in foreign.within))
    needed = [state.entry for state in file.state_dicts] + [optimizer.entry for optimizer in file.optimizers]
    holds = any(name == entry or name.startswith(f"{entry}.") for name in needed for entry in entries)
    if (
        not file.mendable
        or not all(foreign.within for foreign in file.foreign)
        or "" in needed
        or holds
        or len(entries) > MOST
    ):
        return []
    dropped = " ".join(f"--drop {shlex.quote(entry)}" for entry in entries)
    return [
        Fix(
            f"Write a copy without {listed(entries, 4)}: the weights are copied as they are, and torch.load takes it",
            f"gpudoctor checkpoint fix {copying(file.path, 'clean')} {dropped}",
        )
    ]
