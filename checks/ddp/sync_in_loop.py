"""Each step waits for the GPU to hand over a number.

## What happens

Nothing fails. In every step the processor waits until the GPU has finished, so the GPU is idle while the next step is prepared.

## Why

Work on the GPU is queued. `.item()`, `.cpu()`, `print` of a tensor and `torch.cuda.synchronize()` wait until the queue is empty.

## How to tell

Time a hundred steps with the line and without it.

Or have the script check it: call `torch.cuda.set_sync_debug_mode("error")` before the loop: the line that waits raises "called a synchronizing CUDA operation".
`gpudoctor explain` recognises that message in a log.

## See also

- [Asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution): when the processor waits for the GPU
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Loop, Script

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"called a synchronizing CUDA operation"],
    message="an operation in the loop waits for the GPU, which then idles until the next kernels come",
    fixes=[
        Fix(
            "Add up on the GPU, and ask for the number now and then",
            "total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)\n    total.zero_()",
            Kind.EDIT,
            proof="total += loss.detach()",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """What waits for the GPU in every step of a training loop."""
    if not script.frameworks and not any(_on_gpu(call) for call in script.calls):
        return
    steps = {loop.place for call in script.methods("backward") for loop in _around(call)}
    for call in script.calls:
        if not call.loops or call.loops[-1].place not in steps or not _each_step(call):
            continue
        if _asks_for_number(call) or call.name == "torch.cuda.synchronize" or _shows(call):
            yield check.found(
                f"{call.text}() waits for the GPU in every step of this loop",
                location=call.place,
            )
            return


def _around(call: Call) -> list[Loop]:
    """Return the loop of the steps: the innermost, and the one around it where that is not over epochs."""
    return [loop for loop in call.loops[-2:] if loop is call.loops[-1] or loop.kind != "epoch"]


def _each_step(call: Call) -> bool:
    """Return whether a call happens in every step: what it stands under inside the loop is the same in all of them."""
    inside = [condition for condition in call.conditions if condition.loops >= len(call.loops)]
    return all(
        any(v.is_rank or v.known is Known.WORLD_SIZE for v in condition.value.items)
        or condition.value.text in ("is_initialized", "is_available")
        for condition in inside
    )


def _asks_for_number(call: Call) -> bool:
    if call.name == "float":
        return any(a.value.of_batch for a in call.arguments.values())
    return call.method == "item" and (call.receiver.may_be(Known.TENSOR) or "loss" in call.text.lower())


def _shows(call: Call) -> bool:
    """Return whether a call prints or logs a loss that is a tensor still."""
    if call.name != "print" and call.method not in ("add_scalar", "set_postfix", "set_postfix_str", "info"):
        return False
    return any(
        value.of_batch
        for argument in call.arguments.values()
        if "loss" in argument.text.lower()
        for value in (argument.value, *argument.value.items)
    )


def _on_gpu(call: Call) -> bool:
    if call.method == "cuda" or call.value("device").maybe_cuda or call.name == "torch.cuda.set_device":
        return True
    return call.name == "torch.nn.DataParallel" or call.value("backend").literal == "nccl"
