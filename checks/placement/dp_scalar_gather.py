"""DataParallel cannot put together what forward returns.

## What happens

"Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector."
Then `loss.backward()` fails with "grad can be implicitly created only for scalar outputs", or `.item()` with "a Tensor
with 2 elements cannot be converted to Scalar". Other outputs end with "'float' object is not iterable", "zip argument
#1 must support iteration", or "Input tensor at index 1 has invalid shape [2, 35, 10], but expected [2, 32, 10]".

## Why

Each replica returns its part, and DataParallel joins the parts along the batch dimension on the first GPU. It can join
CUDA tensors, and tuples, lists and dicts of them. A loss that forward computes itself becomes a vector with one entry
per GPU. A Python number, None, a CPU tensor, or sequences padded to different lengths cannot be joined.

## How to tell

Look at what `forward` returns. `gather_map` in the traceback means that the replicas were done and joining them failed.
The warning alone, with a `.mean()` after it, is harmless.

`gpudoctor lint train.py` finds `.backward()` and `.item()` on what DataParallel returned, and numbers that `forward` returns.

## See also

- [FAQ: recurrent networks](https://docs.pytorch.org/docs/stable/notes/faq.html#my-recurrent-network-doesn-t-work-with-data-parallelism): sequences padded to different lengths, and `total_length`
- [pytorch#7973](https://github.com/pytorch/pytorch/pull/7973): why the scalars become a vector
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import UNKNOWN, Call, Known, Script, Value, wrapped_classes
from gpudoctor.wordings import A_FRAME

SCALARS = r"all input tensors were scalars"
JOINING = r"in gather_map\b|in gather\b"
NOT_SCALAR = (
    r"(?P<scalar>grad can be implicitly created only for scal[ae]r outputs|only one element tensors can be converted|"
    r"a Tensor with \d+ elements cannot be converted to Scalar)"
)
SHAPE = r"\[[\d, ]*\]"
AVERAGED = Fix(
    "Average the losses of the replicas before backward",
    "loss = model(x, target).mean()\nloss.backward()",
    Kind.EDIT,
)
ON_THE_GPU = Fix(
    "Return tensors on the replica's GPU, with the batch as first dimension",
    "return torch.tensor([value], device=x.device)  # was: return value",
    Kind.EDIT,
    proof="], device=x.device)",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for the warning alone",
    symptoms=[
        rf"(?P<warning>Was asked to gather along dimension \d+, but {SCALARS})",
        Symptom(
            NOT_SCALAR,
            near=rf"{SCALARS}|in replica \d+ on device \d+|\bDataParallel\b|Using Data ?[Pp]arallel",
        ),
        Symptom(
            r"(?P<scalar>grad can be implicitly created only for scal[ae]r outputs)",
            near=r"\b[Mm]ulti(?:ple)?[- ]?(?:GPU|gpu)s?\b|\b(?:[2-9]|two|four|eight) (?:GPU|gpu)s\b",
        ),
        Symptom(r"'(?P<type>\w+)' object is not iterable", near=JOINING),
        Symptom(r"zip argument #\d+ must support iteration", near=JOINING),
        # the line alone, of somebody who tells of several GPUs
        Symptom(
            r"zip argument #1 must support iteration",
            near=r"\bDataParallel\b|\b[Mm]ulti(?:ple)?[- ]?(?:GPU|gpu)s?\b|\b(?:[2-9]|two|four|eight) (?:GPU|gpu)s\b",
            unless=A_FRAME,
        ),
        Symptom(
            r"dimension specified as 0 but tensor has no dimensions",  # 0.4
            unless=r"in (cat|stack|sum|mean|max|min|softmax|log_softmax|cross_entropy|size|index_select|argmax|topk)\b",
        ),
        # a traceback that was cut off
        Symptom(r"in gather_map$|return gather_map\(outputs\)$", unless=r"(?m)^\S{0,80}(Error|Exception)\b"),
        r"All dicts must have the same number of keys",
        Symptom(
            r"first argument must be callable or None|__init__\(\) missing \d+ required positional argument",
            near=JOINING,
        ),
        (
            r"(?P<cpu>Gather function not implemented for CPU tensors|Gather expects all inputs to have CUDA type|"
            r"All inputs to Gather must be CUDA tensors)"
        ),
        Symptom(r"(?P<cpu>AssertionError):? *$", near=r"in gather_map[\s\S]{0,600}assert all\("),
        rf"Input tensor at index (?P<replica>\d+) has invalid shape (?P<got>{SHAPE}),? but expected (?P<wanted>{SHAPE})",
        rf"Gather got an input of invalid size: got (?P<got>{SHAPE}),? but expected (?P<wanted>{SHAPE})",
    ],
    fixes=[
        AVERAGED,
        ON_THE_GPU,
        Fix(
            "Pad sequences to the whole batch's length on every replica",
            "pad_packed_sequence(out, batch_first=True, total_length=x.size(1))",
            Kind.EDIT,
        ),
        Fix(
            "One process per GPU, here 2: DistributedDataParallel joins no outputs",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """What a DataParallel returns goes backward, or is turned into one number, without a mean; or is a plain number."""
    scopes = {f"{item.own_name}.forward": item for item in wrapped_classes(script, "dp")}
    for way in script.exits:
        if way.kind != "return" or way.scope not in scopes:
            continue
        parts = way.value.items if way.value.known is Known.SEQUENCE else (way.value,)
        if any(plain(script, part) for part in parts):
            yield check.found(
                "forward returns a Python number, and DataParallel joins tensors alone: it fails where there are several GPUs",
                location=way.place,
                fixes=[ON_THE_GPU],
            )
    told: set[int] = set()
    for call in (*script.methods("backward"), *script.methods("item")):
        if any("grad" in name for name in call.arguments) or (call.method == "item" and "[" in call.text):
            continue  # an element of the outputs is one number
        made = _joined(script, call.receiver)
        if made is not None and made.number not in told:
            told.add(made.number)
            yield check.found(
                f"`{call.text}()` is called on what DataParallel returned (line {made.place}): with several GPUs that is a "
                "vector with an entry for each of them, and not one number",
                location=call.place,
                fixes=[AVERAGED],
            )


def _joined(script: Script, value: Value) -> Call | None:
    """Return the call of a DataParallel whose output a value surely is, or a part or sum of it; else ``None``."""
    if value.known is Known.CHOICE:
        found = [_joined(script, item) for item in value.items]
        return found[0] if None not in found else None
    if not 0 <= value.made < len(script.calls):
        return next((made for item in value.items if (made := _joined(script, item)) is not None), None)
    made = script.calls[value.made]
    if made.name == "<augmented>":
        return _joined(script, made.receiver)
    wrapper = script.thing(made.receiver, "dp")
    if wrapper is None or made.method != "__call__":
        return None
    ids = script.calls[wrapper.made].value("device_ids") if wrapper.made >= 0 else UNKNOWN
    return None if ids.known is Known.SEQUENCE and len(ids.items) < 2 else made


def plain(script: Script, value: Value) -> bool:
    """Return whether a value surely is a Python number."""
    if value.is_literal:
        return type(value.literal) in (int, float)
    if 0 <= value.made < len(script.calls):
        call = script.calls[value.made]
        return call.method in ("item", "numel", "dim") or (call.method == "size" and bool(call.arguments))
    if value.text in ("Add", "Sub", "Mult", "Div", "FloorDiv") and len(value.items) == 2:
        return all(plain(script, item) for item in value.items)
    return False


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """The warning alone is harmless where the loss is averaged; an error after it is not."""
    groups = sighting.groups
    if "warning" in groups:
        message = "each replica returned a single number, so the model returns a vector of them: average it before backward"
    elif "scalar" in groups:
        message = "the loss is a vector with one entry per GPU, because each replica returned a single number"
    elif "type" in groups:
        message = (
            f"forward returns a value of type {groups['type']}, and DataParallel joins CUDA tensors only"
        )
    elif "cpu" in groups:
        message = "forward returns a tensor on the CPU, and DataParallel joins CUDA tensors only"
    elif "got" in groups:
        which = f"replica {groups['replica']}" if "replica" in groups else "a replica"
        message = f"{which} returned the shape {groups['got']} and the first one {groups['wanted']}: they cannot be joined"
    else:
        message = "forward returns something other than tensors, and DataParallel cannot join it"
    yield check.found(message, severity=Severity.NOTE if "warning" in groups else None)
