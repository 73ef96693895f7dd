"""A collective for Python objects was given one that cannot be pickled.

## What happens

`all_gather_object`, `gather_object`, `broadcast_object_list`, `scatter_object_list` or `send_object_list` raises "cannot
pickle '_thread.lock' object", "Can't pickle local object 'main.<locals>.Config'" or "attribute lookup <lambda> on
__main__ failed". Where one rank alone sends, the others report a closed connection or a time-out.

## Why

These calls turn objects into bytes with pickle, and give those to the other ranks. Pickle writes data, and the name of
each class and function; it cannot write:

- lambdas, and classes and functions that are defined inside a function;
- locks, open files, sockets, generators, process groups, and any data set, model or other object that holds one of these.

## How to tell

The message names the type; the frame of `_object_to_tensor` is in the traceback, and the last line of your own above
it is the call. `pickle.dumps(part)` for each part of the object finds the one that fails, without any GPU.

## See also

- [all_gather_object](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather_object): objects must be picklable
- [pickle: what can be pickled](https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled): no lambdas, no local functions
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

SENDING = r"in _object_to_tensor|(?:all_gather|gather|reduce|broadcast|scatter|send)_object(?:_list)?\(|_pickler\(f\)\.dump"
STARTING = r"popen_(?:spawn|forkserver|fork)|ForkingPickler|spawn_main"

PLAIN = Fix(
    "Send plain data: numbers, strings, tensors on the CPU, and lists and dicts of them",
    'parts = [None] * dist.get_world_size()\ndist.all_gather_object(parts, {"loss": loss.item(), "names": names})',
    Kind.EDIT,
)
AT_THE_TOP = Fix(
    "Define the class or function at the top of a module, not inside a function",
    "@dataclasses.dataclass\nclass Config:\n    lr: float",
    Kind.EDIT,
)
LEFT_OUT = Fix(
    "Leave out what belongs to one process",
    "def __getstate__(self):\n"
    '    return {key: value for key, value in self.__dict__.items() if key not in ("lock", "file")}',
    Kind.EDIT,
    proof="def __getstate__(self):",
)
TENSORS = Fix(
    "Tensors of one size: send them as they are, which is faster too",
    "gathered = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]\ndist.all_gather(gathered, tensor)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"[Cc]an(?:no|')t pickle:? (?:local object )?(?:<(?:class|function|built-in function) )?'?(?P<object>[A-Za-z_<][\w.<>]{0,120})",
            near=SENDING,
            unless=STARTING,
        ),
        Symptom(r"Can't get local object '(?P<object>[^'\s]{1,120})", near=SENDING, unless=STARTING),
        Symptom(r"(?P<object>[\w.]{1,60} objects?) can(?:no|')t be pickled", near=SENDING, unless=STARTING),
    ],
    fixes=[PLAIN, LEFT_OUT, AT_THE_TOP, TENSORS],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the object; what a function defines can be defined elsewhere, and a lock cannot."""
    name = sighting.groups["object"]
    local = "<locals>" in name or "<lambda>" in name
    yield check.found(
        f"an object was to be sent to other ranks, and cannot be pickled: {name}",
        fixes=[AT_THE_TOP, PLAIN, TENSORS] if local else None,
    )
