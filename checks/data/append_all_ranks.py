"""Every rank writes the same log or result file.

## What happens

Lines come once for each rank, cut into each other; a CSV file has broken rows; a JSON file that all ranks overwrite is the
one of the last rank, or not valid at all.

## Why

The script runs once for each rank, and `open(path, "a")` or `"w"` does not know of the others. Each process has a buffer of
its own and writes it out when it is full, in the middle of a line. On NFS appending is not atomic even then.

## How to tell

`wc -l FILE` after one epoch: as many times the lines as there are ranks.

Or have the script check it: count the lines of an epoch: `assert times == 1, f"each epoch is in the log {times} times"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [open(2)](https://man7.org/linux/man-pages/man2/open.2.html): `O_APPEND` on NFS
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    Argument,
    Call,
    Script,
    of_several,
    one_alone,
    origins,
    same_for_all,
    spawns_ranks,
)

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"each epoch is in the log (?P<times>\d+) times"],
    message="each epoch is in the log <times> times: every rank appends to it",
    fixes=[
        Fix(
            "Write on rank 0",
            'if dist.get_rank() == 0:\n    with open("log.csv", "a") as file:\n        file.write(line)',
            Kind.EDIT,
            proof="if dist.get_rank() == 0:",
        ),
        Fix(
            "Or give each rank a file of its own",
            'with open(f"log-{dist.get_rank()}.csv", "a") as file:\n    file.write(line)',
            Kind.EDIT,
        ),
    ],
)
LOGURU = "loguru.logger.add"
HANDLERS = ("logging.FileHandler", "logging.handlers.RotatingFileHandler")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A file that is opened for writing under no test for the rank, at a path that is the same for all."""
    opened = script.named("open", "pathlib.Path.open", "logging.basicConfig", LOGURU, *HANDLERS)
    others = [call for method in WRITERS for call in script.methods(method)]
    for call in [*opened, *others]:
        mode = written(call) or pickled(script, call)
        path = call.arguments.get("file") or call.arguments.get("filename")
        path = path or call.arguments.get("path_or_buf") or call.arguments.get("0")
        if call.method == "save_image":
            path = call.arguments.get("fp") or call.arguments.get("1")
        if call.name.startswith("pathlib.Path.") or call.method in OF_PATHS:
            path = Argument(call.receiver, call.place, call.text.rpartition(".")[0])
        if not mode or path is None or one_alone(call):
            continue
        again = _opened_again(script, call)
        if not of_several(script, call) and not (call.spawned and spawns_ranks(script)) and not again:
            continue
        if call.name in HANDLERS and _of_one_rank(script, call):
            continue
        of_sample = call.method in WRITERS and path.value.from_data
        shared = same_for_all(script, path.value, path.text) and not of_sample
        if shared and not filled_by_one(script, call):
            how, then = "writes", "one overwrites what another has written, or their texts are mixed"
            if mode == "a":
                how, then = (
                    "appends to",
                    "each line is there once for each rank, or lines cut into each other",
                )
            who = "mp.spawn reads this script again in every rank, and each" if again else "every rank"
            yield check.found(f"{who} {how} {path.text}: {then}", location=call.place)


def _opened_again(script: Script, call: Call) -> bool:
    """Return whether a file is opened where the script begins, which mp.spawn's processes import once more."""
    spawning = [
        c for c in script.named("torch.multiprocessing.spawn") if c.value("start_method").literal != "fork"
    ]
    imported = call.scope == "<module>" and not call.conditions and call.place.path == script.path
    return imported and not call.loops and bool(spawning) and spawns_ranks(script)


def _of_one_rank(script: Script, handler: Call) -> bool:
    """Return whether a logger, or its handler, lets through what one rank says alone: by a filter of the same function."""
    return any(
        call.scope == handler.scope and any(argument.value.by_rank for argument in call.arguments.values())
        for call in script.methods("addFilter")
    )


WRITERS = ("to_csv", "write_text", "write_bytes", "savetxt", "save", "savez", "savefig", "save_image")
"""Methods, and functions of NumPy, that write a file that they are given the path of."""


def pickled(script: Script, opened: Call) -> str:
    """Return ``w`` for a file of bytes that pickle writes into."""
    mode = opened.value("mode").literal
    if mode not in ("wb", "wb+") or opened.name != "open":
        return ""
    dumped = [argument.value for call in script.named("pickle.dump") for argument in call.arguments.values()]
    return (
        "w"
        if any(made.number == opened.number for value in dumped for made in origins(script, value))
        else ""
    )


OF_PATHS = ("write_text", "write_bytes")
"""Methods that a path alone has, whatever made it."""
PICTURES = ("savefig", "save_image")
"""Methods that write a picture."""
WRITING = ("write", "writelines", "writerow", "writerows")


def filled_by_one(script: Script, opened: Call) -> bool:
    """Return whether all that is seen to be written into a file comes from one rank."""
    writes = [
        call
        for call in script.calls
        if call.method in WRITING
        and any(made.number == opened.number for made in origins(script, call.receiver))
    ]
    return bool(writes) and all(one_alone(call) for call in writes)


def written(call: Call) -> str:
    """Return how a text file is opened: ``a``, ``w``, or empty where it is only read; torch.save takes bytes."""
    if call.name in HANDLERS:
        return "a"
    if call.name == LOGURU:
        return "a" if isinstance(call.value("0").literal, str) or call.value("0").items else ""
    if call.name == "logging.basicConfig":
        return "a" if call.given("filename") else ""
    each = call.deferred and len(call.stack) == 1  # ``pool.map(write, names)``
    if call.method in WRITERS and (each or any(loop.kind != "epoch" for loop in call.loops)):
        return ""  # a file for each sample
    if call.method in WRITERS:
        named = (
            call.name.startswith(("pathlib.Path.write", "numpy."))
            or call.method in OF_PATHS
            or call.given("path_or_buf")
            or call.method in PICTURES
        )
        return "w" if named or (call.method == "to_csv" and "0" in call.arguments) else ""
    mode = call.value("mode").literal or (
        call.value("0").literal if call.name == "pathlib.Path.open" else None
    )
    if not isinstance(mode, str) or "b" in mode:
        return ""
    return mode[0] if mode[:1] in ("a", "w", "x") else ""
