"""The function that mp.spawn starts gets arguments that it does not take.

## What happens

"TypeError: run() takes 1 positional argument but 2 were given", "missing 1 required positional argument" or "argument after *
must be an iterable, not int", below `fn(i, *args)` in `torch/multiprocessing/spawn.py`. No process comes as far as its first
line, and mp.spawn ends the others.

## Why

`mp.spawn(run, args=(a, b), nprocs=2)` calls `run(0, a, b)` and `run(1, a, b)`: the number of the process comes first, by
itself, and the tuple is taken apart behind it.

| in the script | what it leads to |
|---|---|
| `def run(world_size)` | one argument too many: there is no place for the rank |
| `args=(rank, world_size)` | one too many: the rank is there twice |
| `args=(config)` | no tuple: "argument after * must be an iterable", or, of a text or a list, "takes 2 … but 63 were given" |
| `mp.spawn(run(config), …)` | the function was called, and its result was handed on: "'NoneType' object is not callable" |
| `mp.spawn(run, kwargs=…)` | there is no such argument |

`multiprocessing.Process(target=run, args=…)` hands on the tuple alone, without a rank.

## How to tell

Count: the parameters of the function must be one more than the tuple has elements.

## See also

- [torch.multiprocessing.spawn](https://docs.pytorch.org/docs/stable/multiprocessing.html#torch.multiprocessing.spawn.spawn): the function is called as `fn(i, *args)`, and i is the process's number
- [pytorch#40258](https://github.com/pytorch/pytorch/issues/40258): one argument more than was passed
- [PointNeXt#8](https://github.com/guochengqian/PointNeXt/issues/8): 63 arguments, because a comma was missing
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Call, Known, Script, Signature, Value
from gpudoctor.wordings import A_FRAME

# The call itself is the last line above the error: one further down is a fault of the user's own functions.
CALL = r"(?:fn\((?:i|gindex|process_index), \*args\)|self\._target\(\*self\._args, \*\*self\._kwargs\)|self\.launcher\(\*args\))"
CALLED = rf"{CALL}\n(?:[ ^~]*\n)?(?:\S+ )?TypeError: "
MANY = 3
"""So many arguments more than are wanted come from a text or a list that was taken apart."""

RANK_FIRST = Fix(
    "Let the function take the rank first, and hand the rest on as a tuple, without the rank",
    "def run(rank, world_size, config): ...\n\n\nmp.spawn(run, args=(world_size, config), nprocs=world_size)",
    Kind.EDIT,
)
COMMA = Fix(
    "A tuple of one has a comma",
    "mp.spawn(run, args=(config,), nprocs=2)",
    Kind.EDIT,
    proof=",), nprocs=2)",
)
KEYWORDS = Fix(
    "Keyword arguments",
    "mp.spawn(functools.partial(run, lr=0.1), args=(world_size,), nprocs=world_size)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"TypeError: (?P<function>[\w.<>]{1,100})\(\) takes (?:from \d+ to )?(?P<wanted>\d+) positional arguments? but "
            r"(?P<given>\d+) (?:was|were) given",
            near=CALLED,
        ),
        Symptom(
            r"TypeError: (?P<function>[\w.<>]{1,100})\(\) missing \d+ required (?:positional|keyword-only) arguments?: "
            r"(?P<missing>'.{1,200})",
            near=CALLED,
        ),
        Symptom(
            r"TypeError: .{0,120}(?:Value|argument) after \* must be an iterable, not (?P<type>[\w.]+)",
            near=CALLED,
        ),
        Symptom(r"TypeError: '(?P<result>\w+)' object is not callable", near=CALLED),
        (
            r"TypeError: (?:spawn|start_processes)\(\) got (?P<wrong>an unexpected keyword argument|multiple values for argument) "
            r"'(?P<keyword>\w+)'"
        ),
        # the line alone, of a function that has the name of one
        Symptom(
            r"TypeError: (?P<function>(?:main|run|train|demo|init|launch|_)?_?(?:worker|main_worker|process|fn|ddp|distributed))\(\) takes (?:from \d+ to )?(?P<wanted>\d+) positional arguments? but "
            r"(?P<given>\d+) (?:was|were) given",
            unless=A_FRAME,
        ),
    ],
    fixes=[RANK_FIRST, COMMA, KEYWORDS],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what came and what was wanted."""
    seen = sighting.groups
    apart = "given" in seen and int(seen["given"]) - int(seen["wanted"]) > MANY
    fixes = [COMMA, RANK_FIRST] if apart or "type" in seen else [KEYWORDS] if "keyword" in seen else None
    yield check.found(_said(seen), fixes=fixes)


def _said(seen: dict[str, str]) -> str:
    function = f"{seen.get('function', 'the function')}()"
    if "given" in seen:
        wanted, given = int(seen["wanted"]), int(seen["given"])
        if given - wanted > MANY:
            return f"{function} takes {wanted} arguments and got {given}: what was given as args is no tuple, and was taken apart"
        return (
            f"{function} takes {wanted} of the {given} arguments that it got: the rank, and what args holds"
        )
    if "missing" in seen:
        return f"{function} got no {seen['missing']}: it is called with the rank, and with what args holds"
    if "type" in seen:
        return f"what was given as args is of the type {seen['type']}, and must be a tuple: (config,) and not (config)"
    if "result" in seen:
        return f"what was given as the function is of the type {seen['result']}: it was called, run(…), instead of named, run"
    if seen["wrong"].startswith("multiple"):
        return f"mp.spawn gets {seen['keyword']} twice: its own arguments are the function, args and nprocs, in this order"
    return f"mp.spawn takes no {seen['keyword']}: only args, a tuple, goes to the function"


@check.code
def code(script: Script) -> Iterator[Finding]:
    """mp.spawn with arguments that its function does not take, or that are no tuple."""
    known = {signature.name: signature for signature in script.signatures}
    for call in script.named("torch.multiprocessing.spawn"):
        given, target = call.value("args"), call.value("fn")
        if "args" in call.arguments and (given.known in NO_TUPLES or _bracketed(call)):
            yield check.found(
                f"args={call.arguments['args'].text} is no tuple: mp.spawn unpacks it for each process; one argument "
                "alone needs a comma, args=(x,)",
                location=call.arguments["args"].place,
            )
        if target.is_none and "fn" in call.arguments and "(" in call.arguments["fn"].text:
            text = call.arguments["fn"].text
            yield check.found(
                f"{text} is called here, in the parent, and what it returns is started: mp.spawn wants the function "
                "itself, and its arguments in args",
                location=call.arguments["fn"].place,
            )
        signature = known.get(target.text) if target.known is Known.DEFINED else None
        if (
            signature is not None
            and "." in signature.name
            and not call.arguments["fn"].text.startswith("self.")
        ):
            signature = None  # a method that is taken from its class, without an object
        if (
            signature is None
            or call.starred
            or _prepared(script, target)
            or (given.known is not Known.SEQUENCE and "args" in call.arguments)
        ):
            continue
        yield from _shifted(call, signature)
        number = 1 + len(given.items)
        most = len(signature.parameters)
        if (number > most and not signature.variadic) or number < signature.required:
            yield check.found(
                f"{signature.name} takes {', '.join(signature.parameters) or 'nothing'}; mp.spawn gives it {number}: "
                "the number of the process, which comes first, and what is in args",
                location=call.place,
            )


def _prepared(script: Script, target: Value) -> bool:
    """Return whether functools.partial holds arguments ready for a function."""
    return 0 <= target.made < len(script.calls) and script.calls[target.made].name == "functools.partial"


RANKS = frozenset("rank local_rank gpu gpu_id local_gpu proc_id process_index device_id".split())
"""What the parameter is called that is meant for the number of the process."""
OTHERS = frozenset(
    "args cfg config opt opts params hparams world_size ngpus nprocs n_gpus ngpus_per_node".split()
)


def _shifted(call: Call, signature: Signature) -> Iterator[Finding]:
    """Report a function whose first parameter gets the number of the process and is meant for something else."""
    first, rest = signature.parameters[:1], signature.parameters[1:]
    rank = next((name for name in rest if name in RANKS), None)
    if first and first[0] in OTHERS and rank is not None and not signature.variadic:
        yield check.found(
            f"{signature.name} takes {', '.join(signature.parameters)}: mp.spawn gives it the number of the process first, so "
            f"{first[0]} is that number and {rank} is something else",
            location=call.place,
        )


def _bracketed(call: Call) -> bool:
    """Return whether args is one name in brackets, ``(x)``, which is no tuple."""
    text = call.arguments["args"].text
    return text.startswith("(") and text[1:-1].isidentifier()


NO_TUPLES = (Known.WORLD_SIZE, Known.DEVICE_COUNT, Known.THING, Known.ARGUMENT)
"""Kinds of value that surely are no tuple."""
