"""A DataParallel module has parameters outside its first GPU.

## What happens

`nn.DataParallel` raises "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of
them on device: cpu" at the first forward, before anything is computed.

## Why

DataParallel copies the module from `device_ids[0]` to the other GPUs in every forward, so all of it must be there. It is
not where:

- `.to(device)` was forgotten, or came before a layer was replaced (a new head for fine-tuning);
- the model was moved to another GPU than `device_ids` begins with;
- a library placed layers on several devices (`device_map="auto"`), which DataParallel cannot serve.

## How to tell

The message names the device of the first stray one. All of them:
`[name for name, p in model.named_parameters() if p.device != torch.device("cuda:0")]`, and the same for
`named_buffers()`.

`gpudoctor lint train.py` finds a model that nothing moves, or moves to another GPU than `device_ids` begins with, and a layer that is
put in after the wrap.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): parameters and buffers must be on `device_ids[0]`
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#comparison-between-dataparallel-and-distributeddataparallel): one process per GPU, no copies in each forward pass
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script, Thing, Value, moves, stays, target

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"module must have its parameters and buffers on device(?: (?P<expected>[\w:]+) ?\(device_ids\[0\]\) ?but found one of them on device ?: ?(?P<found>[\w:]+))?",
        r"[Aa]ll tensors must be on devices\[0\]",
        r"Broadcast function not implemented for CPU tensors",
    ],
    message="part of the module is not on the first GPU of DataParallel[: it is on <found> instead of "
    "<expected>]",
    fixes=[
        Fix(
            "Move the whole module after its last change and before the first forward",
            'model = model.to("cuda:0")\nmodel = nn.DataParallel(model, device_ids=[0, 1])',
            Kind.EDIT,
            proof='.to("cuda:0")',
        ),
        Fix(
            "If it should start on another GPU, name that one first",
            'model = nn.DataParallel(model.to("cuda:1"), device_ids=[1, 0])',
            Kind.EDIT,
        ),
        Fix(
            'A model that was loaded with device_map="auto" is spread already: do not wrap it',
            "model = AutoModel.from_pretrained(name)  # without device_map, then DataParallel",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A model that is put onto another GPU than device_ids begin with; or onto none; or a layer put in afterwards."""
    for wrapper in script.of_kind("dp"):
        made = script.made_by(wrapper)
        inner = script.innermost(wrapper)
        if made is None or made.starred or inner is wrapper or wrapper.escapes:
            continue
        ids = made.value("device_ids")
        first = (
            ids.items[0].literal if ids.items and ids.items[0].is_literal else (0 if ids.is_none else None)
        )
        if not made.given("device_ids"):
            first = 0
        within = [t for t in script.things if t.number == inner.number or script.innermost(t) is inner]
        placed = sorted((call for t in within for call in moves(script, t)), key=lambda call: call.number)
        index = target(placed[-1]).index if placed else None
        if placed and placed[-1].method == "cuda" and not placed[-1].arguments and not _chooses(script):
            index = Value(Known.LITERAL, 0)  # the current GPU
        if (
            index is not None
            and isinstance(index.literal, int)
            and first is not None
            and index.literal != first
        ):
            yield check.found(
                f"the model is put onto GPU {index.literal}, and DataParallel (line {wrapper.place}) copies it from GPU "
                f"{first}, the first of its device_ids",
                location=placed[-1].place,
            )
        alone = made.reached or "." not in made.scope  # a part of a module is moved with it
        if not placed and alone and stays(script, inner) and forward(script, wrapper) and on_gpu(script):
            yield check.found(
                "nothing moves this model to a GPU: DataParallel copies it from its first GPU, and refuses a model that is "
                "not there",
                location=wrapper.place,
            )
        yield from replaced(script, inner, made, placed)


def _chooses(script: Script) -> bool:
    """Return whether a script may make another GPU than the first the current one."""
    return any(True for _ in script.named("torch.cuda.set_device", "torch.cuda.device"))


def forward(script: Script, wrapper: Thing) -> bool:
    """Return whether a wrapper is called."""
    return any(
        c.method in ("__call__", "forward") and wrapper.number in c.receiver.things for c in script.calls
    )


def on_gpu(script: Script) -> bool:
    """Return whether anything is put onto a GPU."""
    return any(
        (call.method == "cuda" and call.name != "torch.cuda") or (call.method == "to" and target(call).cuda)
        for call in script.calls
    )


def replaced(script: Script, inner: Thing, made: Call, placed: list[Call]) -> Iterator[Finding]:
    """Report layers that are put into a wrapped model and stay on the CPU."""
    for call in script.calls:
        if call.number < made.number or call.method not in ("__setitem__", "__set__"):
            continue
        new = script.thing(call.value("value"), "model")
        if new is None or inner.number not in call.receiver.things or ".module" not in call.name:
            continue
        if not stays(script, new) or moves(script, new) or any(p.number > call.number for p in placed):
            continue
        yield check.found(
            f"`{call.text}` is put into the model after DataParallel wrapped it, and stays on the CPU: nothing moves it",
            location=call.place,
        )
