"""The script reads Slurm's variables, and srun did not start it.

## What happens

`KeyError: 'SLURM_PROCID'`, or another name that begins with SLURM_. The same with the variables of mpirun:
`KeyError: 'OMPI_COMM_WORLD_RANK'`. Or a command of Slurm is not there: "scontrol: command not found".

## Why

- The script runs outside of Slurm, with an option such as `launcher="slurm"` or a `SLURMEnvironment` plug-in.
- Inside sbatch or salloc, but not by `srun`: there SLURM_PROCID, SLURM_LOCALID and the SLURM_STEP_ names mean nothing.
- The variable comes with an option that was not given: SLURM_NTASKS_PER_NODE needs `--ntasks-per-node`,
  SLURM_CPUS_PER_TASK needs `--cpus-per-task`.
- ssh, a container or `--export=NONE` dropped the variables on the way.

## How to tell

`env | grep SLURM_`, run in the way that the script is run.

## See also

- [srun: variables](https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES): what srun sets for each task
- [ColossalAI#1023](https://github.com/hpcaitech/ColossalAI/issues/1023): `SLURM_PROCID` is asked for, without Slurm
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Script

NAMES = r"SLURMD?_[A-Z_]+|OMPI_COMM_WORLD_[A-Z_]+|PMIX?_[A-Z_]+|PBS_NODEFILE|LSB_(?:M?CPU_)?HOSTS|FLUX_TASK_[A-Z_]+"

check = Check(
    severity=Severity.ERROR,
    otherwise="a note in a script that needs Slurm",
    symptoms=[
        rf"KeyError:? ?(?:KeyError)?['\"](?P<variable>{NAMES})['\"]",
        # a traceback that was cut off behind its last line of source
        Symptom(
            rf"os\.environ\[['\"](?P<variable>{NAMES})['\"]\]",
            near=r"Traceback",
            unless=r"(?m)^\S{0,80}Error\b",
        ),
        r"Could not find ['\"]?(?P<variable>SLURM_[A-Z_]+)['\"]? in the SLURM environment",
        r"\b(?P<variable>SLURMD?_[A-Z_]+): (?:unbound variable|parameter (?:not set|null or not set))",
        Symptom(
            r"int\(\) argument must be a string.{0,80}not 'NoneType'",
            near=r"(?:environ|getenv).{0,20}['\"](?P<variable>SLURMD?_[A-Z_]+)",
        ),
        # SLURM_TASKS_PER_NODE is 4(x2) for two nodes with four tasks each
        Symptom(
            r"invalid literal for int\(\) with base 10: '(?P<value>|[\d,]+\(x\d+\)[\d,]{0,9})'",
            near=r"['\"](?P<variable>SLURMD?_[A-Z_]+)",
        ),
        r"(?:^|: )(?P<command>scontrol|srun): (?:command )?not found",
        r"No such file or directory: '(?P<command>scontrol|srun|sinfo)'",
        r"Could not detect \"(?P<command>srun)\", are you indeed on a slurm cluster",
        r"RuntimeError: SLURM does not appear to be installed",
        r"srun: error: Invalid numeric value \"(?P<value>)\" for --ntasks",
    ],
    message="the script counts on Slurm or MPI[ (<variable>)][ (<command>)], which did not start this process or does not give that value",
    fixes=[
        Fix("Let srun start one task per rank", "srun --ntasks-per-node=4 --cpus-per-task=8 python train.py"),
        Fix(
            "Outside of Slurm: use torchrun, and tell the script so (its option is often --launcher)",
            "torchrun --standalone --nproc-per-node=N train.py --launcher pytorch",
        ),
        Fix(
            "Read torchrun's variables first",
            'rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))',
            Kind.EDIT,
            proof='rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))',
        ),
        Fix(
            "Ask Slurm for the nodes only where no launcher has named the first one",
            'if "MASTER_ADDR" not in os.environ:\n    os.environ["MASTER_ADDR"] = first_node()',
            Kind.EDIT,
        ),
        Fix("See what is set where the script runs", "env | grep -E '^(SLURM|OMPI|PMI)'"),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A script that ends with a KeyError where srun did not start it; each such variable is told once."""
    told: set[str] = set()
    for call in script.named("os.environ.__getitem__"):
        name = call.value("key").literal
        if not isinstance(name, str) or not name.startswith("SLURM_") or "try" in call.contexts:
            continue
        if any("SLURM" in condition.text or "environ" in condition.text for condition in call.conditions):
            continue
        if not told:
            yield check.found(
                f"this script reads {name} and ends with a KeyError wherever srun did not start it",
                severity=Severity.NOTE,
                location=call.place,
            )
        told.add(name)
