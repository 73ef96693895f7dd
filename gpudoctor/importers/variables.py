"""Launch variables in a pasted text: ``env``'s output, what NCCL says that it was given, a job as Slurm shows it."""

import re
from collections.abc import Iterable, Iterator

from gpudoctor.importers.shell_prompt import without_prompt

_VARIABLE = re.compile(r"(?:declare -x |export )?(?P<name>[A-Za-z_][A-Za-z0-9_]{0,79})=(?P<value>.*)")
# "CUDA_VISIBLE_DEVICES=0 python train.py" is a command in the prose around the block.
_COMMAND = re.compile(
    r"\s(?:\w+=|\.?/|(?:python3?|torchrun|accelerate|deepspeed|vllm|bash|sh|mpirun|srun|nohup|uv)\b)"
)
_NCCL = re.compile(
    r"NCCL INFO (?:ENV/Plugin: )?(?P<name>NCCL_[A-Z0-9_]{2,60}) set by environment to (?P<value>.{1,500}?)\.?$"
)
_TALK = re.compile(
    r":\d{1,8}:\d{1,8} (?:\[\d{1,3}\] )?NCCL INFO \S"
)  # host:process:thread [device] NCCL INFO ...
# docker run -e NAME=value, --env NAME=value; in a compose file "- NAME=value" or "NAME: value" below "environment:"
_OPTION = re.compile(
    r"(?:^|\s)(?:-e|--env)[ =]['\"]?(?P<name>[A-Z_][A-Z0-9_]{1,79})=(?P<value>[^\s'\"\\]{0,500})"
)
_COMPOSED = re.compile(
    r"(?:- )?['\"]?(?P<name>[A-Z_][A-Z0-9_]{1,79})(?:=|: )['\"]?(?P<value>[^'\"#]{0,500}?)['\"]?(?:\s+#.*)?$"
)
# a pod's "- name: NCCL_DEBUG" and, below it, "value: INFO"
_POD_NAME = re.compile(r"- name: ['\"]?(?P<name>[A-Z_][A-Z0-9_]{1,79})['\"]?$")
_POD_VALUE = re.compile(r"value: ['\"]?(?P<value>[^'\"#]{0,500}?)['\"]?$")
# What people export, or put in front of a command, to tune or to get round something. A rank's own variables, and
# which GPUs it sees, differ by launch: a script that sets them shows none. Debugging is turned on for the ticket, but
# a level that there is not prints nothing.
_TUNED = re.compile(
    r"(?:^|\s)(?P<name>(?:NCCL|TORCH_NCCL|TORCH_FR|TORCH_DIST|GLOO|PYTORCH)_(?!DEBUG(?:_|=['\"]?(?i:INFO|WARN|TRACE"
    r"|VERSION|ABORT|NONE)\b))[A-Z0-9_]{2,60}|CUDA_DEVICE_ORDER)=(?P<quote>['\"]?)(?P<value>[^\s'\"`$\\;]{1,200})(?P=quote)(?=[\s;]|$)"
)
_SHOWN = re.compile(
    r"(?:^|[\s;`])CUDA_VISIBLE_DEVICES=(?P<quote>['\"]?)(?P<value>\d{1,2}(?:,\d{1,2}){0,15})(?P=quote)(?=[\s;`]|$)"
)
# "I set CUDA_VISIBLE_DEVICES to 2", "CUDA_VISIBLE_DEVICES was -1 in my .bashrc", "CUDA_VISIBLE_DEVICES is empty"
_TOLD = re.compile(
    r"\bCUDA_VISIBLE_DEVICES[`'\"]?\s{0,2}"
    r"(?:=|:|(?:(?:variable|was|is|had been|has been|got|being|set|equal|to|as|of)\s){1,4})\s{0,2}"
    r"(?:(?P<quote>[`'\"]?)(?P<value>-1|\d{1,2}(?:, ?\d{1,2}){0,15})(?P=quote)(?![\w/-]|\.\d)"
    r"|(?P<empty>empty\b|(?:an |the )empty string\b|\"\"|''))"
)
_NOT_SET = re.compile(
    r"\b(?:not|never|isn't|wasn't|try|tried|trying|should|could|if|when|unset|after|instead|e\.g|works?|worked|fix\w*|recommend\w*)\b",
    re.IGNORECASE,
)
"""What somebody did not do, tried, or found to help."""
_NO_SUCH = ("no CUDA-capable device is detected", "No CUDA GPUs are available", "invalid device ordinal")
_NONE_SEEN = re.compile(
    r"\bis_available(?:\(\))?[`'\"]?\s{0,2}(?:is|returns?|returned|gives?|says|:|=+|->)\s{0,2}[`'\"]?(?i:false)"
    r"|\bdevice_count(?:\(\))?[`'\"]?\s{0,2}(?:is|returns?|returned|gives?|says|:|=+|->)\s{0,2}[`'\"]?0\b"
)
_COMMENT = re.compile(r"\s#.*")
_STARTED = re.compile(
    r"(?:[$%>] )?(?:env )?(?:[A-Z][A-Z0-9_]{1,79}=\S{0,300} +){1,40}"
    r"(?:python[\d.]{0,5}|torchrun|accelerate|deepspeed|vllm|lightning|bash|sh|mpirun|srun|nohup|uv)\b"
)
# mpirun's and horovodrun's "-x NAME=VALUE"; what DeepSpeed's launcher says that it passes on
_PASSED_ON = re.compile(r"(?:^|.{0,2000}\s)-x [A-Z][A-Z0-9_]{1,79}=\S")
_LAUNCHED = re.compile(
    r"\[launch\.py:\d{1,5}:main\] \d{1,5} (?P<name>[A-Z][A-Z0-9_]{1,79})[= ](?P<value>\S{1,200})$"
)
_JOB = re.compile(r"(?:^|\s)(?P<name>JobId|NumNodes|NumTasks|CPUs/Task)=(?P<value>\d{1,9})(?=\s|$)")
_OF_JOB = {
    "JobId": "SLURM_JOB_ID",
    "NumNodes": "SLURM_JOB_NUM_NODES",
    "NumTasks": "SLURM_NTASKS",
    "CPUs/Task": "SLURM_CPUS_PER_TASK",
}
_PRINTED = re.compile(r"(?:env|printenv)(?: ?\||$| [A-Z])")
_OF_RANK = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
"""Some of them without the others are a fault, where all that is set is shown."""
_ENOUGH = 3
"""So many variables in a row are a block of ``env``; fewer may be lines of a script, where others stand beside them."""


def assigned(line: str) -> tuple[str, str] | None:
    """Return name and value of ``NAME=value`` with nothing behind it that would run; ``None`` for anything else."""
    match = _VARIABLE.match(line)
    if match is None or _COMMAND.search(match["value"][:20_000]):
        return None
    value = match["value"].strip()
    if line.startswith(("declare", "export")):
        value = value.strip("\"'")
    return match["name"], value


def read(lines: Iterable[str]) -> dict[str, str]:
    """Return the variables that the text says were set, by name.

    What a script would set is not among them: ``export MASTER_ADDR=$(hostname)`` is none of a block, nor is a single
    ``export WORLD_SIZE=2`` in the prose.
    """
    found: dict[str, str] = {}
    run: dict[str, str] = {}
    lines = list(lines)
    alone = all(assigned(line) is not None for line in lines if line)
    talks, enough, filtered = False, 1 if alone else _ENOUGH, False
    for line in _with_end(lines):
        given = assigned(line) if "=" in line[:100] and not line.startswith("export ") else None
        if given is not None and "$(" not in given[1] and "`" not in given[1]:
            run[given[0]] = given[1]
            continue
        if filtered and len(_OF_RANK & run.keys()) < len(_OF_RANK):
            run = {
                name: value for name, value in run.items() if name not in _OF_RANK
            }  # grep left out the others
        if len(run) >= enough:
            found |= {name: value for name, value in run.items() if name not in found}
        run.clear()
        # What stands below the command that prints them was set, however little it is.
        printed = _PRINTED.match(without_prompt(line[:300]))
        enough, filtered = 1 if printed else _ENOUGH, bool(printed) and "grep" in line[:300]
        if not talks and " NCCL INFO " in line and _TALK.search(line[:2000]):
            talks = True
        if "set by environment to" in line and (match := _NCCL.search(line[:2000])):
            found.setdefault(match["name"], match["value"].strip().rstrip("."))
        elif "JobId=" in line or "NumNodes=" in line:
            for match in _JOB.finditer(line[:2000]):
                found.setdefault(_OF_JOB[match["name"]], match["value"])
    # Lines with INFO are printed with this level, or with TRACE.
    return found if not talks else {"NCCL_DEBUG": "INFO"} | found


def exported(lines: Iterable[str]) -> dict[str, str]:
    """Return variables of the libraries that the text exports, or gives to a command; of several values the last.

    ``export NCCL_P2P_DISABLE=1`` … ``NCCL_DEBUG=INFO torchrun --nproc-per-node=8 train.py``
    """
    found: dict[str, str] = {}
    for line in lines:
        if (
            "_" not in line[:200]
            or ("=" not in line[:200] and "[launch.py:" not in line)
            or line.startswith(("#", "//"))
        ):
            continue
        row = _COMMENT.sub("", without_prompt(line[:2000]))
        if (
            row.startswith("export ")
            or _STARTED.match(row)
            or (" -x " in f" {row}" and _PASSED_ON.match(row))
        ):
            found |= {match["name"]: match["value"] for match in _TUNED.finditer(row)}
        elif "[launch.py:" in row and (told := _LAUNCHED.search(row)):
            found[told["name"]] = told["value"]
    return found


def hiding(lines: Iterable[str]) -> dict[str, str]:
    """Return the GPUs that commands of a text let a program see, where it found none: all must say the same.

    ``$ CUDA_VISIBLE_DEVICES=2 python train.py``, or ``I set CUDA_VISIBLE_DEVICES to 2``, and below it ``no CUDA-capable
    device is detected``
    """
    values, failed = set[str](), False
    for line in lines:
        if "CUDA_VISIBLE_DEVICES" in line[:1000] and not line.startswith(("#", "//")):
            values.update(match["value"] for match in _SHOWN.finditer(line[:2000]))
            values.update(_told(line[:1000]))
        failed = (
            failed or any(words in line[:1000] for words in _NO_SUCH) or bool(_NONE_SEEN.search(line[:1000]))
        )
    return {"CUDA_VISIBLE_DEVICES": values.pop()} if failed and len(values) == 1 else {}


def _told(line: str) -> Iterator[str]:
    """Yield the values that a sentence says the variable had."""
    for sentence in re.split(r"(?<=[.!?;]) (?=[A-Z])", line):
        if not _NOT_SET.search(sentence):
            for match in _TOLD.finditer(sentence):
                yield "" if match["empty"] else match["value"].replace(" ", "")


def of_containers(lines: Iterable[str]) -> dict[str, str]:
    """Return the variables that the text says a container was given: by docker run, compose, or a pod's specification.

    ``docker run --gpus all -e CUDA_VISIBLE_DEVICES=0,1 image`` … ``environment:`` … ``- NCCL_DEBUG=INFO``. What a shell
    would put in is not known, and left out.
    """
    found: dict[str, str] = {}
    composed, pod = False, ""
    for line in lines:
        given: dict[str, str] = {}
        if "-e" in line[:4000] and ("-e " in line or "--env" in line):
            given = {match["name"]: match["value"] for match in _OPTION.finditer(line[:4000])}
        elif line == "environment:":
            composed = True
        elif composed and (match := _COMPOSED.match(line[:700])):
            given = {match["name"]: match["value"].strip()}
        elif match := _POD_NAME.match(line[:200]):
            composed, pod = False, match["name"]
            continue
        elif pod and (match := _POD_VALUE.match(line[:700])):
            given = {pod: match["value"].strip()}
        elif line and not line.startswith("#"):
            composed = False
        pod = ""
        found = {name: value for name, value in given.items() if "$" not in value} | found
    return found


def _with_end(lines: Iterable[str]) -> Iterator[str]:
    yield from lines
    yield ""
