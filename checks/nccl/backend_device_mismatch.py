"""The backend cannot send this tensor: wrong device, type, layout or operation.

## What happens

"No backend type associated with device type cpu", before torch 2.0 "Tensors must be CUDA and dense". The collective is
refused before anything is sent, mostly in the first evaluation, log step or checkpoint.

## Why

NCCL sends CUDA tensors alone, gloo mostly CPU tensors, and neither knows every type and operation.

- A loss, a metric or a count is made with `torch.tensor(x)`, on the CPU, and reduced over NCCL.
- Buffers or parameters are still on the CPU when the model is wrapped in DDP.
- A checkpoint or FSDP with CPU offload needs a CPU backend beside NCCL.
- "Tensors must be contiguous": a transposed, sliced or expanded tensor, or a parameter that was tied or loaded as one. NCCL sends
  numbers that lie one after the other.
- The backend lacks the operation or type: sparse tensors with NCCL; with gloo, in older torch, reduce_scatter and
  `ReduceOp.AVG` (torch 2.15 has that one).

## How to tell

The traceback's last line of your own code is the call. Print `tensor.device, tensor.dtype, tensor.layout` and
`dist.get_backend()` there.

## See also

- [Backends](https://docs.pytorch.org/docs/stable/distributed.html#backends): which operation works on which device
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Known, Script, Value, moves, stays
from gpudoctor.wordings import A_FRAME

OPERATION = (
    r"_?(?:all_?gather|all_?reduce|reduce_?scatter|all_?to_?all|gather|scatter|recv|send|broadcast|"
    r"barrier|monitoredBarrier|reduce)\w*"
)
DISTRIBUTED = r"torch[./\\]distributed|distributed_c10d|ProcessGroup|\bdist\.\w|c10d"

ON_GPU = Fix(
    "Make the tensor on this rank's GPU",
    "counts = torch.zeros(2, device=torch.cuda.current_device())",
    Kind.EDIT,
)

MOVED = Fix(
    "Put the model on this rank's GPU first",
    "torch.cuda.set_device(local_rank)\nmodel = DistributedDataParallel(model.cuda(), device_ids=[local_rank])",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"device_ids not supported for the selected backend (?P<backend>\w+)",
        r"No backend type associated with device type (?P<device>\w+)",
        r"Default backend not registered for device ?: ?(?P<device>\w+)",
        r"NCCL only supports CUDA tensors, but got a tensor on (?P<device>\w+)",
        r"Attempt to perform collective on tensor not on device passed to init_process_group",
        r"Tensors must be CUDA and dense|ProcessGroupNCCL requires CUDA tensors/devices",
        Symptom(
            r"(?:Error|what\(\)): +Tensors must be (?:(?P<layout>contiguous|non-overlapping and dense)|on the same device)",
            near=DISTRIBUTED,
        ),
        r"(?P<operation>monitored_barrier) is only implemented for GLOO backend",
        r"ProcessGroup(?P<backend>Gloo|MPI|UCC)::(?P<operation>\w+): unsupported (?:layout|device)",
        r"NCCL does not support (?P<operation>\w+) with sparse tensors",
        rf"\b(?:ProcessGroup|Backend) ?(?P<backend>\w{{3,12}}?) ?does not support (?P<operation>{OPERATION})",
        r"Cannot use ReduceOp\.(?P<operation>\w+) with (?P<backend>NCCL|Gloo|non-integral dtype|boolean inputs)",
        r"Input tensor data type is not supported for (?P<backend>NCCL) process group: (?P<dtype>\w+)",
        r"Unconvertible (?P<backend>NCCL) type (?P<dtype>\w+)",
        Symptom(r"Error: +Invalid scalar type", near=r"distributed_c10d|ProcessGroupGloo|\bdist\.all_?\w+\("),
        Symptom(
            r"(?:Error|what\(\)): +Tensors must be (?:(?P<layout>contiguous|non-overlapping and dense))\W{0,3}$",
            unless=A_FRAME,
        ),
        r"ProcessGroupNCCL only supports CUDA tensors",
    ],
    message="the process group's backend[ <backend>] cannot do this[: the tensor is not <layout>, as one that was transposed, sliced or expanded][: <operation>][ with type <dtype>]"
    "[ on device <device>]; the tensor must be on a device, of a type and for a call that the backend knows",
    fixes=[
        Fix(
            "Send a <layout> tensor; of a model, make the parameters so before it is wrapped",
            "for p in model.parameters():\n    p.data = p.data.contiguous()\ndist.all_gather(gathered, x.contiguous())",
            Kind.EDIT,
            source="https://github.com/pytorch/pytorch/issues/73515",
        ),
        Fix(
            "Make what is sent on this rank's GPU",
            'loss = torch.tensor(loss, device=torch.device("cuda", local_rank))\ndist.all_reduce(loss)',
            Kind.EDIT,
        ),
        Fix(
            "Have a backend for each device: for checkpoints, offload, and metrics on the CPU",
            'dist.init_process_group("cpu:gloo,cuda:nccl")',
            Kind.EDIT,
            proof="cpu:gloo,cuda:",
        ),
        Fix(
            "Move the model before wrapping it",
            "model = DDP(model.to(local_rank), device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "Write what the backend lacks with what it has",
            "dist.all_reduce(x)  # for ReduceOp.AVG with gloo, in older torch\nx /= dist.get_world_size()",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A collective on a tensor that was made on the CPU, over NCCL alone."""
    made = script.process_group
    names = [value.literal for value in made.value("backend").possible()] if made is not None else []
    chosen = len(names) > 1  # ``"nccl" if torch.cuda.is_available() else "gloo"``
    backend = next((name for name in names if isinstance(name, str) and _for_gpus_alone(name)), None)
    if made is None or backend is None or (chosen and not any(map(_on_gpu, script.calls))):
        return
    if any(
        call.name in ("torch.set_default_device", "torch.set_default_tensor_type") for call in script.calls
    ):
        return
    if not chosen:
        yield from _wrapped(script, backend)
    for call in script.calls:
        if not call.collective or call.name.endswith(
            ("_object", "_object_list", "barrier", "new_group", "subgroups")
        ):
            continue
        if "group" in call.arguments or (chosen and any(OF_BACKEND.search(c.text) for c in call.conditions)):
            continue
        given = call.arguments.get("tensor")
        value = given.value if given is not None else None
        if given is None or value is None or value.made < 0:
            continue
        source = _maker(script, value)
        fetched = source.method == "cpu" and not source.arguments
        if value.known is not Known.TENSOR and not (fetched and value.known is Known.UNKNOWN):
            continue
        if fetched or (source.name in CPU_TENSORS and not source.given("device")):
            how = "brought to" if fetched else "made on"
            yield check.found(
                f"{given.text} is {how} the CPU, by {source.name} in line {source.place}, and the backend is "
                f"{backend}{' where there are GPUs' if chosen else ''}, which sends tensors of GPUs alone",
                location=made.place if ":" in backend else call.place,
                fixes=[ON_GPU],
            )


def _on_gpu(call: Call) -> bool:
    """Return whether a call puts something on a GPU, or chooses one."""
    given = call.arguments.get("device")
    return (
        call.name == "torch.cuda.set_device"
        or call.method == "cuda"
        or (given is not None and given.value.cuda)
    )


OF_BACKEND = re.compile(r"backend|gloo|nccl|cuda|cpu|gpu|device", re.I)
"""What a test names that tells one backend from another."""
SAME_PLACE = frozenset(
    "float double half long int reshape view unsqueeze squeeze clone detach contiguous flatten sum mean".split()
)
"""Methods of a tensor whose result is where the tensor is."""


def _maker(script: Script, value: Value) -> Call:
    """Return the call that decided where a tensor is: not the one that reshaped it or changed its type."""
    call = script.calls[value.made]
    while call.method in SAME_PLACE and call.receiver.known is Known.TENSOR and call.receiver.made >= 0:
        call = script.calls[call.receiver.made]
    return call


CPU_TENSORS = frozenset(
    f"torch.{name}"
    for name in "tensor zeros ones empty full arange rand randn from_numpy FloatTensor LongTensor".split()
)
"""Functions that make a tensor on the CPU where no device is named."""


def _for_gpus_alone(backend: str) -> bool:
    """Return whether a process group has no backend for tensors on the CPU."""
    return backend == "nccl" or (":" in backend and "cpu:" not in backend)


def _wrapped(script: Script, backend: str) -> Iterator[Finding]:
    """Yield a finding for a model that is wrapped on the CPU and never moved."""
    for wrapper in script.of_kind("ddp"):
        inner = script.innermost(wrapper)
        moved = any(True for thing in (wrapper, inner) for _ in moves(script, thing))
        if (
            inner is not wrapper
            and stays(script, inner)
            and not moved
            and not inner.escapes
            and not wrapper.escapes
        ):
            yield check.found(
                f"the model is still on the CPU where DistributedDataParallel wraps it, nothing moves it, and the backend is "
                f"{backend}",
                location=wrapper.place,
                fixes=[MOVED],
            )
