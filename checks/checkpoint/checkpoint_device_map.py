"""The checkpoint's tensors are to be loaded onto a device that is not there.

## What happens

"Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False", or "on CUDA device 5 but
torch.cuda.device_count() is 4". Without such a message every rank may load onto GPU 0, and its memory is full.

## Why

Each tensor in a file carries the device it was saved from, and `torch.load` puts it there again unless `map_location`
says otherwise. The file was saved with more GPUs, with another kind of device, or from another rank's GPU.

"is_available() is False" on a machine with GPUs is another failure: the driver, a CPU build of torch, or
`CUDA_VISIBLE_DEVICES` hides them.

## How to tell

`python -c "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"` says what torch sees here. If
that is what you expect, the file needs `map_location`; if not, run `gpudoctor check`.

`gpudoctor lint train.py` finds each `torch.load` without `map_location`, and those that name GPU 0 on every rank.

## See also

- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): map_location
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints): `map_location` for each rank
"""

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count, listed
from gpudoctor.facts import (
    Call,
    CheckpointFile,
    Condition,
    Known,
    Script,
    Value,
    of_several,
    one_alone,
    origins,
)

CPU = Fix(
    "Load onto the CPU; load_state_dict copies to where the model is",
    'state = torch.load("model.pt", map_location="cpu", weights_only=True)\nmodel.load_state_dict(state)',
    Kind.EDIT,
    proof='map_location="cpu", weights_only=True)',
)
OWN_GPU = Fix(
    "Load onto this rank's own GPU",
    'state = torch.load("model.pt", map_location=f"cuda:{local_rank}", weights_only=True)',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="of a file and in a script of several ranks a warning; a note where all of it was on the first GPU, and else in a script",
    follows=["driver-not-loaded", "driver-library-mismatch", "cuda-driver-too-old", "cuda-init-failed"],
    symptoms=[
        r"\bdeserialize object on an? (?P<device>\w+) device but torch\.\w+\.is_available\(\) is False",
        r"\bdeserialize object on (?P<device>\w+ device \d+) but torch\.\w+\.device_count\(\) is (?P<count>\d+)",
        r"The (?P<device>\w+) device module is not registered\. If you are running on a CPU-only machine, please use torch\.load",
        r"Storage device not recognized: (?P<device>\w+)",
        r"don't know how to restore data location of .{1,100} \(tagged with (?P<device>[\w:]+)\)",
        r"deserialize object on (?:MPS|XPU|NPU|HPU|MLU) device(?: \d+)? but ",
    ],
    message="the file's tensors were saved on <device>, which this process does not have[: it sees <count>]",
    fixes=[
        CPU,
        OWN_GPU,
        Fix(
            "Where a library loads: hand it the same argument",
            'model = LitModel.load_from_checkpoint("last.ckpt", map_location="cpu")',
            Kind.EDIT,
        ),
        Fix("See why torch has no GPU here, where there should be one", "gpudoctor check"),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A torch.load that gives tensors back to the device they came from: of rank 0's checkpoint that is GPU 0."""
    # One line may load in a program of one process and in one of several: the worse of the two is said.
    yield from sorted(_loads(script), key=lambda finding: finding.severity is Severity.NOTE)


def _loads(script: Script) -> Iterator[Finding]:
    for call in script.named("torch.load"):
        if call.starred or any(made.name == "io.BytesIO" for made in origins(script, call.value("f"))):
            continue
        if _saved_from_cpu(script, call) or _of_numbers(script, call) or _of_what_is_on_no_gpu(script, call):
            continue
        of_data = any(call.of_class(thing.type) for thing in script.of_kind("dataset"))
        of_data = (
            of_data or "data" in f"{call.scope} {call.arguments['f'].text if call.given('f') else ''}".lower()
        )
        several = of_several(script, call) and not one_alone(call) and not of_data
        # ``if args.gpu is None:`` is a branch for a process that has all GPUs, or none
        several = several and not any(_all_gpus(c) for c in call.conditions)
        if not call.given("map_location") or call.arguments["map_location"].text == "None":
            said = "torch.load without map_location asks for the device that each tensor was saved from"
            if several and cuda(script):
                said += ": every rank loads what rank 0 saved onto GPU 0"
            else:
                said += ", and fails where it is not there"
        elif several and first_gpu(call):
            said = f"map_location={call.arguments['map_location'].text} puts the tensors of every rank onto GPU 0"
        else:
            continue
        yield check.found(
            said,
            severity=Severity.WARNING if several and cuda(script) else Severity.NOTE,
            location=call.place,
            fixes=[CPU, OWN_GPU] if several else [CPU],
        )


def _all_gpus(test: Condition) -> bool:
    """Return whether a test holds where a process was given no GPU of its own."""
    none = re.fullmatch(r"(?P<what>[\w.]+) is (?P<other>not )?None", test.text)
    of_gpu = none is not None and re.search(r"gpu|device|rank|cuda", none["what"].lower()) is not None
    return none is not None and of_gpu and bool(none["other"]) is test.negated


def _saved_from_cpu(script: Script, load: Call) -> bool:
    """Return whether the script itself saves the file, and nothing but a tensor that it makes on the CPU."""
    path = load.arguments["f"].text if "f" in load.arguments else ""
    saved = [c for c in script.named("torch.save") if "f" in c.arguments and c.arguments["f"].text == path]
    made = [script.calls[value.made] for c in saved if (value := c.value("obj")).made >= 0]
    return (
        bool(path)
        and len(made) == len(saved) > 0
        and all(
            one.name in ("torch.randperm", "torch.arange", "torch.tensor", "torch.from_numpy")
            and not one.given("device")
            for one in made
        )
    )


def _of_numbers(script: Script, load: Call) -> bool:
    """Return whether the script itself saves the file, and no tensor in it as far as its entries tell."""
    path = load.arguments["f"].text if "f" in load.arguments else ""
    saved = [c for c in script.named("torch.save") if "f" in c.arguments and c.arguments["f"].text == path]
    held = [c.value("obj") for c in saved]
    return bool(path) and bool(held) and all(_plain(value) for value in held)


def _of_what_is_on_no_gpu(script: Script, load: Call) -> bool:
    """Return whether a file holds what is no tensor of a GPU: by its name, or because such a thing takes all of it."""
    given = load.arguments.get("f")
    taken = [script.things[number] for number in load.result.things]
    takers = [
        call.text for call in script.methods("load_state_dict") if any(call.takes(thing) for thing in taken)
    ]
    named = [given.text, given.value.text, str(given.value.literal)] if given else []
    return any(NO_GPU.search(text) for text in named) or (
        bool(takers) and all(NO_GPU.search(text) for text in takers)
    )


NO_GPU = re.compile(r"(?i)sched|scaler|(?:\b|_)rng(?:\b|_)|random_?state")
"""Names of what is numbers, or tensors of the CPU: torch.cuda.get_rng_state gives these, too."""


def _plain(value: Value) -> bool:
    """Return whether a mapping holds numbers and names alone: its keys are written out, and no entry is a thing or a state."""
    return (
        value.known is Known.MAPPING
        and isinstance(value.literal, tuple)
        and bool(value.items)
        and all(NUMBERS.search(str(key)) for key in value.literal)
        and not any(item.things or item.known is Known.TENSOR for item in value.items)
    )


NUMBERS = re.compile(r"epoch|step|iter|best|min_|max_|score|fid|acc|seed|name|version|count|lr$")
"""Keys of entries that are numbers."""


def cuda(script: Script) -> bool:
    """Return whether a script of several ranks trains on GPUs."""
    if next(script.named("accelerate.Accelerator.prepare"), None) is not None:
        return True
    group = script.process_group
    if group is not None and group.value("backend").literal == "nccl":
        return True
    return any(call.method == "cuda" or call.name == "torch.cuda.set_device" for call in script.calls)


def first_gpu(call: Call) -> bool:
    """Return whether a load names GPU 0 by its number."""
    given = call.value("map_location")
    named = given.literal == "cuda:0"
    index = given.items[0] if given.known is Known.DEVICE and given.items else None
    return named or (index is not None and given.text == "cuda" and index.literal == 0 and index.is_literal)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """Tensors that were saved from a GPU: a note for the first one, a warning where any other is asked for."""
    if not file.kind.startswith("torch"):
        return  # safetensors and distributed checkpoints know no device
    counts = Counter(key.device for state in file.state_dicts for key in state.keys)
    devices = {device: n for device, n in sorted(counts.items()) if device not in ("cpu", "meta")}
    if not devices:
        return
    shown = listed([f"{count(n, 'tensor')} from {device}" for device, n in devices.items()], 4, noun="device")
    back = "it" if len(devices) == 1 else "each"
    yield check.found(
        f"saved with {shown}: torch.load without map_location asks for {back} again, on every rank",
        severity=Severity.NOTE if set(devices) <= {"cuda", "cuda:0"} else Severity.WARNING,
        fixes=[CPU, OWN_GPU],
    )
