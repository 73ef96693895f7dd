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
from gpudoctor.facts import Call, Known, Script

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
    if not any(_on_gpu(call) for call in script.calls):
        return
    steps = {call.loops[-1].place for call in script.methods("backward") if call.loops}
    for call in script.calls:
        if not call.loops or call.loops[-1].place not in steps or not call.each_time:
            continue
        loss = call.method == "item" and (call.receiver.known is Known.TENSOR or "loss" in call.text.lower())
        if loss or call.name == "torch.cuda.synchronize":
            yield check.found(
                f"{call.text}() waits for the GPU in every step of this loop",
                location=call.place,
            )
            return


def _on_gpu(call: Call) -> bool:
    if call.method == "cuda" or call.value("device").maybe_cuda or call.name == "torch.cuda.set_device":
        return True
    return call.name == "torch.nn.DataParallel" or call.value("backend").literal == "nccl"
