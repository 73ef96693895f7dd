"""The main file starts processes when it is imported, and each child imports it.

## What happens

"RuntimeError: An attempt has been made to start a new process before the current process has finished its bootstrapping
phase", over several lines. Then "process 0 terminated with exit code 1" or "DataLoader worker (pid 4711) exited
unexpectedly". What the script prints at its beginning comes once more for each child. From a notebook or standard
input: "No such file or directory: '…/<stdin>'". On Windows often the parent's words alone are left, "BrokenPipeError: [Errno 32]
Broken pipe" below `ForkingPickler(file, protocol).dump(obj)`: the child had ended before all was sent.

## Why

With the start methods `spawn` and `forkserver` a child imports the main file to find the function that it is to run.
What is at the top level runs again, and starts processes again. Windows and macOS spawn always, so does
`torch.multiprocessing.spawn`; on Linux the default is `forkserver` since Python 3.14, before that `fork`.

## How to tell

The traceback of a child goes through `multiprocessing/spawn.py` and `<module>` of your own file: that line has to move
under the guard.

## See also

- [multiprocessing: safe importing of the main module](https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods): why the guard is needed
- [DataLoader: platforms](https://docs.pytorch.org/docs/stable/data.html#platform-specific-behaviors): which start method where, and the guard
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Script

SENDING = (
    r"ForkingPickl|popen_spawn_win32|reduction\.dump|multiprocessing[/\\]reduction\.py|"
    r"[Ww]indows[^\n]{0,200}\bnum_workers\b|\bnum_workers\b[^\n]{0,200}[Ww]indows"
)
"""Where a process that spawns another one sends it what it is to run."""
OTHER_ERROR = r"(?m:^[ >|]*(?:\w+\.)*(?!BrokenPipeError)\w{2,40}(?:Error|Exception): (?!\[Errno 32\]))"
"""An exception that tells more."""

MESSAGE = "a child that was spawned imported the main file and came to the line that starts processes"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"An attempt has been made to start a new process before the",
        r"probably means that you are not using fork to start your",
        r"The \"freeze_support\(\)\" line can be omitted",
        r"\b_check_not_importing_main\b",  # the frame alone: it stands in a traceback only where it raises
        r"No such file or directory: '[^']{0,300}<stdin>'",
        Symptom(r"context has already been set", near=r"\b_fixup_main_from_path\b"),
        # the parent's side, where nothing shows of what ended the child
        Symptom(
            r"(?P<pipe>Broken ?[Pp]ipe)",
            near=SENDING,
            unless=rf"{OTHER_ERROR}|An attempt has been made to start",
        ),
        r"'spawn' start method requires that your script guards the main function",  # Lightning
    ],
    fixes=[
        Fix(
            "Put what the script does under the guard",
            'def main(): ...\n\n\nif __name__ == "__main__":\n    main()',
            Kind.EDIT,
            proof='if __name__ == "__main__":',
        ),
        Fix(
            "Or take mp.spawn out of the script, and let torchrun start the ranks",
            "torchrun --nproc-per-node=N train.py",
        ),
        Fix(
            "In a notebook, put the function into a file and import it",
            "from train import worker\n\ntorch.multiprocessing.spawn(worker, args=(config,), nprocs=2)",
            Kind.EDIT,
        ),
    ],
)


def _guarded(script: Script) -> bool:
    """Return whether a script has the guard: what is handed over outside of it may be called inside."""
    return any(condition.kind == "main" for call in script.calls for condition in call.conditions)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Of a pipe that broke say no more than that the child is gone."""
    if "pipe" in sighting.groups:
        message = "a child that was spawned ended while it was being sent its work: mostly since the main file has no guard"
        yield check.found(message)
        return
    yield check.found(MESSAGE)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Processes started by spawn at the top of a file, where each child runs it again."""
    if script.notebook:
        return
    spawns = any(
        call.value("method").literal in ("spawn", "forkserver")
        for call in script.named("multiprocessing.set_start_method", "multiprocessing.get_context")
    )
    for call in script.named("torch.multiprocessing.spawn", "multiprocessing.Process"):
        fresh = call.method == "spawn" and call.value("start_method").literal != "fork"
        # What a function does that the top of the file calls happens at import, too.
        outside = not any(condition.kind in ("main", "type_checking") for condition in call.conditions)
        at_import = outside and call.reached and not call.spawned and not (call.deferred and _guarded(script))
        if at_import and (fresh or (call.method == "Process" and spawns)):
            yield check.found(
                'processes are started here outside of if __name__ == "__main__": each child imports this file first, '
                "comes to the same line, and Python refuses",
                location=call.stack[0] if call.stack else call.place,
            )
            return
