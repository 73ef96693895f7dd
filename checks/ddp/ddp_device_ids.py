"""DDP's device_ids do not fit the devices that the module is on.

## What happens

The constructor raises "DistributedDataParallel device_ids and output_device arguments only work with
single-device/multiple-device GPU modules or CPU modules, but got device_ids [0], output_device None, and module
parameters {device(type='cpu')}", or "device_ids can only be None or contain a single element", or "input module must be
on the same type of devices".

## Why

- `{device(type='cpu')}`: the model was not moved to the GPU before the wrap, or there is no GPU and `device_ids` was
  given all the same. With gloo on the CPU it must be left out.
- Several ids: one process was given all GPUs, as DataParallel is. DDP takes one GPU per process.
- Several GPUs in the braces: the model is spread over them, as `device_map="auto"` does. Then `device_ids` must be None,
  and the processes must not share those GPUs.
- `{'cpu', 'cuda'}`: a part of the model stayed behind, made after `.to()` or kept outside of the module's parameters.

## How to tell

`{(n, p.device) for n, p in model.named_parameters()}` just before the wrap. If everything is on the CPU, look whether
`torch.cuda.is_available()` is true in this process.

`gpudoctor lint train.py` finds several ids for one process, and an id for a model that nothing moves to a GPU.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): when `device_ids` must be None
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html): also with a model on several GPUs
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import DEFAULTS, ONLY_ASKED, Call, Known, Script, Thing, Value, moves, stays, target

GOT = (
    r"DistributedDataParallel device_ids and output_device arguments only work with .{0,80}modules?, "
    r"but got device_ids (?P<ids>\[.{0,120}?\]|None), output_device .{0,40}?, and module parameters "
)
TYPE = r"module parameters \{device\(type='"
ONE = r"\{device\(type='\w+'(?:, index=\d+)?\)\}"
ONE_GPU = Fix(
    "Move the whole model to this process's GPU first, and name that one",
    "torch.cuda.set_device(local_rank)\n"
    "model = DistributedDataParallel(model.to(local_rank), device_ids=[local_rank])",
    Kind.EDIT,
)
NONE_NAMED = Fix(
    "On the CPU, or with a model that is spread over GPUs: name none",
    "model = DistributedDataParallel(model)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning where the number of GPUs decides, or the class of the model is not read",
    symptoms=[
        rf"{GOT}\{{device\(type='(?P<device>\w+)'(?:, index=\d+)?\)\}}",
        rf"{GOT}(?!{ONE})(?P<devices>\{{.{{1,200}}?(?:\}}|$))",
        r"^(?:# )?(?!.*DistributedDataParallel).{0,80}device_ids (?P<ids>\[[\d, ]*\]), output_device .{0,40}?, and module parameters \{",  # its end
        # retold, or cut before it says where the module is
        rf"DistributedDataParallel device_ids and output_device arguments only work with (?!.{{1,400}}{TYPE})",
        r"device_ids can only be None or contain a single element",
        r"DistributedDataParallel.{0,80}, but (?:input )?module parameters locate in (?P<devices>\{.{1,200}?\})",
    ],
    message="DDP's device_ids[, here <ids>,] must name the one GPU of this process, with all of the module on it"
    "[: it is on <device>][: it is on <devices>]",
    follows=[
        "device-map-with-ddp",
        "torch-cpu-build",
        "cuda-visible-devices",
        "driver-not-loaded",
        "cuda-driver-too-old",
        "cuda-init-failed",
    ],
    fixes=[
        ONE_GPU,
        NONE_NAMED,
        Fix("Start one process for each GPU (here 2)", "torchrun --nproc-per-node=2 train.py"),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Several GPUs for one process, or a GPU for a model that stays on the CPU."""
    group = script.process_group
    for wrapper in script.of_kind("ddp"):
        made = script.made_by(wrapper)
        if made is None or not made.given("device_ids") or made.value("device_ids").is_none:
            continue
        ids, text = (
            made.value("device_ids"),
            made.arguments["device_ids"].text if "device_ids" in made.arguments else "",
        )
        several = ids.known is Known.SEQUENCE and not ids.text and len(ids.items) > 1
        if several or counted(ids):
            yield check.found(
                f"device_ids={text} gives one process several GPUs: DistributedDataParallel takes one, or None",
                severity=Severity.ERROR if several else Severity.WARNING,
                location=made.place,
            )
            continue
        inner = script.innermost(wrapper)
        gloo = group is not None and group.value("backend").literal == "gloo"
        placed = [call for call in moves(script, inner) if call.number < made.number]
        last = next((call for call in reversed(placed) if not call.excluded(made)), None)
        number = target(last).index if last is not None and not last.rank_conditions else None
        own = len(ids.items) == 1 and ids.items[0].by_rank and _chosen(script)
        if last is not None and number is not None and number.is_literal and own:
            yield check.found(
                f"device_ids={text} is the GPU of the rank, and line {last.place} puts the model on {last.arguments['device'].text} "
                "on all of them: DistributedDataParallel refuses it on the others",
                location=made.place,
                fixes=[ONE_GPU],
            )
            continue
        to_cpu = bool(placed) and target(placed[-1]).on_cpu
        on_cpu = to_cpu or (gloo and stays(script, inner) and not moves(script, inner))
        if text and inner is not wrapper and on_cpu:
            yield check.found(
                f"device_ids={text} names a GPU, and the model is on the CPU{'' if to_cpu else ': nothing moves it'}, and DistributedDataParallel "
                "refuses it",
                location=made.place,
                fixes=[NONE_NAMED, ONE_GPU],
            )
        elif own and text and _never_put(script, inner, made):
            yield check.found(
                f"device_ids={text} names a GPU, and nothing here moves the model of line {inner.place} to one: unless its class "
                "does, it is on the CPU, and DistributedDataParallel refuses it",
                severity=Severity.WARNING,
                location=made.place,
                fixes=[ONE_GPU],
            )


def _never_put(script: Script, model: Thing, wrapping: Call) -> bool:
    """Return whether nothing puts a model of a class that is not read onto a GPU before it is wrapped.

    The class is told nothing but what is written out, no device and no settings, and no method but torch's own is called.
    """
    made = script.made_by(model)
    if made is None or model.kind != "model" or made.starred or not made.method[:1].isupper():
        return False
    if not all(argument.value.is_literal for argument in made.arguments.values()):
        return False
    if next(script.named(*DEFAULTS), None) is not None or "device" in " ".join(made.contexts).lower():
        return False
    before = script.calls[made.number + 1 : wrapping.number]
    return not any(
        call.takes(model) or (model.number in call.receiver.things and call.method not in ONLY_ASKED)
        for call in before
    )


def _chosen(script: Script) -> bool:
    """Return whether each rank chooses its own GPU; where none does, that is the fault, and not the model's place."""
    chosen = (call.value("device") for call in script.named("torch.cuda.set_device"))
    return any(device.by_rank or (device.index is not None and device.index.by_rank) for device in chosen)


def counted(ids: Value) -> bool:
    """Return whether ids are a range of numbers, or as many as one."""
    if ids.text == "comprehension":
        return any(item.known is Known.INDEX for item in ids.items)
    return ids.known is Known.INDEX
