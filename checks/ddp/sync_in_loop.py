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
            "total += loss.detach()\nif step % 100 == 99:\n    print(total.item() / 100)\n    total.zero_()",
            Kind.EDIT,
            proof="total += loss.detach()",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """What waits for the GPU in every step of a training loop."""
    steps = {loop.place for call in script.methods("backward") for loop in _around(call)}
    engines = next(script.named("ignite.engine.Engine"), None)
    if not steps and engines is None:
        return
    if not script.frameworks and not any(_on_gpu(call) for call in script.calls):
        return
    yield from _in_engine(script)
    for call in script.calls if steps else ():
        if not call.loops or call.loops[-1].place not in steps or not _each_step(call):
            continue
        if _asks_for_number(call) or call.name == "torch.cuda.synchronize" or _shows(call):
            yield check.found(
                f"{call.text}() waits for the GPU in every step of this loop",
                location=call.place,
            )
            return


def _in_engine(script: Script) -> Iterator[Finding]:
    """Report what waits in the step that an ignite Engine runs over all batches."""
    for engine in script.named("ignite.engine.Engine"):
        given = next(iter(engine.arguments.values()), None)
        if given is None or given.value.known is not Known.DEFINED:
            continue
        inside = [call for call in script.calls if call.scope == given.value.text]
        if not any(call.method == "backward" or "backward" in call.name for call in inside):
            continue
        for call in inside:
            if not any(c.kind == "if" for c in call.conditions) and _asks_for_number(call):
                yield check.found(
                    f"{call.text}() waits for the GPU in every step of this engine", location=call.place
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
        or condition.text.startswith("hasattr(")
        or condition.text.endswith(".sync_gradients")
        for condition in inside
    )


OF_OUTPUT = ("outputs.loss", "output.loss")
NAMES = ("loss", "total_loss", *OF_OUTPUT)
"""What a loss is called before anything makes a number of it; the model's own output holds a tensor for certain."""


def _asks_for_number(call: Call) -> bool:
    if call.name == "float":
        return any(a.value.of_batch or a.text.lower() in NAMES for a in call.arguments.values())
    if call.method in ("cpu", "tolist"):
        return call.receiver.of_batch
    return call.method == "item" and (call.receiver.may_be(Known.TENSOR) or "loss" in call.text.lower())


SHOWING = ("add_scalar", "set_postfix", "set_postfix_str", "set_description", "set_description_str", "info")
"""Methods that make a text of a number."""


def _shows(call: Call) -> bool:
    """Return whether a call prints or logs a loss that is a tensor still."""
    if call.name != "print" and call.method not in SHOWING:
        return False
    if call.name == "print" and any(a.text in OF_OUTPUT for a in call.arguments.values()):
        return True
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
