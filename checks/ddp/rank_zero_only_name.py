"""A name that one rank alone assigns is used on all.

## What happens

"NameError: name 'writer' is not defined" or "UnboundLocalError: cannot access local variable 'log' where it is not
associated with a value", on every rank but 0. Those ranks end, and rank 0 waits for them.

## Why

An assignment under `if rank == 0:` happens on rank 0. What uses the name later has to stand under the same test, or the
others need a value of their own.

## How to tell

The traceback is of a rank other than 0; with one process the script runs.

## See also

- [Python tutorial](https://docs.python.org/3/tutorial/errors.html): exceptions
- [broadcast_object_list](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list): a value of rank 0 for all
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Known, Script, one_alone

check = Check(
    severity=Severity.ERROR,
    fixes=[
        Fix(
            "Give it a value on every rank, and test for that",
            'writer = SummaryWriter() if rank == 0 else None\n\nif writer is not None:\n    writer.add_scalar("loss", loss, step)',
            Kind.EDIT,
        ),
        Fix(
            "Where all ranks need the value of rank 0: send it",
            "found = [config if rank == 0 else None]\ndist.broadcast_object_list(found, src=0)\nconfig = found[0]",
            Kind.EDIT,
        ),
    ],
    no_reproduction="not written yet",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A name that is used where the rank is not asked for, and assigned only where it is."""
    said = set()
    for call in script.calls:
        if call.method != "__unbound__" or one_alone(call) or call.text in said:
            continue
        if "try" in call.contexts or any(c.kind == "if" and not c.early for c in call.conditions):
            continue  # another test may ask for the same in other words
        missing = next((v for v in call.receiver.possible() if v.known is Known.UNBOUND), None)
        if missing is None or (missing.sole is None and missing.all_but is None):
            continue
        said.add(call.text)
        one, rest = f"rank {missing.sole}", "the others have"
        if missing.sole is None:
            one, rest = f"every rank but {missing.all_but}", f"rank {missing.all_but} has"
        yield check.found(
            f"`{call.text}` is assigned on {one} alone and used here on all: {rest} no such name, and the run ends in a NameError",
            location=call.place,
        )
