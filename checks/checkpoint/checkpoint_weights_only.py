"""torch.load refuses a class in the checkpoint: weights_only=True is the default.

## What happens

"Weights only load failed", and below it "Unsupported global: GLOBAL argparse.Namespace was not an allowed global by
default". The same file loads with torch 2.5 and before.

## Why

A pickle can run any code while it is read. Since torch 2.6 `torch.load` reads only tensors, numbers, strings and plain
containers unless told otherwise. The file also holds something else: `args`, a configuration, a numpy number, a random
state, a scheduler, or the whole model object. Older libraries (Lightning, transformers, ultralytics) load such files
without saying that they may.

## How to tell

The message names the first class that is refused; there may be more. Since torch 2.6
`torch.serialization.get_unsafe_globals_in_checkpoint("model.pt")` lists them all without running anything.
`gpudoctor checkpoint inspect model.pt` names them too, and offers the line that writes a copy without the entries that
hold them.

## See also

- [Serialization semantics](https://docs.pytorch.org/docs/stable/notes/serialization.html): weights_only
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html)
"""

import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import CheckpointFile, Format

NAME = r"(?:GLOBAL|Unsupported class|instantiate unsupported class|unrecognized function) (?:<\w+ )?['\"]?(?P<name>[A-Za-z_][\w.]*\w)"
# An opcode below 128 is text where a pickle should begin: checkpoint-corrupt.
CORRUPT = r"Unsupported operand (?:\d{1,2}|1[01]\d|12[0-7])\b|pickle data was truncated|[Ii]nvalid load key"

MOST = 8
"""Entries that are left out at most; a file with more is written anew."""

OWN = Fix(
    "Your own file: say that it may run code. Never do it with a file from elsewhere",
    'state = torch.load("model.pt", map_location="cpu", weights_only=False)',
    Kind.EDIT,
)
ANEW = Fix(
    "Write the file anew with tensors and plain values alone",
    'torch.save({"model": model.state_dict(), "args": vars(args), "epoch": int(epoch)}, "model.pt")',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"learn more about types accepted by default with weights_only",
        Symptom(r"Weights only load failed", near=NAME),
        Symptom(r"Weights only load failed", unless=rf"{NAME}|{CORRUPT}"),
        rf"WeightsUnpickler error:.{{0,40}} {NAME}",
        r"GLOBAL (?P<name>[A-Za-z_][\w.]*\w) was not an allowed global by default",
        r"Trying to (?:load unsupported GLOBAL|instantiate unsupported class|call reduce for unrecognized function) (?:<\w+ )?['\"]?(?P<name>[A-Za-z_][\w.]*\w)",
        Symptom(r"In PyTorch 2\.6, we changed the default value of the .{0,2}weights_only", unless=CORRUPT),
        r"Cannot use ``weights_only=True`` with TorchScript archives",
    ],
    message="[the file holds <name>, and ]torch.load reads tensors and plain containers alone unless it is told otherwise",
    fixes=[
        OWN,
        Fix(
            "Allow this one class, for the calls that follow",
            "torch.serialization.add_safe_globals([<name>])",
            Kind.EDIT,
        ),
        ANEW,
        Fix(
            "Take a version of the library that loads its own files",
            "pip install --upgrade lightning transformers",
        ),
        Fix(
            "For a program that cannot be changed: every file it loads may run code",
            "export TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="not written yet",
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """A file of torch.save that torch.load refuses by default since 2.6."""
    if file.kind == Format.TORCHSCRIPT:
        said = (
            "a TorchScript archive: torch.load refuses it by default since torch 2.6; torch.jit.load reads it"
        )
        load = Fix(
            "Load it with what it was made for",
            'model = torch.jit.load("model.pt", map_location="cpu")',
            Kind.EDIT,
        )
        yield check.found(said, severity=Severity.NOTE, fixes=[load])
    elif file.foreign and file.kind in (Format.TORCH_ZIP, Format.TORCH_LEGACY):
        names = list(dict.fromkeys(foreign.name for foreign in file.foreign))
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield check.found(
            f"the file holds {listed}: torch.load refuses it since torch 2.6 unless weights_only=False",
            # A library's own settings or random state, which that library loads: nobody waits for weights from it.
            severity=Severity.WARNING if file.state_dicts or file.optimizers else Severity.NOTE,
            fixes=[*leaving_out(file), OWN, ANEW],
        )


def leaving_out(file: CheckpointFile) -> list[Fix]:
    """Return the line that writes a copy without the entries that hold what is refused, where no weights are in them."""
    entries = list(dict.fromkeys(entry for foreign in file.foreign for entry in foreign.within))
    needed = [state.entry for state in file.state_dicts] + [optimizer.entry for optimizer in file.optimizers]
    holds = any(name == entry or name.startswith(f"{entry}.") for name in needed for entry in entries)
    if (
        file.path == "standard input"
        or not all(foreign.within for foreign in file.foreign)
        or "" in needed
        or holds
        or len(entries) > MOST
    ):
        return []
    _, dot, suffix = file.path.rpartition("/")[2].rpartition(".")
    copy = f"clean.{suffix if dot and suffix.isalnum() else 'pt'}"
    dropped = " ".join(f"--drop {shlex.quote(entry)}" for entry in entries)
    listed = ", ".join(entries[:4]) + (f" and {len(entries) - 4} more" if len(entries) > 4 else "")
    return [
        Fix(
            f"Write a copy without {listed}: the weights are copied as they are, and torch.load takes it",
            f"gpudoctor checkpoint fix {shlex.quote(file.path)} -o {copy} {dropped}",
        )
    ]
