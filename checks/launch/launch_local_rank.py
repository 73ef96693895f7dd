"""The launcher passes a local-rank option that the script does not know.

## What happens

"train.py: error: unrecognized arguments: --local-rank=0", once per process, then exit code 2. Or the other way round:
the script wants `--local_rank` and nobody passes it.

## Why

- `torch.distributed.launch` passes `--local_rank=N` until torch 1.13 and `--local-rank=N`, with a dash, since 2.0.
  argparse takes them for two options. DeepSpeed's launcher still passes the one with the underscore.
- The script has no such option at all: it was written for torchrun, which passes none and sets LOCAL_RANK.
- The script requires the option, or reads `args.local_rank`, and was started by torchrun.

## How to tell

`grep -n local.rank train.py` shows what the script knows, the error shows what it was given.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--local-rank` since torch 2.0, and LOCAL_RANK
- [pytorch-image-models#1724](https://github.com/huggingface/pytorch-image-models/issues/1724): the dash, since torch 2.0
- [pytorch-image-models#1728](https://github.com/huggingface/pytorch-image-models/issues/1728): the message, ended by torchrun
"""

import itertools
import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Call, Known, Script

# The first two characters may be dashes that a web page made longer.
OPTION = r"(?P<option>(?:--|[–—]{1,2})local[-_]rank)\b"

KNOWN = Fix(
    "Let the parser know the option",
    'parser.add_argument("--local_rank", type=int, default=-1)',
    Kind.EDIT,
    source="https://deepspeed.readthedocs.io/en/latest/initialize.html",
)

DEEPSPEEDS = re.compile(r"\[launch(?:er)?\.py:\d+:|deepspeed[/\\.]launcher|\[runner\.py:\d+:")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in a script that other launchers can still start",
    symptoms=[
        rf"[Uu]nrecognized (?:arguments|options): .{{0,400}}?{OPTION}",
        rf"[Nn]o such option:? ['\"]?{OPTION}",  # click, typer
        r"Unknown command line flag '(?P<option>local[-_]rank)'",  # absl
        rf"not used by the HfArgumentParser: \[.{{0,400}}?{OPTION}",
        rf"Could not consume arg: {OPTION}",  # fire
        rf"the following arguments are (?P<required>required): .{{0,400}}?{OPTION}",
        r"'Namespace' object has no attribute '(?P<option>local_rank)'",
        # cut off above argparse's own words: torch 2's launcher passes --local-rank, and the script says how it is used
        Symptom(
            r"\[(?P<option>--local_rank)\b(?!, --local-rank)",
            near=r"If your script expects `?--local-rank`? argument to be set[\s\S]{0,2000}\nusage: ",
        ),
    ],
    message="launcher and script do not agree on the option <option>: one passes it, and the other does not know it",
    fixes=[
        Fix(
            "Start with torchrun, which sets LOCAL_RANK and passes no option",
            "torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix(
            "Take both spellings, and the variable where neither is given",
            'parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))',
            Kind.EDIT,
            proof='parser.add_argument("--local-rank", "--local_rank", type=int',
        ),
        Fix(
            "Or let the old launcher set the variable instead of passing the option",
            "python -m torch.distributed.launch --use-env --nproc-per-node=N train.py",
        ),
        Fix(
            "Ignore what the parser does not know: a misspelt option of your own is ignored too",
            "args, _ = parser.parse_known_args()",
            Kind.MITIGATION,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Of a script that insists on the option: its parser is to be changed, since torchrun passes none."""
    option = sighting.groups["option"]
    in_parser = sorted(check.fixes, key=lambda fix: fix.kind is not Kind.EDIT)
    if "required" in sighting.groups:
        yield check.found(
            f"the script insists on {option}, which its launcher does not pass", fixes=in_parser
        )
        return
    message = f"launcher and script do not agree on the option {option}: one passes it, and the other does not know it"
    # DeepSpeed's launcher always passes it.
    yield check.found(message, fixes=in_parser if DEEPSPEEDS.search(sighting.around) else None)


READING = ("os.environ.__getitem__", "os.environ.get", "os.getenv", "os.environ.pop")
"""How a variable is read; one that is only set, or looked for, tells the script nothing."""


def _used(script: Script) -> bool:
    """Return whether anything asks for the option: some keep it for launchers that pass it, and read the variable."""
    texts = (
        text for call in script.calls for text in (call.text, *(a.text for a in call.arguments.values()))
    )
    tests = (condition.text for call in script.calls for condition in call.conditions)
    ways = (text for way in script.exits for text in (way.value.text, *(c.text for c in way.conditions)))
    return any("local_rank" in text and "--local" not in text for text in itertools.chain(texts, tests, ways))


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A script that learns its local rank from an option alone, which torchrun does not pass."""
    if "deepspeed" in script.frameworks:
        yield from _refused_by_parser(script)
        return
    if any("LOCAL_RANK" in call.variable for call in script.named(*READING)):
        return
    if _starts_them_itself(script) or _left_to_a_library(script):
        return
    for call in script.calls:
        if call.name.startswith("absl.flags.DEFINE_") and script.distributed:
            if next((a.value.literal for a in call.arguments.values()), None) == "local_rank":
                yield check.found(
                    "this script takes its local rank from --local_rank: torchrun sets LOCAL_RANK and passes no such option, "
                    "and torch.distributed.launch passes --local-rank since torch 2.0, which absl does not know",
                    severity=Severity.WARNING,
                    location=call.place,
                )
    for call in [*script.methods("add_argument"), *script.named("click.option")]:
        names = [a.value.literal for key, a in call.arguments.items() if key.isdigit()]
        if not {"--local_rank", "--local-rank"} & {*names} or not (
            script.distributed or _for_launch(script, call) or _set_up_elsewhere(script)
        ):
            continue
        used = _used(script)
        if "--local-rank" in names:
            if "--local_rank" not in names and used:
                yield check.found(
                    "this script takes its local rank from --local-rank alone: torchrun sets LOCAL_RANK and passes no such option",
                    severity=Severity.WARNING,
                    location=call.place,
                )
            continue
        takes = (
            "this script takes its local rank from --local_rank: torchrun sets LOCAL_RANK and passes no such option, and "
            if used
            else "this script has an option --local_rank, for torch.distributed.launch: "
        )
        yield check.found(
            f"{takes}torch.distributed.launch passes --local-rank since torch 2.0, which argparse refuses",
            severity=Severity.WARNING,
            location=call.place,
        )


def _refused_by_parser(script: Script) -> Iterator[Finding]:
    """Report a parser that knows no --local_rank, which DeepSpeed's launcher passes (launcher/launch.py of 0.17.6)."""
    engines = [call for call in script.named("deepspeed.initialize") if call.reached]
    parsed = next((c for c in script.methods("parse_args") if c.reached and not c.arguments), None)
    if not engines or parsed is None or not parsed.name.startswith("argparse.ArgumentParser"):
        return
    if any(c.value("device").known is Known.SYMBOL for c in script.named("torch.cuda.set_device")):
        return  # ``cluster.local_rank``: a module that knows how the ranks are started
    given = [(k, a.value) for c in script.methods("add_argument") for k, a in c.arguments.items()]
    options = {value.literal for key, value in given if key.isdigit()}
    whole = all(value.is_literal for key, value in given if key == "0")
    others = any(
        c.takes(script.things[n])
        for n in parsed.receiver.things
        for c in script.calls
        if c.number != parsed.number
    )
    if whole and not others and not {"--local_rank", "--local-rank"} & options:
        yield check.found(
            "this parser has no --local_rank, which DeepSpeed's launcher passes to every process: argparse refuses it, unless "
            "it is started with --no_local_rank, or with torchrun",
            severity=Severity.WARNING,
            location=parsed.place,
            fixes=[KNOWN],
        )


def _starts_them_itself(script: Script) -> bool:
    """Return whether a script starts its ranks, so that no launcher passes it anything."""
    made = [c for c in script.named("torch.distributed.init_process_group") if c.reached]
    made = [c for c in made if c.value("world_size").literal != 1]
    return bool(made) and all(c.spawned for c in made)


def _left_to_a_library(script: Script) -> bool:
    """Return whether a script sets LOCAL_RANK where no launcher has, for a library that reads it."""
    setting = (c for c in script.named("os.environ.__setitem__") if c.variable == "LOCAL_RANK")
    return bool(script.frameworks) and any(
        "LOCAL_RANK" in test.text for c in setting for test in c.conditions
    )


def _set_up_elsewhere(script: Script) -> bool:
    """Return whether a function makes the process group that is not seen here, by its name: ``init_dist(launcher)``."""
    return not script.frameworks and any(
        SETS_UP.fullmatch(call.method) and call.reached for call in script.calls
    )


SETS_UP = re.compile(r"(?:init|setup|initialize)_(?:dist|distributed|distributed_mode|ddp|process_group)")


def _for_launch(script: Script, call: Call) -> bool:
    """Return whether an option's help says that it is for a distributed launch; DeepSpeed's launcher still passes it."""
    said = call.value("help").literal
    others = [a.text for c in script.methods("add_argument") for a in c.arguments.values()]
    if script.frameworks or any("deepspeed" in text.lower() for text in others):
        return False
    return isinstance(said, str) and LAUNCH.search(said) is not None


LAUNCH = re.compile(r"distribut|\bddp\b|torch.*launch", re.I)
