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

from gpudoctor import Check, Fix, Kind, Severity, Symptom

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # in a child that imports the main file it is spawn-main-guard
        Symptom(r"(?P<error>(?P<context>context) has already been set)", unless=r"\b_fixup_main_from_path\b"),
        r"(?P<error>(?P<daemonic>daemonic) processes are not allowed to have children)",
    ],
    message="a process cannot be started in this way: <error>",
    fixes=[
        Fix(
            "Ask for a <context> of your own instead of changing the program's",
            'context = torch.multiprocessing.get_context("spawn")\nprocess = context.Process(target=worker)\n'
            'loader = DataLoader(dataset, num_workers=2, multiprocessing_context="spawn")',
            Kind.EDIT,
            proof='num_workers=2, multiprocessing_context="spawn")',
        ),
        Fix(
            "Or set the <context> once, in the main script alone, before anything else",
            'if __name__ == "__main__":\n    torch.multiprocessing.set_start_method("spawn", force=True)\n    main()',
            Kind.EDIT,
        ),
        Fix(
            "A Pool's workers are <daemonic>: load the data there without workers of the loader",
            "DataLoader(dataset, num_workers=0)",
            Kind.EDIT,
        ),
        Fix(
            "Or take a pool whose workers are not <daemonic>",
            "with concurrent.futures.ProcessPoolExecutor(2) as pool:  # was: multiprocessing.Pool(2)\n"
            "    results = list(pool.map(work, items))",
            Kind.EDIT,
        ),
        Fix(
            "Start the ranks as ordinary processes",
            "mp.spawn(worker, args=(world_size,), nprocs=world_size)  # no daemon=True",
            Kind.EDIT,
        ),
    ],
)
