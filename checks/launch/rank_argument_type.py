"""The rank, or the number of ranks, is a text where a number is meant.

## What happens

"`rank` must be an integer. 0" from `init_process_group`; "'>=' not supported between instances of 'str' and 'int'" there or in
a DistributedSampler; "incompatible function arguments" from a store or a collective, "Invoked with: …, '0'"; "Invalid device
string: '0'" for a device. The number in the message looks right: it is in quotation marks, or was printed without them.

## Why

- `parser.add_argument("--rank")` without `type=int` gives the text `"0"`.
- `os.environ["RANK"]`, `["LOCAL_RANK"]` and `["WORLD_SIZE"]` are texts: the environment holds nothing else.
- `if os.environ["RANK"] == 0:` holds on no rank, so what rank 0 alone should do is never done; `> 0` raises the TypeError.
- A number in a YAML file is in quotation marks, or a shell put them there.

## How to tell

`print(repr(rank), repr(world_size))` right before the call: `'0'` is a text, `0` a number.

## See also

- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): `rank` and `world_size` are numbers
- [argparse: type](https://docs.python.org/3/library/argparse.html#type): without `type=int` an argument is a string
- [pytorch#67172](https://github.com/pytorch/pytorch/issues/67172): TCPStore, incompatible constructor arguments
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Call, Known, Script, Value

# torch's own comparison of a rank is the last frame above the error.
COMPARED = (
    r"(?:distributed_c10d\.py\"?, line \d+, in (?:init_process_group|_new_process_group_helper|new_group|_new_group_with_tag)|"
    r"distributed[./\\]rendezvous\.py\"?, line \d+, in \w+|utils[./\\]data[./\\]distributed\.py\"?, line \d+, in __init__)"
    r"\n(?:(?!\s*File )[^\n]*\n){0,3}(?:\S+ )?TypeError: "
)

ARGPARSE = Fix(
    "Have the argument parsed as a number", 'parser.add_argument("--rank", type=int, default=0)', Kind.EDIT
)
ENVIRONMENT = Fix(
    "Make a number of what comes from the environment",
    'rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])\n'
    'device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))',
    Kind.EDIT,
    proof='int(os.environ["RANK"])',
)
TORCHRUN = Fix(
    "Better: pass neither, and start with torchrun, which sets both",
    'dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a script asks whether a text is equal to a number",
    symptoms=[
        r"`?\b(?P<name>rank|world_size)`? must be an integer\. (?P<value>\S{0,40})",
        Symptom(
            r"TypeError: '[<>]=?' not supported between instances of '(?:str' and 'int|int' and 'str)'",
            near=COMPARED,
        ),
        # pybind's list of the types that fit, of a store, a process group or a collective's options
        Symptom(
            r"Invoked with: .{0,400}(?<!\w)'(?P<value>\d{1,7})'",
            near=r"incompatible (?:constructor|function) arguments[\s\S]{0,200}_distributed_c10d\.",
        ),
        r"ranks must be a sequence of integers",
        r"Invalid device string: '(?P<index>\d{1,3})'",
        # mp.spawn's nprocs
        Symptom(
            r"TypeError: (?:can't multiply sequence by non-int of type 'str'|'str' object cannot be interpreted as an integer)",
            near=r"(?:\* nprocs|range\(nprocs\))\S?\n(?:[ ^~]*\n)?(?:\S+ )?TypeError: ",
        ),
    ],
    fixes=[ARGPARSE, ENVIRONMENT, TORCHRUN],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what is a text."""
    seen = sighting.groups
    if "index" in seen:
        said = f"the device was given as the text '{seen['index']}': a number alone must be an int, a text is 'cuda:{seen['index']}'"
        yield check.found(said, fixes=[ENVIRONMENT, ARGPARSE])
    elif "name" in seen:
        yield check.found(f"the {seen['name']} is {seen['value'] or 'empty'} as a text, and must be a number")
    elif "value" in seen:
        yield check.found(f"a number was given as a text: '{seen['value']}'")
    elif "TypeError: can't" in sighting.line or "interpreted" in sighting.line:
        yield check.found("nprocs of mp.spawn is a text, and must be a number", fixes=[ARGPARSE, ENVIRONMENT])
    else:
        yield check.found("the rank, or the number of ranks, is a text, and must be a number")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A rank or a number of ranks that argparse, or the environment, leaves a text, and that nobody makes a number."""
    yield from _variables(script)
    yield from _compared(script)
    taken = {
        value.text
        for name, wanted in TAKES_NUMBERS.items()
        for call in script.named(name)
        for argument in wanted
        if (value := call.value(argument)).known is Known.ARGUMENT
    }
    for call in script.methods("add_argument", "parser"):
        names = [a.value.literal for key, a in call.arguments.items() if key.isdigit()]
        options = [name.lstrip("-").replace("-", "_") for name in names if isinstance(name, str)]
        # torch.cuda.set_device takes "cuda:1" too
        option = next((name for name in options if name in NUMBERS or name in taken - DEVICES), None)
        if (
            option is None
            or call.given("type")
            or call.given("action")
            or call.given("choices")
            or call.starred
        ):
            continue
        if isinstance(call.value("default").literal, int) and not script.distributed:
            continue
        if any(other.name == "int" and option in _text(other) for other in script.calls):
            continue
        used = next((other for other in script.calls if _takes(other, option)), None)
        if used is not None:
            yield check.found(
                f"--{option} has no type=int, so argparse gives a text, and {used.text or used.method} in line "
                f"{used.place} takes a number",
                location=call.place,
                fixes=[ARGPARSE],
            )


NUMBERS = frozenset("rank local_rank world_size node_rank nproc gpu ngpus nprocs".split())
DEVICES = frozenset({"device", "dev", "gpu_device", "cuda_device"})
"""Options that mean a device by its name as well as by its number."""
TAKES_NUMBERS = {
    "torch.cuda.set_device": ("device",),
    "torch.distributed.init_process_group": ("rank", "world_size"),
    "torch.utils.data.DistributedSampler": ("rank", "num_replicas"),
    "torch.multiprocessing.spawn": ("nprocs",),
}


def _takes(call: Call, option: str) -> bool:
    """Return whether a call takes the option's value where a number must stand."""
    wanted = TAKES_NUMBERS.get(call.name, ())
    return any(
        name in wanted and (argument.text.endswith(f".{option}") or _is_option(argument.value, option))
        for name, argument in call.arguments.items()
    )


def _is_option(value: Value, option: str) -> bool:
    return value.known is Known.ARGUMENT and value.text == option


def _text(call: Call) -> str:
    return " ".join(argument.text for argument in call.arguments.values())


def _variables(script: Script) -> Iterator[Finding]:
    """Yield a finding for a variable that is used as it is where a number must stand."""
    for call in script.calls:
        for name in TAKES_NUMBERS.get(call.name, ()):
            value = call.value(name)
            if (value.is_rank or value.known is Known.WORLD_SIZE) and [item.text for item in value.items] == [
                "text"
            ]:
                read = next((c for c in script.calls if c.result == value), call)
                yield check.found(
                    f"{value.text} is a text, as all of the environment is, and {call.method} takes a number for {name}",
                    location=read.place,
                    fixes=[ENVIRONMENT],
                )
                return


def _compared(script: Script) -> Iterator[Finding]:
    """Yield a finding for the first test in which a variable, as it is, is compared with a number."""
    seen: set[int] = set()
    for call in script.calls:
        for test in call.conditions:
            if id(test) in seen:
                continue  # one test stands over many calls
            seen.add(id(test))
            value, number = test.value.items if len(test.value.items) == 2 else (None, None)
            if value is None or number is None or [item.text for item in value.items] != ["text"]:
                continue
            ordered = ORDERED.search(test.text)
            if not number.is_literal or type(number.literal) is not int or number.literal < 0:
                continue  # ``os.environ.get("RANK", -1) != -1`` asks whether it is set
            if not (ordered or EQUAL.search(test.text)):
                continue
            then = (
                "which raises a TypeError"
                if ordered
                else "and the two are never equal: no rank passes as that one"
            )
            yield check.found(
                f"{value.text} is a text, as all of the environment is, and `{test.text}` compares it with a number, {then}",
                severity=Severity.ERROR if ordered else Severity.WARNING,
                location=test.place,
                fixes=[ENVIRONMENT],
                raises="TypeError" if ordered else "",
            )
            return


EQUAL = re.compile(r"[=!]=")
ORDERED = re.compile(r"[<>]")
"""Operators between a text and a number: Python knows an order of the two for none."""
