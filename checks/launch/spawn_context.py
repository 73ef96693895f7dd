"""The start method is set twice, or a daemon process starts a child.

## What happens

"RuntimeError: context has already been set", from the second `set_start_method`. Or "AssertionError: daemonic processes
are not allowed to have children", when a process that was itself started as a daemon makes a DataLoader with workers.

## Why

- `multiprocessing.set_start_method` may be called once in a program. A library, an import, or a notebook cell that was run
  again has called it before; so has the first use of a Queue, a Lock or a Pool, which chooses the default.
- A child runs the main script's top level once more with *spawn*: a call outside of `if __name__ == "__main__":` is made
  there too.
- `mp.spawn(…, daemon=True)`, `Process(daemon=True)` and the workers of `multiprocessing.Pool` are daemons: Python ends them
  with their parent and lets them have no children. A DataLoader with `num_workers` above 0 is a parent.

## How to tell

`python -c "import multiprocessing as m; print(m.get_start_method(allow_none=True))"` prints None in a fresh interpreter;
the same in front of your call shows whether somebody was faster. `multiprocessing.current_process().daemon` is True in
a daemon.

## See also

- [multiprocessing: start methods](https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods): set once, or `get_context`
- [torch.multiprocessing.spawn](https://docs.pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses): starts with `spawn`, and its `daemon`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

OWN = Fix(
    "Ask for a context of your own instead of changing the program's",
    'context = torch.multiprocessing.get_context("spawn")\nprocess = context.Process(target=worker)\n'
    'loader = DataLoader(dataset, num_workers=2, multiprocessing_context="spawn")',
    Kind.EDIT,
    proof='num_workers=2, multiprocessing_context="spawn")',
)
ONCE = Fix(
    "Or set the context once, in the main script alone, before anything else",
    'if __name__ == "__main__":\n    torch.multiprocessing.set_start_method("spawn", force=True)\n    main()',
    Kind.EDIT,
)
NO_WORKERS = Fix(
    "Load the data without workers in what is a daemon, such as a Pool's worker",
    "DataLoader(dataset, num_workers=0)",
    Kind.EDIT,
)
OTHER_POOL = Fix(
    "Or take a pool whose workers are no daemons",
    "with concurrent.futures.ProcessPoolExecutor(2) as pool:  # was: multiprocessing.Pool(2)\n"
    "    results = list(pool.map(work, items))",
    Kind.EDIT,
)
ORDINARY = Fix(
    "What starts processes of its own must be an ordinary process: leave out daemon=True where it is made",
    "process = context.Process(target=main)  # no daemon=True\nprocess.start()\nprocess.join()",
    Kind.EDIT,
    source="https://docs.python.org/3/library/multiprocessing.html#multiprocessing.Process.daemon",
)
POOL = re.compile(r"multiprocessing[/\\]pool\.py|PoolWorker-\d")
# How Python tells of a process that was started by its own name, and where it begins.
PROCESS = re.compile(r"^Process \w*Process-\d+:|multiprocessing[/\\]process\.py", re.MULTILINE)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # in a child that imports the main file it is spawn-main-guard
        Symptom(r"(?P<error>context has already been set)", unless=r"\b_fixup_main_from_path\b"),
        r"(?P<error>(?P<daemonic>daemonic) processes are not allowed to have children)",
    ],
    fixes=[OWN, ONCE, NO_WORKERS, OTHER_POOL, ORDINARY],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Give the fixes for what it is: a start method set twice, a pool's worker, or another process that is a daemon."""
    fixes = [OWN, ONCE]
    if "daemonic" in sighting.groups:
        fixes = [NO_WORKERS, OTHER_POOL, ORDINARY]
        if PROCESS.search(sighting.around) and not POOL.search(sighting.around):
            fixes = [ORDINARY, NO_WORKERS, OTHER_POOL]
    yield check.found(f"a process cannot be started in this way: {sighting.groups['error']}", fixes=fixes)
