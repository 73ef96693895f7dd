"""The model is moved to the GPU after DDP wrapped it.

## What happens

"No backend type associated with device type cpu" from the constructor with NCCL, which compares the parameters of the
ranks and finds them on the CPU; with `device_ids` it is `ddp-device-ids`. With gloo the constructor passes, and DDP's
buckets are on the CPU while the gradients come from the GPU.

## Why

DistributedDataParallel makes its buckets and hooks for the parameters where they are when it is built. DataParallel is another
matter: `nn.DataParallel(model).cuda()` is fine, since it copies the model in each forward pass.

## How to tell

`next(model.parameters()).device` just before the wrap.

Or have the script check it: gather one weight after a step: `assert torch.equal(parts[0], parts[1]), "DDP no longer sums the gradients of these parameters"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): how the module must be placed
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script, Thing, moves, stays, target

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where the device may be the CPU",
    symptoms=[r"DDP no longer sums the gradients of these parameters"],
    message="the ranks' weights differ: parameters were moved or converted after DDP had put its hooks on them",
    fixes=[
        Fix(
            "Move it first, then wrap it",
            "model = model.to(local_rank)\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
            proof="model = model.to(",
        )
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A DistributedDataParallel that is moved, around a model that was never moved before."""
    for wrapper in script.of_kind("ddp"):
        inner = script.innermost(wrapper)
        if inner is wrapper or not stays(script, inner):
            yield from _unknown(script, wrapper, inner)
            continue
        if any(call.number < wrapper.made for call in moves(script, inner)):
            continue
        for call in moves(script, wrapper):
            device = target(call)
            if device.literal == "cpu" or device.text == "cpu":
                break
            sure = device.cuda or call.method == "cuda"
            yield check.found(
                f"the model is still on the CPU where DistributedDataParallel wraps it (line {wrapper.place}), and moved "
                "only here: DDP has made its buckets by then",
                severity=Severity.ERROR if sure else Severity.WARNING,
                location=call.place,
            )
            break


def _unknown(script: Script, wrapper: Thing, inner: Thing) -> Iterator[Finding]:
    """Report a wrapper that is moved, ``DDP(model).cuda()``, around a model of which nothing is known but its name."""
    made = script.made_by(wrapper)
    given = made.arguments.get("module") if made is not None else None
    if made is None or given is None or made.given("device_ids") or MOVED.search(given.text):
        return
    held = {*given.value.things}
    # A function may put what it builds onto the GPU; a class hardly does, and who moves it below knows that it did not.
    of_class = inner is not wrapper and inner.type.rpartition(".")[2][:1].isupper()
    for call in moves(script, wrapper):
        before = any(
            c.method in ("cuda", "to")
            and (held & {*c.receiver.things} or c.text.startswith(f"{given.text}."))
            for c in script.calls[: wrapper.made]
        )
        at_once = call.place.line == made.place.line
        if (at_once or (of_class and call.scope == made.scope)) and not before and not target(call).on_cpu:
            yield check.found(
                f"{given.text} is wrapped first and moved then; nothing here moves it before, and DDP makes its buckets where "
                "it is when it is wrapped",
                severity=Severity.WARNING,
                location=call.place,
            )
        return


MOVED = re.compile(r"\.(?:to|cuda)\(")
"""What is wrapped where it is moved: ``DDP(model.to(rank))``."""
