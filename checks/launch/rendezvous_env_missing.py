"""RANK, WORLD_SIZE, MASTER_ADDR or MASTER_PORT is not set, or has no valid value.

## What happens

`init_process_group()` without an init_method reads four variables, and raises "environment variable RANK expected, but
not set" when one is missing or empty. A script that reads them itself ends in `KeyError: 'LOCAL_RANK'`. A value that is
no number gives "invalid literal for int() with base 10: 'abc'", a port that is none "port must have value from 0 to 65535".

## Why

| how the script was started | why the variables are missing |
| --- | --- |
| plain `python`, an IDE, a notebook | no launcher set them |
| `srun`, `mpirun` | they set names of their own: SLURM_PROCID, OMPI_COMM_WORLD_RANK |
| `mp.spawn` in the script | it sets none of them: the script must |
| `sudo`, `docker run` without `-e` | the launcher's variables are lost on the way |

A wrong value comes mostly from a job script: a port computed from the job's number that is larger than 65535, a variable
that is empty there (`$JOBPORT`), or a host and a port in one.

## How to tell

`env | grep -E '^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_)'` in the place where the script starts shows what is there.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): the variables it sets
- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization): what `env://` reads
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom, joined
from gpudoctor.facts import Launch, Script, reads_address, written_variables

# What init_process_group(init_method="env://") reads (torch/distributed/rendezvous.py: _env_rendezvous_handler).
REQUIRED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
TORCHRUN = Fix(
    "Start the script with torchrun",
    "torchrun --standalone --nproc-per-node=N train.py",
    proof="torchrun --standalone",
)
# How torch reads them (rendezvous.py: _env_rendezvous_handler), and how scripts do.
NAMES = r"(?:RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|MASTER_ADDR|MASTER_PORT|NNODES|NUM_NODES|NPROC_PER_NODE)"
READ = rf"(?:_get_env_or_raise\(|environ(?:\[|\.get\()|getenv\()[\"'](?P<variable>{NAMES})[\"']"
# A number that differs from job to job and is no port below 1024 and none that the system itself hands out.
PORT = Fix(
    "A port between 1024 and 32767, the same on all nodes; from the job's number in this way",
    "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))",
)
STATIC = Fix(
    "On each node, with a --node-rank of its own: 0, 1, ...",
    "torchrun --nnodes=2 --node-rank=0 --nproc-per-node=N --master-addr=NODE --master-port=29500 train.py",
)
# torchrun sets RANK and WORLD_SIZE, and init_method="tcp://..." does not look at them (tried with torch 2.15).
NO_METHOD = Fix(
    "Leave init_method out, and start the script with torchrun: tcp:// and file:// do not read what it sets",
    'dist.init_process_group("gloo")  # torchrun --standalone --nproc-per-node=N train.py',
    Kind.EDIT,
)
PARAMETERS = Fix(
    "Or hand rank and world size over",
    'dist.init_process_group("gloo", init_method="tcp://NODE:29500", rank=rank, world_size=world_size)',
    Kind.EDIT,
)
SLURM = "export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID"

EXPORTED = Fix(
    "In the batch script: the first node's name, and a port of this job's own",
    'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1)\n'
    "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))",
    source="https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#initialize-ddp-with-torch-distributed-run-torchrun",
)

GIVEN = Fix(
    "Under mp.spawn: give init_process_group what torchrun would have set",
    "def worker(rank, world_size):\n"
    '    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"\n'
    '    dist.init_process_group("nccl", rank=rank, world_size=world_size)',
    Kind.EDIT,
)
SPAWNED = re.compile(r"torch[/\\]multiprocessing[/\\]spawn\.py\"?, line \d+, in _wrap\b")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning under srun, a note where only the address is set, and in a script that leaves it to the batch script",
    symptoms=[
        r"environment variable (?P<variable>[A-Z_]+) expected, but not set",
        rf"KeyError: (?:KeyError\()?['\"](?P<variable>{NAMES})\b",
        # what os.getenv gives for a name that is not there, handed on
        Symptom(
            r"(?:int\(\) argument must be a string.{0,80}|str expected, |unsupported operand type.{0,40}|"
            r"not supported between instances of .{0,60})(?:not )?'?NoneType|"
            r"Expected a torch\.device with a specified index or an integer, but got: ?None",
            near=READ,
        ),
        # a debugger has the exception's name in a line of its own
        Symptom(
            rf"^'(?P<variable>{NAMES})'$",
            near=r"Exception has occurred: KeyError|os\.environ\[",
        ),
        r"_env_error\(['\"](?P<variable>[A-Z_]+)['\"]\)",  # a traceback that was cut off
        r"using (tcp|env|file):// rendezvous: (?P<parameter>rank parameter|world size parameter|port number|path) missing",
        r"Could not find '(?P<variable>(?!SLURM)[A-Z_]{4,30})' in the \w{3,12} environment",  # ColossalAI
        r"env:// rendezvous: (?P<variable>[A-Z_]+) not set",
        r"Tried to launch on distributed with multinode, but `?(?P<variable>[A-Z_]+)`? env was not set",  # accelerate
        # set, and no number or no port
        Symptom(
            r"invalid literal for int\(\) with base 10: '(?P<value>.{0,60})'",
            near=READ,
            unless=r"Unsupported nproc_per_node value",
        ),
        r"port must have value from 0 to 65535 but was (?P<port>-?\d+)",
        r"port number of the rendezvous endpoint '(?P<endpoint>[^']{1,120})' must be an integer",
        # torchrun's static rendezvous
        r"(?P<static>rank|endpoint) is absent in RendezvousParameters",
        r"(?P<static>Endpoint) is missing in endpoint\. Try to add --master",
        r"\b[Pp]ort is (?:absent|missing) in endpoint: (?P<endpoint>\S{1,120})\. Try",
        r"DCP needs (?P<variable>MASTER_(?:ADDR|PORT)) to use prefix store",
        r"RuntimeError: (?P<variable>LOCAL_RANK) is not in the environment\. Consider passing fallback_rank",
        r"argument --master-port\S*: invalid int value: '(?P<port>[^']{0,60})'",
        r"requires the (?P<variable>LOCAL_RANK|RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) environment variable",  # DeepSpeed
        r"(?:[Ee]nvironment variable )(?P<variable>LOCAL_RANK|RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) is not set",
        r"(?P<variable>LOCAL_RANK|RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) environment variable (?:is )?not set",
    ],
    fixes=[
        TORCHRUN,
        Fix(
            "One process alone: set them by hand",
            "RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500 python train.py",
        ),
        Fix("Under srun: map Slurm's names, in the script that each task runs", SLURM),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which value is none; without a value, something is missing."""
    groups = sighting.groups
    variable = groups.get("variable")
    if "value" in groups:
        message = f"{variable} is {groups['value']!r}, and must be a whole number"
        yield check.found(message, fixes=[PORT] if variable == "MASTER_PORT" else [TORCHRUN])
    elif "port" in groups or "endpoint" in groups:
        what = f"{groups['port']} is no port" if "port" in groups else f"{groups['endpoint']} names no port"
        yield check.found(f"{what}: ports are whole numbers from 0 to 65535", fixes=[PORT])
    elif "static" in groups:
        lacks = "--node-rank" if groups["static"] == "rank" else "--master-addr and --master-port"
        yield check.found(f"the static rendezvous needs {lacks}, and was given none", fixes=[STATIC])
    elif "parameter" in groups:
        message = f"init_process_group was given an init_method of its own, and no {groups['parameter'].removesuffix(' parameter')}"
        yield check.found(message, fixes=[NO_METHOD, PARAMETERS])
    else:
        message = f"what a launcher sets is not there: {variable}"
        if SPAWNED.search(sighting.around):
            message += "; mp.spawn sets no variables, it gives a process its rank as the first argument"
            yield check.found(message, fixes=[GIVEN, TORCHRUN])
            return
        yield check.found(
            f"{message}; the script was started without one, or its variables were lost on the way"
        )


@check.environment
def environment(launch: Launch) -> Iterator[Finding]:
    """Some of the four are set and others are not, or a value is none."""
    variables = launch.variables
    given = [name for name in REQUIRED if variables.get(name)]
    missing = [name for name in REQUIRED if not variables.get(name)]
    if not given:
        return  # no launch
    shown = ", ".join(f"{name}={variables[name]}" for name in given)
    for name in given:
        wrong = _wrong(launch, name)
        if wrong:
            message = f"{name}={variables[name]} is {wrong}: init_process_group cannot read it"
            yield check.found(message, fixes=[_set(name), TORCHRUN])
    if not missing:
        if launch.master_port == 0 and (launch.number("WORLD_SIZE") or 1) > 1:
            message = "MASTER_PORT=0: rank 0 takes any free port, and the others connect to port 0 until they time out"
            yield check.found(message, fixes=[_set("MASTER_PORT"), TORCHRUN])
        return
    empty = [name for name in missing if name in variables]
    lacking = f"{joined(missing)} {'is' if len(missing) == 1 else 'are'} not set"
    lacking += f" ({', '.join(empty)} empty)" if empty else ""
    if set(given) <= {"MASTER_ADDR", "MASTER_PORT"} and not empty:
        message = f"{shown}, and {lacking}: right for mp.spawn or where srun starts the ranks, too little for env://"
        yield check.found(message, severity=Severity.NOTE, fixes=[TORCHRUN])
    elif "SLURM_PROCID" in variables and "RANK" in missing:
        message = f"{shown}, and {lacking}: srun sets SLURM_PROCID, which the script must map to RANK itself"
        yield check.found(
            message, severity=Severity.WARNING, fixes=[Fix("Map Slurm's names", SLURM), TORCHRUN]
        )
    else:
        message = f"{lacking}, while {shown}: init_process_group raises 'environment variable {missing[0]} expected'"
        yield check.found(message, fixes=[TORCHRUN, *(_set(name) for name in missing)])


def _wrong(launch: Launch, name: str) -> str | None:
    """Say what is wrong with a value that is set."""
    if name == "MASTER_ADDR":
        return None
    if launch.number(name) is None:
        return "not a whole number"
    if name == "MASTER_PORT" and launch.master_port is None:
        return "no TCP port (0 to 65535)"
    return None


def _set(name: str) -> Fix:
    """Return the command that sets one of the four, for a process alone on its machine."""
    value = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}[name]
    kind = {"RANK": "this process's number, from 0", "WORLD_SIZE": "the number of all processes"}.get(name)
    return Fix(f"Or set {name}{f' to {kind}' if kind else ''}", f"export {name}={value}", Kind.COMMAND)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Report a group whose ranks come of srun's variables, and whose address nobody writes: srun sets no MASTER_ADDR."""
    group = script.process_group
    if group is None or not group.reached or group.starred or script.frameworks:
        return
    written = written_variables(script)
    read = {c.variable for c in script.named("os.environ.__getitem__", "os.environ.get", "os.getenv")}
    from_slurm = {"SLURM_PROCID", "SLURM_NTASKS"} & read and not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} & read
    unset = written is not None and "MASTER_ADDR" not in written
    if unset and from_slurm and group.given("rank") and reads_address(group):
        yield check.found(
            "init_process_group reads MASTER_ADDR and MASTER_PORT, which srun does not set, and nothing in this script "
            "does: the batch script has to export them",
            severity=Severity.NOTE,
            location=group.place,
            fixes=[EXPORTED],
        )
