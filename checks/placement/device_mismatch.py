"""Tensors of one operation lie on different devices.

## What happens

An operation raises "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!".
A layer says "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same".

## Why

- The model is on the GPU and the batch is not (`batch.to(device)` gives a new tensor, it moves nothing in place).
- A tensor is a plain attribute of a module instead of a parameter or buffer, so neither `.to()` nor DataParallel's
  copies move it: on `cuda:0` it works, on the replica on `cuda:1` it fails.
- A tensor is made in `forward` without `device=`, or with a literal `"cuda"` or `"cuda:0"`, while this rank or replica
  computes on another GPU.
- One device is `meta`: weights were never loaded, and the failure is mostly `meta-tensor`.
- The target stays behind, where a model is spread over several GPUs (`device_map="auto"`).

## How to tell

The last line of your own code in the traceback is the operation; print the `.device` of each of its tensors. Under
DataParallel "in replica 1 on device 1" above the message says that a tensor did not follow the copy.

`gpudoctor lint train.py` finds tensors that a module keeps as plain attributes, and a model and its input on two GPUs by number.

## See also

- [register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer): for tensors that move with the module
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html): device-agnostic code
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    FACTORIES,
    Argument,
    Call,
    Known,
    ModuleClass,
    Script,
    Thing,
    Value,
    cpu_input,
    moved_under,
    moves,
    on_cpu,
    target,
)

# A tensor type as messages spell it, on one side of a device boundary: torch.cuda.FloatTensor, CUDAFloatType, MPS…
CUDA = r"(Variable\[)?(torch\.cuda\.|CUDA|MPS)\w+\]?"
PAIR = r"(?P<device>[\w:]+) and (?P<other>[\w:]+)"
KIND = r"(?:backend|device type|device)"
CPU = r"(Variable\[)?(torch\.(?!cuda)|CPU)\w+\]?"
REGISTERED = Fix(
    "Register a tensor that belongs to a module, so that it moves with it",
    'self.register_buffer("mean", torch.zeros(8))  # was: self.mean = torch.zeros(8)',
    Kind.EDIT,
    proof='self.register_buffer("mean", torch.zeros(8))',
)
OF_INPUT = Fix(
    "Make it where the input is",
    'hidden = torch.zeros(x.size(0), 8, device=x.device)  # was: device="cuda:0"',
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/notes/cuda.html",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning for a tensor that a module keeps as a plain attribute, for a copy that nobody takes, and "
    "for a GPU that the forward under DataParallel names",
    symptoms=[
        # a tensor on meta has no numbers yet: meta-tensor
        rf"Expected all tensors to be on the same device(?!.{{0,60}}\bmeta\b)(, but found at least two devices, {PAIR})?",
        rf"Input type \({CUDA}\) and (weight|bias) type \({CPU}\)",
        rf"Input type \({CPU}\) and (weight|bias) type \({CUDA}\)",
        # 1.0 to 1.5, with and without dtype
        rf"[Ee]xpected (object of )?{KIND} (?P<device>[\w:]+) (and dtype \w+ )?but got {KIND} (?P<other>[\w:]+)",
        rf"[Ee]xpected (object of )?type {CUDA} but (found|got)( type)? {CPU}",
        rf"[Ee]xpected (object of )?type {CPU} but (found|got)( type)? {CUDA}",
        rf"to have the same type as .{{1,80}}; but type ({CUDA} does not equal {CPU}|{CPU} does not equal {CUDA})",
        r"(arguments|tensors) are (located )?on different GPUs",
        # until 0.3
        r"invalid combination of arguments - got \([^()]*torch\.(?:cuda\.\w+Tensor[^()]*torch\.(?!cuda)\w+Tensor|(?!cuda)\w+Tensor[^()]*torch\.cuda\.\w+Tensor)",
        r"expected (?P<other>CPU|CUDA) tensor \(got (?P<device>CPU|CUDA) tensor\)",
        r"legacy constructor expects device type: (?P<other>\w+) but device type: (?P<device>\w+) was passed",
        # Chinese, of a page that was translated: "on the same device", "two devices"
        r"\u540c\u4e00\u8bbe\u5907.{0,20}?\u4e24\u4e2a\u8bbe\u5907.{0,8}?(?P<device>cuda(?::\d+)?|cpu) ?\u548c ?(?P<other>cuda(?::\d+)?|cpu)",
        r"[Tt]ensor was not on the same device as the first tensor",
        r"is on (?P<device>\w+)(:\d+)?, but expected (it|them) to be on (?P<other>\w+)",
        r"tensors are not at the same device, found input tensor at (?P<device>[\w:]+)",
        r"indices should be either (on cpu or )?on the same device as the indexed tensor",
        r"Tensor on device (?!meta)(?P<device>[\w:]+) is not on the expected device (?P<other>[\w:]+)!",
        r"(must|to|should) (all )?(be on|have) (the )?same device( type)?\b(?!.{0,60}\bmeta\b)",
        r"Input, output and indices must be on the current device",
        r"Specified device (?P<other>[\w:]+) does not match device of data (?P<device>[\w:]+)",
        r": at param \d+, inconsistent device: (?P<device>[\w:]+) vs (?P<other>[\w:]+)",  # mmcv's
        r"Expected a '(?P<other>\w+)' device type for generator but found '(?P<device>\w+)'",
        r'Attempted to set the storage of a tensor on device "(?P<device>(?!meta)[\w:]+)" to a storage on different device "(?P<other>(?!meta)[\w:]+)"',
        r"Placeholder storage has not been allocated on MPS device",
        # FSDP's flat parameter lies elsewhere than its device_id; torch before 2.1 does not say where
        r"Expects tensor to be on the compute device (?P<device>[\w:]+)(?:, was on (?P<other>[\w:]+))?",
        r"Expects `?FlatParameter`? to be on the compute device (?P<other>[\w:]+) but got (?P<device>[\w:]+)",
        r"Must flatten tensors on the same device but got both (?P<device>[\w:]+) and (?P<other>[\w:]+)",
        r"FSDP-managed module unexpectedly has parameters on (?P<device>[\w:]+)\. Make sure to move the module to (?P<other>[\w:]+)",
        r"FSDP only supports single device modules but got params on \{",
        r"RuntimeError: To support a module with both (?P<device>CPU) and (?P<other>GPU) params, please pass in device_id",
        r"The module has (?P<device>CPU) parameters or buffers when `?sync_module_states=True`?, which requires them to be on (?P<other>GPU)",
        r"Module has (?P<device>CPU) parameters, but sync_module_states=True is specified",
        r"FSDP parameters should be materialized on (?P<other>CPU) when enabling CPU offloading",
        # the current GPU is another one than the tensor's, or the tensor is the host's
        r"Pointer argument (?:\(at \d+\) )?cannot be accessed from Triton",
        r"Unhandled FakeTensor Device Propagation for \S+, found two different devices (?P<device>\S+), (?P<other>\S+)",
        r"returned an invalid gradient at index \d+ - expected device (?P<other>[\w:]+) but got (?P<device>[\w:]+)",
        rf"returned an invalid gradient at index \d+ - expected type {CUDA} but got {CPU}",
        rf"returned an invalid gradient at index \d+ - expected type {CPU} but got {CUDA}",
        r"\b(?:needs? to (?:be|reside)|needs?.{1,60}(?<!\bto be)) on (?:the same|one) (?:device|GPU)\b",
        r"[Pp]lace both on the same device\b",
        r"the optimizer parameters are not on the same device\b",  # accelerate, transformers
        r"\b(?:param|loss|tensor|mask)\w* is on (?P<device>[\w:]+) and must be '(?P<other>\w+)'",  # DeepSpeed's CPUAdam
        r"must be on the original device: (?P<other>[\w:]+) but device in use is (?P<device>[\w:]+)",
        r"\b[Ee]xpected [\w ]{1,60} to be on device (?P<other>[\w:]+), (?:but )?got (?P<device>[\w:]+)",
        r"were not on the (?P<other>\w+) while the `?Accelerator`? is configured for",
        r"Passed CPU tensor to MPS op",
        rf"[Ee]xpected {CUDA} \(got {CPU}\)|[Ee]xpected {CPU} \(got {CUDA}\)",
        r"legacy constructor for device type: (?P<other>\w+) was passed device type: (?P<device>\w+)",  # until 1.4
    ],
    message="the tensors of one operation lie on different devices[: one on <device>, one on <other>]",
    fixes=[
        Fix(
            "Move each batch, and keep what .to() returns",
            "x, target = x.to(device), target.to(device)",
            Kind.EDIT,
        ),
        REGISTERED,
        Fix(
            "Make tensors in forward on the device of the input",
            "mask = torch.ones(n, device=x.device)",
            Kind.EDIT,
        ),
        Fix(
            "One GPU per process: choose it once, before anything is placed",
            'device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))\ntorch.cuda.set_device(device)',
            Kind.EDIT,
        ),
    ],
)  # fmt: skip


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A tensor that a module keeps and that does not move with it; a model and its input on two GPUs by number."""
    moving = (call for method in ("cuda", "to") for call in script.methods(method) if places(call))
    moved = {script.things[n].type for call in moving for n in call.receiver.things}
    for item in script.classes:
        if item.name in moved:
            yield from left_behind(script, item)
    yield from apart(script)
    yield from unmoved(script)
    yield from thrown_away(script)
    yield from never_moved(script)
    yield from moved_elsewhere(script)
    yield from never_put(script)
    yield from of_all_ranks(script)
    yield from in_replicas(script)


def places(call: Call) -> bool:
    """Return whether a call puts something onto a device that is not the CPU, as far as is known."""
    return call.method == "cuda" or (
        call.method == "to"
        and call.given("device")
        and target(call).literal != "cpu"
        and target(call).text != "cpu"
    )


def left_behind(script: Script, item: ModuleClass) -> Iterator[Finding]:
    """Report tensors that ``__init__`` keeps as plain attributes and forward computes with where they are."""
    made = {
        (call.place.line, call.name): call
        for call in script.named(*FACTORIES)
        if call.of_class(item.name, "__init__")
    }
    written = {attribute.name for attribute in item.written_in_forward}
    for attribute in item.attributes:
        call = made.get((attribute.place.line, attribute.type))
        name = attribute.name
        if call is None or name not in item.used_in_forward or call.given("device") or name in written:
            continue
        own = f"self.{name}"
        if any(
            c.text.startswith(f"{own}.") or any(a.text == own for a in c.arguments.values())
            for c in script.calls
        ):
            continue  # forward moves it, or hands it to something that may
        yield check.found(
            f"self.{name} is a plain tensor: it stays on the CPU when the model moves to the GPU, and forward computes with both",
            severity=Severity.WARNING,
            location=attribute.place,
            fixes=[REGISTERED],
        )


def apart(script: Script) -> Iterator[Finding]:
    """Report a model that is put onto one GPU and called with what is put onto another one."""
    for thing in script.of_kind("model"):
        numbers = {number(target(call)) for call in moves(script, thing)}
        if len(numbers) != 1 or None in numbers:
            continue
        (own,) = numbers
        for call in script.calls:
            if (
                call.method == "__call__"
                and thing.number in call.receiver.things
                and call.receiver.known is Known.THING
            ):
                for argument in call.arguments.values():
                    other = input_gpu(script, argument)
                    if other is not None and other != own:
                        yield check.found(
                            f"the model is on GPU {own} (line {moves(script, thing)[0].place}) and `{argument.text}` on GPU "
                            f"{other}",
                            location=call.place,
                        )


def input_gpu(script: Script, argument: Argument) -> int | None:
    """Return the number of the GPU on which an input was put or made, ``None`` where none is written out."""
    made = argument.value.made
    if argument.value.known is not Known.TENSOR or not 0 <= made < len(script.calls):
        return None
    call = script.calls[made]
    return number(call.value("device")) if call.method in ("to", "cuda") or call.name in FACTORIES else None


def of_all_ranks(script: Script) -> Iterator[Finding]:
    """Report what every rank puts onto one GPU that is written out, and the model that is on the rank's own."""
    if any(call.variable == "CUDA_VISIBLE_DEVICES" for call in script.named("os.environ.__setitem__")):
        return  # each rank may see one GPU, its own
    own = {
        t.number
        for t in script.of_kind("ddp")
        if (made := script.made_by(t)) and _of_rank(made.value("device_ids"))
    }
    for call in script.calls:
        engine = script.thing(call.receiver) if call.method == "__call__" else None
        of_engine = engine is not None and engine.type == "deepspeed.DeepSpeedEngine"
        if not (of_engine or _loss(script, call)) or not call.reached:
            continue
        given = list(call.arguments.values())
        fixed = next((a for a in given if input_gpu(script, a) is not None), None)
        if fixed is not None and (of_engine or any(_returned_by(script, a.value, own) for a in given)):
            yield check.found(
                f"`{fixed.text}` is on GPU {input_gpu(script, fixed)} on every rank, and the model on the rank's own GPU",
                location=script.calls[fixed.value.made].place,
            )
            return


def in_replicas(script: Script) -> Iterator[Finding]:
    """Report what the forward of a model under DataParallel puts onto one GPU: its other copies compute elsewhere."""
    wrappers = [t for t in script.of_kind("dp") if t.inner >= 0 and not _alone(script, t)]
    inside = {script.innermost(thing).type for thing in wrappers}
    for item in script.classes:
        if item.name not in inside:
            continue
        forward = [call for call in script.calls if call.of_class(item.name, "forward")]
        methods = {"forward", *(c.text[5:] for c in forward if c.text.startswith("self."))}
        for call in (c for m in methods for c in script.calls if c.of_class(item.name, m)):
            gpu = number(call.value("device")) if call.name in FACTORIES else None
            gpu = number(target(call)) if call.method in ("to", "cuda") and call.given("device") else gpu
            if gpu is not None:
                yield check.found(
                    f"{call.text}() puts this onto GPU {gpu} in every copy that DataParallel makes of {item.name} (line "
                    f"{wrappers[0].place}), and the other copies compute on other GPUs",
                    severity=Severity.WARNING,
                    location=call.place,
                    fixes=[OF_INPUT],
                )
                return


def _alone(script: Script, wrapper: Thing) -> bool:
    """Return whether a wrapper is told one GPU."""
    made = script.made_by(wrapper)
    devices = made.value("device_ids") if made is not None else None
    return devices is not None and devices.known is Known.SEQUENCE and len(devices.items) == 1


def _of_rank(devices: Value) -> bool:
    return devices.known is Known.SEQUENCE and any(item.is_rank or item.by_rank for item in devices.items)


def number(device: Value) -> int | None:
    """Return the number of a GPU that is written out."""
    index = device.index
    return index.literal if index is not None and index.is_literal and type(index.literal) is int else None


def unmoved(script: Script) -> Iterator[Finding]:
    """Report a loss of what a model on the GPU returned and of what a loader pinned on the CPU, and nothing moved."""
    on_gpu = {n for c in script.calls if places(c) and target(c).text != "meta" for n in c.receiver.things}
    on_gpu |= {thing.number for thing in script.of_kind("ddp") if script.innermost(thing).number in on_gpu}
    if not on_gpu or script.frameworks:
        return
    for call in script.calls:
        loop = call.within("batch")
        loader = script.thing(loop.over, "loader") if loop is not None and _loss(script, call) else None
        made = script.made_by(loader) if loader is not None else None
        if made is None or made.value("pin_memory").literal is not True:
            continue
        given = list(call.arguments.values())
        raw = next((a for a in given if _of_loader(a.value)), None)
        if raw is not None and any(_returned_by(script, a.value, on_gpu) for a in given):
            yield check.found(
                f"`{raw.text}` comes from the loader (line {made.place}), which pins it in the CPU's memory, and nothing "
                "moves it; what the model returned is on the GPU",
                location=call.place,
            )
            return


def thrown_away(script: Script) -> Iterator[Finding]:
    """Report a tensor of a batch whose copy on the GPU nobody takes, and that the loss is computed with."""
    for call in script.calls:
        moving = call.name in ("torch.Tensor.cuda", "torch.Tensor.to") and places(call)
        if call.used or not moving or not call.loops or not _of_loader(call.receiver):
            continue
        name = call.text.rpartition(".")[0]
        after = (c for c in script.calls[call.number :] if call.loops[-1] in c.loops and _loss(script, c))
        if any(_still(script, argument, name) for c in after for argument in c.arguments.values()):
            yield check.found(
                f"{call.text}() returns a copy on the GPU, which nothing takes here: {name} itself stays on the CPU, and the "
                "loss is computed with it",
                severity=Severity.WARNING,
                location=call.place,
            )
            return


def _still(script: Script, argument: Argument, name: str) -> bool:
    """Return whether an argument is a tensor of a batch by its name, as the loader gave it, or another type of it."""
    value = argument.value
    if argument.text == name:
        return _of_loader(value)
    made = script.calls[value.made] if 0 <= value.made < len(script.calls) else None
    return argument.text.startswith(f"{name}.") and made is not None and _of_loader(made.receiver)


def never_moved(script: Script) -> Iterator[Finding]:
    """Report a model that stays on the CPU, where it is made, and is called with what was put onto the GPU."""
    group = script.process_group
    if script.frameworks or (group is not None and group.value("backend").literal == "nccl"):
        return  # over NCCL the wrapping fails first
    for call in script.calls:
        thing = script.thing(call.receiver, "model", "ddp") if call.method == "__call__" else None
        if thing is None or call.receiver.known is not Known.THING or not call.reached:
            continue
        put = next((a for a in call.arguments.values() if _put_on_gpu(script, a.value)), None)
        if put is not None and on_cpu(script, thing):
            model = script.innermost(thing)
            yield check.found(
                f"`{put.text}` is on the GPU, and nothing moves the model there: it is on the CPU, where line "
                f"{model.place} makes it",
                location=call.place,
            )
            return


def moved_elsewhere(script: Script) -> Iterator[Finding]:
    """Report a model that is put onto the GPU with its wrapper alone, and called bare with what is on the GPU."""
    for call in script.calls:
        if call.method != "__call__" or not call.reached or script.frameworks:
            continue
        put = next((a for a in call.arguments.values() if _put_on_gpu(script, a.value)), None)
        under = moved_under(script, call) if put is not None else None
        if put is not None and under is not None:
            yield check.found(
                f"`{put.text}` is put onto the GPU always, and the model only where `{under.text}` holds (line "
                f"{under.place}): with one GPU it stays on the CPU",
                location=call.place,
            )
            return


def never_put(script: Script) -> Iterator[Finding]:
    """Report a model that is put onto the GPU, and called with what is made on the CPU and not moved."""
    for call in script.calls if not script.frameworks else ():
        raw, placed = cpu_input(script, call)
        if raw is not None and placed is not None and call.reached:
            yield check.found(
                f"`{raw.text}` is made on the CPU, and nothing moves it; the model is on the GPU (line {placed.place})",
                location=call.place,
            )
            return


def _put_on_gpu(script: Script, value: Value) -> bool:
    call = (
        script.calls[value.made]
        if value.known is Known.TENSOR and 0 <= value.made < len(script.calls)
        else None
    )
    return (
        call is not None
        and call.method in ("to", "cuda")
        and places(call)
        and (call.method == "cuda" or target(call).maybe_cuda)
    )


def _loss(script: Script, call: Call) -> bool:
    named = call.name.startswith("torch.nn.functional.") and call.method.endswith(
        ("loss", "entropy", "kl_div")
    )
    return named or (call.method == "__call__" and script.thing(call.receiver, "loss") is not None)


def _of_loader(value: Value) -> bool:
    """Return whether a value is an element of a batch as the loader gave it."""
    return value.of_batch and value.made < 0 and not value.items


def _returned_by(script: Script, value: Value, models: set[int]) -> bool:
    """Return whether a model returned a value, of these by their numbers."""
    call = script.calls[value.made] if value.known is Known.TENSOR and value.made >= 0 else None
    return (
        call is not None and call.method in ("__call__", "forward") and bool(models & {*call.receiver.things})
    )
