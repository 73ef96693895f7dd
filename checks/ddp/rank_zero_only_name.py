"""A name that one rank alone assigns is used on all.

## What happens

"NameError: name 'writer' is not defined" or "UnboundLocalError: cannot access local variable 'log' where it is not
associated with a value", on every rank but 0. Those ranks end, and rank 0 waits for them.

## Why

An assignment under `if rank == 0:` happens on rank 0. What uses the name later has to be under the same test, or the
others need a value of their own.

## How to tell

The traceback is of a rank other than 0; with one process the script runs.

## See also

- [NameError](https://docs.python.org/3/library/exceptions.html#NameError): what a name without a value raises
- [broadcast_object_list](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list): a value of rank 0 for all
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script, one_alone

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
    """A name, or an attribute, that is used where the rank is not asked for, and assigned only where it is."""
    yield from _attributes(script)
    yield from _nothing(script)
    said = set()
    for call in script.calls:
        if call.method != "__unbound__" or one_alone(call) or call.text in said:
            continue
        if "try" in call.contexts or _tested(call):
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
            raises="NameError",
        )


def _nothing(script: Script) -> Iterator[Finding]:
    """Report a method of what is None on the other ranks, in a line to which all of them come."""
    for call in script.calls:
        there = call.receiver
        name = call.text.removesuffix(f".{call.method}")
        if there.known is not Known.CHOICE or not there.by_rank or not call.reached or name == call.text:
            continue
        if (there.sole is None and there.all_but is None) or not any(v.is_none for v in there.possible()):
            continue
        asked = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
        if one_alone(call) or "try" in call.contexts or any(asked.search(c.text) for c in call.conditions):
            continue
        where = f"rank {there.sole}" if there.sole is not None else f"all ranks but {there.all_but}"
        rest = "the others" if there.sole is not None else f"rank {there.all_but}"
        yield check.found(
            f"`{name}` is there on {where} alone, and None for {rest}, where this call ends in an AttributeError",
            location=call.place,
            raises="AttributeError",
        )
        return


def _attributes(script: Script) -> Iterator[Finding]:
    """Report what __init__ gives an object on one rank alone, and another method uses on all."""
    given: dict[str, list[Call]] = {}
    for call in script.methods("__set__"):
        given.setdefault(call.text.rpartition(".")[2], []).append(call)
    for name, calls in given.items():
        made, owner = calls[0], calls[0].scope.removesuffix(".__init__")
        if owner == made.scope or not all(
            c.scope == made.scope and c.text == f"self.{name}" and _of_one(c) for c in calls
        ):
            continue  # others may give it, too, such as the class that it inherits from
        for use in script.calls:
            if (
                use.text.startswith(f"self.{name}.")
                and use.scope.startswith(f"{owner}.")
                and _by_all(script, use)
                and not _of_one_object(script, made)
            ):
                yield check.found(
                    f"self.{name} is made on rank {made.rank_conditions[-1].rank} alone (line {made.place}) and used here on all: "
                    "the others have no such attribute, and the run ends in an AttributeError",
                    location=use.place,
                    raises="AttributeError",
                )
                break


def _of_one(call: Call) -> bool:
    """Return whether an attribute is given under a test for one rank, and under no other test."""
    tests = [c for c in call.conditions if c.kind == "if"]
    return len(tests) == 1 and tests[0].by_rank and tests[0].rank is not None and "try" not in call.contexts


def _of_one_object(script: Script, made: Call) -> bool:
    """Return whether the object itself is made on one rank alone: the others have none whose attribute is missing."""
    outside = made.stack[-1:]
    return any(c.place in outside and made.rank_conditions[-1] in c.conditions for c in script.calls)


def _tested(call: Call) -> bool:
    """Return whether a call stands in the body of some test, of whatever."""
    return any(c.kind == "if" and not c.early for c in call.conditions)


def _by_all(script: Script, use: Call) -> bool:
    """Return whether every rank comes to a use: of a method that nobody calls here, where it reads a checkpoint."""
    if one_alone(use) or "try" in use.contexts or _tested(use):
        return False
    return use.reached or any(
        call.scope == use.scope and not _tested(call) for call in script.named("torch.load")
    )
