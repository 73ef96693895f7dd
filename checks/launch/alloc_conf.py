"""PYTORCH_CUDA_ALLOC_CONF has a value that this torch does not accept.

## What happens

"Unrecognized CachingAllocator option: expandable_segments", "Expected 'True' or 'False' at index 2 in ConfigTokenizer",
or a bare "stoull", at the first use of CUDA. The line in the traceback (`.cuda()`, `set_device`) is not at fault.

## Why

- The option is newer than torch: `expandable_segments` came with 2.1.
- The form: `name:value,name:value`, no `=`, no `;`, `True` and not `true`. Quotes that Docker's `-e`, an `.env`
  file or YAML passes on are part of the value.
- A value out of range, such as a `max_split_size_mb` below 20.
- Accepted, but not for this: GPU tensors in expandable segments cannot always be handed to another process.

torch 2.9 calls the variable PYTORCH_ALLOC_CONF and still reads the old name (2.9.1 takes expandable_segments by the old one only); where both are set, torch 2.15 takes the
old one. Libraries and scripts set it as well.

## How to tell

`printenv | grep ALLOC_CONF`, and `grep -rn ALLOC_CONF .` for the place that sets it.

## See also

- [PYTORCH_ALLOC_CONF](https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf): every option and its values
- [pytorch#123505](https://github.com/pytorch/pytorch/issues/123505): the message; torch may have been replaced by an older one unnoticed
- [pytorch#183387](https://github.com/pytorch/pytorch/issues/183387): torch 2.9.1 overlooks expandable_segments under the new name
"""

import re
import shlex
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Symptom
from gpudoctor.facts import Gpus, Launch, Pci, Torch, Variables, gpus_here

NEAR = r"ALLOC_CONF|[Aa]llocator|_cuda_init|_lazy_init|AllocatorSettings"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning without a GPU and for two names of one variable, a note for a torch without CUDA",
    symptoms=[
        r"Unrecognized key '(?P<option>[^']*)' in \w+ allocator config",
        r"Unrecognized CachingAllocator option: '?(?P<option>[\w=\"']+)",
        r"Expected '[^']{1,40}'(?: or '[^']{1,40}')? at index \d+ in ConfigTokenizer but got '(?P<value>.{1,60}?)'(?: |$)",
        r"(?:Index out of bounds|Expected closing bracket .{1,40}) in ConfigTokenizer",
        r"(?P<option>max_split_size_mb|garbage_collect(?:ion)?_threshold) (?:too (?:small|big), |is invalid, set it)",
        r"(?P<option>per_process_memory_fraction) is invalid, set it in",
        r"Error, expecting (?P<option>[\w-]+) value",
        r"Error parsing (?:CachingAllocator settings, expected|backend value)",
        r"Expected a single True/False argument for (?P<option>\w+)",
        r"For roundups, the divis\w+ has to be power of 2",
        r"Unknown allocator backend, options are native and cudaMallocAsync",
        r"Allocator backend parsed at runtime != allocator backend parsed at load time",
        r"(?P<option>backend:cudaMallocAsync) requires CUDA runtime",
        r"Pinned reserve segment size has to be greater than 0|Number of register threads has to be power of 2",
        Symptom(r"ValueError: (?P<value>sto(?:ull|d|i|ul))\b *$", near=NEAR),
        r"Tensors allocated with (?P<option>expandable_segments):True cannot be shared between processes",
        r"Cannot share an (?P<option>expandable_segments) allocation",
        r"pidfd_\w+ syscall needed to use IPC for CUDA tensors when (?P<option>expandable_segments):True",
        r"(?P<option>cudaMallocAsync) does not yet support \w+",
    ],
    message="PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use[, at the option <option>][, at the value <value>]",
    fixes=[
        Fix("Do without it", "unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF"),
        Fix(
            "Write it as torch reads it",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,garbage_collection_threshold:0.8",
        ),
        Fix(
            "See who sets it",
            "printenv | grep ALLOC_CONF; grep -rn ALLOC_CONF --include='*.py' --include='*.sh' .",
        ),
        Fix(
            "For GPU tensors that go to another process",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",
        ),
        Fix("Take a torch that knows the option", "python -m pip install --upgrade torch torchvision"),
    ],
)

# Run with torch 2.15 (torch._C._accelerator_setAllocatorSettings), each value with the words that it raises.
SWITCHES = re.compile(
    r"expandable_segments|throw_on_cudamalloc_oom|graph_capture_record_stream_reuse|pinned_use_\w+|release_lock_on_\w+"
)
AT_LEAST = {"max_split_size_mb": 20, "max_non_split_rounding_mb": 20, "large_segment_size_mb": 11}
FRACTION = re.compile(r"\d*\.?\d+(?:[eE]-?\d+)?")
# In the order in which torch 2.15 takes them, where several are set (run).
NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@check.environment
def environment(
    launch: Launch, variables: Variables | None, torch: Torch | None, gpus: Gpus | None, pci: Pci | None
) -> Iterator[Finding]:
    """The allocator's settings hold an option or a value that this torch's parser refuses, or contradict each other."""
    known = {name: launch.variables[name] for name in NAMES if launch.variables.get(name, "").strip()}
    if not known:
        return
    here = gpus_here(torch, gpus, pci)
    severity = Severity.ERROR if here or here is None else Severity.WARNING
    if torch is not None and torch.imported and torch.cuda is None and not torch.hip:
        severity = Severity.NOTE  # a torch without CUDA has no such allocator
    options = variables.allocator_options if variables is not None else []
    found = [
        check.found(f"{name}={value}: {wrong}", severity=severity, fixes=_fixes(name, value, wrong))
        for name, value in known.items()
        for wrong in _wrong(value, options)
    ]
    both = [name for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF") if name in known]
    if len(both) == 2 and _pairs(known[both[0]]) != _pairs(known[both[1]]):
        message = " and ".join(f"{name}={known[name]}" for name in both)
        message += (
            ": they are two names of one variable; torch 2.15 takes the first and leaves the other aside"
        )
        weight = Severity.NOTE if severity is Severity.NOTE else Severity.WARNING
        fixes = [Fix("Leave one of the two names", f"unset {both[0]}")]
        found.append(check.found(message, severity=weight, fixes=fixes))
    if not found and not options and (variables is None or variables.torch):
        raise CannotTell("which options this torch's allocator knows is not known")
    yield from found


def _pairs(value: str) -> list[str]:
    return sorted(part for part in value.replace(" ", "").split(",") if part)


def _wrong(value: str, options: list[str]) -> Iterator[str]:
    """Yield what the parser refuses; blanks and a comma at the end it forgives."""
    text = re.sub(r"\s", "", value)
    if text[:1] in "\"'":
        yield "the quotes are part of the value, and torch takes them for a part of the option's name"
        return
    for part in re.split(r",(?![^\[]*\])", text.rstrip(",")):
        option, colon, setting = part.partition(":")
        if not colon or not setting:
            how = "an option and its value are joined by `:`" if "=" in option else "an option needs a value"
            yield f"{part or 'an empty option'}: {how}"
        elif options and option not in options:
            yield f"this torch has no option {option}"
        elif ";" in setting:
            yield f"{setting}: options are separated by commas"
        else:
            yield from _wrong_setting(option, setting)


def _wrong_setting(option: str, setting: str) -> Iterator[str]:
    if SWITCHES.fullmatch(option):
        if setting not in ("True", "False"):
            yield f"{option} is True or False, written so, and not {setting}"
    elif option == "backend":
        if setting not in ("native", "cudaMallocAsync", "hipMallocAsync"):
            yield f"the backend is native or cudaMallocAsync, and not {setting}"
    elif option == "roundup_power2_divisions":
        numbers = re.findall(r"(?:^|:)(\d+)", setting)
        if (
            not numbers
            or any(int(n) & (int(n) - 1) for n in numbers)
            or setting.count("[") != setting.count("]")
        ):
            yield f"{option} takes powers of two, one or a list such as [256:1,512:2,>:4], and not {setting}"
    elif option in ("garbage_collection_threshold", "per_process_memory_fraction"):
        inside = bool(FRACTION.fullmatch(setting)) and 0 <= float(setting) <= 1
        if not inside or (option.startswith("garbage") and float(setting) in (0, 1)):
            yield f"{option} lies between 0 and 1, and is not {setting}"
    elif option.endswith("_mb") and not re.match(r"-?\d", setting):
        yield f"{option} is a number of MiB, and not {setting}"
    elif option in AT_LEAST and setting.isdecimal() and int(setting) < AT_LEAST[option]:
        yield f"{option} is at least {AT_LEAST[option]}, and not {setting}"
    elif option == "pinned_num_register_threads" and setting not in [str(1 << n) for n in range(8)]:
        yield f"{option} is a power of two up to 128, and not {setting}"


def _fixes(name: str, value: str, wrong: str) -> list[Fix]:
    plain = value.strip().strip("\"'").replace(" ", "").replace(";", ",")
    mended = re.sub(r"^(\w+)=|(?<=,)(\w+)=", lambda m: f"{m[1] or m[2]}:", plain)
    for word, meant in (("true", "True"), ("false", "False"), ("1", "True"), ("0", "False")):
        mended = re.sub(
            rf"(expandable_segments|pinned_use_\w+|release_lock_on_\w+):{word}(?=,|$)", rf"\1:{meant}", mended
        )
    fixes = [Fix("Do without it", f"unset {name}")]
    if mended != value:
        fixes.insert(0, Fix("Write it as torch reads it", f"export {name}={shlex.quote(mended)}"))
    elif "no option" in wrong:
        fixes.append(
            Fix("Or take a torch that knows the option", "python -m pip install --upgrade torch torchvision")
        )
    return fixes
