"""CUDA_VISIBLE_DEVICES is set after CUDA has started.

## What happens

The process sees all GPUs as before. Ranks that were to have one each all work on GPU 0, or on GPUs that belong to somebody else.

## Why

CUDA reads the variable once, when it starts in a process: at the first tensor on a GPU, `set_device`, `get_device_name` and the like,
and already at `torch.cuda.is_available()`. A later change has no effect.

## How to tell

Print `torch.cuda.is_initialized()` just before the assignment: where it is `True`, it is too late; where it is `False`, look for
`is_available()` above, which leaves it `False`.

Or have the script check it: put a tensor onto a GPU that should be hidden: if `torch.zeros(1, device="cuda:1")` works, "CUDA_VISIBLE_DEVICES was set too late".
`gpudoctor explain` recognises that message in a log.

## See also

- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html): CUDA is started by the first use
- [pytorch#40618](https://github.com/pytorch/pytorch/issues/40618): nothing changes after `is_available()`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity
from gpudoctor.facts import Call, Known, Script

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"CUDA_VISIBLE_DEVICES was set too late"],
    message="CUDA_VISIBLE_DEVICES was set after CUDA had read it, so it has no effect",
    fixes=[
        Fix(
            "Set it before anything touches CUDA, best in front of the command",
            "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 train.py",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """An assignment to the variable after a call that starts CUDA."""
    started: Call | None = None
    for call in script.calls:
        if not call.reached or any(condition.kind == "except" for condition in call.conditions):
            continue
        if started is None and (call.name in STARTS or _moves(call)):
            started = call
        key = call.value("key").literal if call.name == "os.environ.__setitem__" else None
        again = started is not None and started.scope == call.scope and started.place.line > call.place.line
        if again:
            return  # a function that is called twice, and sets what it set the first time
        if key == "CUDA_VISIBLE_DEVICES" and any(
            _starts(other, call) for other in script.calls[call.number :]
        ):
            continue  # for processes that are started afterwards
        if key == "CUDA_VISIBLE_DEVICES" and started is not None and started.spawned == call.spawned:
            yield check.found(
                f"{started.text or started.method} in line {started.place} has started CUDA already, so this has no "
                "effect any more",
                location=call.place,
            )
            return


def _starts(call: Call, before: Call) -> bool:
    """Return whether a call starts processes, which read the environment as it is then, in the function of another one."""
    return call.method in STARTING and call.scope == before.scope


STARTING = frozenset("spawn start_processes Process Popen run check_call elastic_launch launch_agent".split())
"""How functions are called that start processes: of multiprocessing, subprocess and torch.distributed."""


STARTS = frozenset(
    f"torch.cuda.{name}"
    for name in "is_available set_device current_device get_device_name get_device_properties mem_get_info synchronize "
    "init".split()
) | {"torch.nn.DataParallel"}
"""Functions that start CUDA in a process (torch.cuda._lazy_init), or ask it for its GPUs (cudaGetDeviceCount)."""


def _moves(call: Call) -> bool:
    if call.method == "cuda" and (call.receiver.things or call.receiver.known is Known.TENSOR):
        return True
    return call.method == "to" and call.value("device").cuda
