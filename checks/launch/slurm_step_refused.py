"""Slurm refuses the step or the job: it asks for what there is not.

## What happens

"srun: error: Unable to create step for job 4711: More processors requested than permitted", "Batch job submission
failed: Requested node configuration is not available", or without end "step creation temporarily disabled, retrying
(Requested nodes are busy)". The program has not started.

## Why

- A step that runs already holds everything: srun inside srun, inside `srun --pty bash`, or several in the background.
  Since Slurm 20.11 steps do not share CPUs and memory.
- srun asks for more CPUs, memory or GPUs than sbatch did. From 22.05 to 23.02 it does not take over
  `--cpus-per-task`; before and after it does.
- Memory options of both kinds, per node and per CPU, one of them from the environment.
- "Requested node configuration is not available": no node has that type of GPU, written in that way, or so many of it.
- Account, partition or limits of the job; a node that is down; a program that is not there.

## How to tell

`scontrol show job $SLURM_JOB_ID | grep -E 'NumTasks|CPUs/Task|TRES|Gres'` shows what the job has, and
`squeue -s -j $SLURM_JOB_ID` which steps use it. `sinfo -o '%P %G %c %m'` lists what the nodes have, in Slurm's own words.

## See also

- [srun --overlap](https://slurm.schedmd.com/srun.html#OPT_overlap): a step that shares what another holds
- [DLA-Future#337](https://github.com/eth-cscs/DLA-Future/issues/337): several steps in a job, no memory for the next
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting, Symptom

# GPUs that Slurm does not know are slurm-gres.
REASON = r"(?P<reason>(?!Invalid (?:generic resource|Trackable RES|GRES)|Requested GRES)\S.{0,100}?) *(?:$|`)"

OVERLAP = Fix(
    "In an allocation that a step holds already: share with it",
    "srun --overlap --ntasks=1 nvidia-smi -L",
    proof="--overlap --ntasks=1",
)
CPUS = Fix(
    "Hand the CPUs that sbatch got on to srun: what its command says comes before all variables",
    "srun --cpus-per-task=$SLURM_CPUS_PER_TASK python train.py",
)
EXACT = Fix(
    "Name what each of several steps gets",
    "srun --exact --ntasks=1 --cpus-per-task=8 --gpus=1 --mem=16G python train.py",
)
DROP = Fix(
    "Drop what an outer job left in the environment",
    "unset SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU SLURM_CPU_BIND",
)
HAS = Fix(
    "See how many nodes and tasks the job has: srun may ask for no more than sbatch did",
    "scontrol show job $SLURM_JOB_ID | grep -E 'NumNodes|NumTasks'",
)
OFFER = Fix("See what there is to ask for", "sinfo -o '%P %a %l %D %c %m %G'")
CONTAINER = Fix(
    "Read the lines of pyxis and enroot above: mostly the image's name is wrong, it may not be fetched here, or a folder "
    "that is to be mounted is missing"
)
PROGRAM = Fix(
    "See where that node looks, and what it finds", "srun --ntasks=1 sh -c 'hostname; pwd; echo $PATH'"
)

# What Slurm says, and what helps against it; of the rest all is offered.
BY_REASON = [
    (re.compile(r"pyxis|spank"), [CONTAINER]),
    (re.compile(r"No such file or directory|Permission denied|Exec format|[Ee]xecve"), [PROGRAM]),
    (re.compile(r"two different environment"), [CPUS]),
    (re.compile(r"mutually exclusive|CPU binding outside"), [DROP, CPUS]),
    (re.compile(r"nodes are busy"), [OVERLAP, EXACT]),
    (re.compile(r"^Only allocated"), [HAS]),
    (re.compile(r"More processors requested|used without"), [CPUS, EXACT, OVERLAP]),
    (re.compile(r"node configuration|[Pp]artition|[Aa]ccount|QOS|time limit|[Nn]ode count"), [OFFER]),
]

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"(?:[Uu]nable to (?:create|confirm) step(?: for job (?P<job>[^\s:]+))?|Unable to create job step|Failed creating job step context): {REASON}",
        Symptom(
            r"Job (?P<job>\d+) step creation (?:temporarily|still) disabled, retrying \((?P<reason>[^)]+)\)",
            unless=r"Step created for|[Ss]tep creation succeeded",
        ),
        r"Task launch for StepId=(?P<job>\d+)\S* failed on node (?P<host>[\w.-]+): (?P<reason>\S.{0,100}?) *$",
        r"srun: error: Application launch failed: (?P<reason>\S.{0,100}?) *$",
        r"(?P<reason>CPU binding outside of job step allocation)",
        Symptom(
            r"srun: error: (?P<reason>Timed out waiting for job step to complete)", unless=r"Job step aborted"
        ),
        r"slurmstepd(?:-[\w.-]{1,64})?: error: execve\(\): (?!torchrun\b|python)(?P<reason>\S.{0,200}?) *$",
        r"srun: (?:fatal|error): (?P<reason>SLURM_MEM_PER_\w+.{0,60} are mutually exclusive)",
        r"srun: fatal: (?P<reason>cpus-per-task set by two different environment variables|--gpus-per-task .{0,40}used without)",
        r"srun: (?:fatal|error): (?P<reason>Only allocated \d+ nodes? asked for \d+)",
        r"(?:srun|sbatch|salloc): (?P<reason>unrecognized option '[^']{1,60}')",
        rf"Batch job submission failed: {REASON}",
        rf"srun: error: Unable to allocate resources: {REASON}",
        rf"salloc: error: Job submit/allocate failed: {REASON}",
        r"slurmstepd(?:-[\w.-]{1,64})?: error: (?P<reason>pyxis: couldn't start container|spank: required plugin \S{1,60} task_init\(\) failed)",
        r"(?:sbatch|srun|salloc): error: (?P<reason>invalid partition specified: \S{1,60})",
    ],
    follows=["scheduler-ended-job"],
    fixes=[OVERLAP, CPUS, EXACT, DROP, OFFER],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say why it was refused, and give first what helps against that."""
    seen = sighting.groups
    job = f" of job {seen['job']}" if "job" in seen else ""
    host = f" on {seen['host']}" if "host" in seen else ""
    reason = seen["reason"].strip()
    fixes = next((fixes for words, fixes in BY_REASON if words.search(reason)), None)
    yield check.found(f"Slurm did not start the program{job}{host}: {reason}", fixes=fixes)
