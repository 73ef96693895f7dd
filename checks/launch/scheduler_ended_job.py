"""The job was ended from outside: time limit, preemption, node failure, signal.

## What happens

"slurmstepd: error: *** JOB 4711 ON node0 CANCELLED AT 2026-09-21T10:00:00 DUE TO TIME LIMIT ***". torchrun says
"SignalException: Process 4711 got signal: 15" and "Received 15 death signal, shutting down workers". What the ranks
print after that (broken pipes, lost connections, leaked semaphores) follows from it.

## Why

- The time limit of the job or partition was reached. After a hang, look for what hung.
- Preemption: a job of higher priority took the nodes, or the cloud took back a spot instance.
- A node failed, or was drained; a user or an administrator cancelled the job.
- Signal 1 is the terminal that was closed, 10 and 12 are warnings that the job asked for (`--signal`). Signal 2 is
  Ctrl-C: see `interrupted`.

## How to tell

`sacct -j JOBID --format=JobID,State,Reason,Elapsed,Timelimit,ExitCode,NodeList`: TIMEOUT, PREEMPTED, NODE_FAIL, or
CANCELLED with the number of the user who did it.

## See also

- [sbatch --signal](https://slurm.schedmd.com/sbatch.html#OPT_signal): a warning before the end
- [Slurm: preemption](https://slurm.schedmd.com/preempt.html): what becomes of a job that must give way
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import SOMEBODY

# Here a rank had failed, and the launcher then told the others to end.
OTHER = r"Exited with exit code|Child process with PID|Traceback \(most|exitcode *: [1-9]"

# Words of schedulers for what the job's time ended by, for what was taken from it, and for a machine that failed.
LIMIT = re.compile(
    r"time[ -]?limit|time-?out|timed[ -]?out|wall|deadline|RUNLIMIT|CPULIMIT|XCPU|MaxRuntime", re.I
)
TAKEN = re.compile(r"pre-?empt|evict|spot instance|OWNER", re.I)
BROKEN = re.compile(r"node[ _]?fail|boot_fail|memory error|stepd|node \d+ \(", re.I)

SEE = Fix(
    "See who or what ended it",
    "sacct -j JOBID --format=JobID,State,Reason,Elapsed,Timelimit,ExitCode,NodeList",
)
MORE = Fix(
    "At the time limit: ask for more time, as far as the partition allows (`sinfo -o '%P %l'`)",
    "sbatch --time=24:00:00 job.sh",
)
SAVE = Fix(
    "Save regularly, and go on from the last checkpoint at the start",
    "if rank == 0 and step % 500 == 0:\n    save_checkpoint(step)",
    Kind.EDIT,
)
REQUEUE = Fix(
    "After preemption or a node's failure: let Slurm start the job again (this does not cover the time limit)",
    "sbatch --requeue job.sh",
)
AGAIN = Fix(
    "At the time limit: have the batch script, not the ranks, told two minutes before, and put the job back into the "
    "queue; torchrun itself would die of USR1",
    "#SBATCH --signal=B:USR1@120 --requeue\ntrap 'scontrol requeue $SLURM_JOB_ID' USR1\n"
    "srun --ntasks-per-node=1 torchrun --standalone --nproc-per-node=N train.py &\nwait",
    Kind.EDIT,
)
OUTLIVE = Fix(
    "Where the terminal or ssh that it hung on was closed: start it so that it outlives that; nohup does not do, since "
    "torchrun handles this signal itself",
    "setsid torchrun --nproc-per-node=N train.py > train.log 2>&1 < /dev/null &",
    proof="setsid",
)
LEAVE_OUT = Fix(
    "After a node failure: leave the node out, and tell its administrator", "sbatch --exclude=NODE job.sh"
)

FAILED = rf"{OTHER}|[Ee]xit code|Error\b|Out Of Memory|Killed|Segmentation|Aborted|Bus error"
"""What tells that something else had failed."""
ENDED_BEFORE = rf"{FAILED}|[Ee]rror:(?! \*\*\* )"
"""What tells that a task had failed before its step was ended."""

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # somebody's words
        Symptom(
            r"(?:hits?|reach(?:es|ed)|exceed(?:s|ed)|ran into|runs into|due to) (?:the |its |a |my )?(?P<reason>(?:wall ?|job )?time limit)\b",
            near=rf"(?m:{SOMEBODY}(?:hits?|reach(?:es|ed)|exceed(?:s|ed)|ran into|runs into|due to) (?:the |its |a |my )?(?:(?:wall ?|job )?time limit)\b)",
            asked=True,
        ),
        # Slurm; until 15.08 the node came last
        r"\*\*\* (?:JOB|STEP)(?: (?P<job>\d+)\S*)?(?: ON (?P<host>[\w.-]+))? CANCELLED(?: AT \S+)? DUE [Tt][Oo] (?P<reason>[A-Z][A-Z ]+|SIGNAL \w+)",
        # a step without a reason is srun tidying up after a task that failed, where one did
        Symptom(
            r"\*\*\* STEP (?P<job>\d+)\S* ON (?P<host>[\w.-]+) (?P<reason>CANCELLED) AT \S+ \*\*\*",
            near=r"srun: error: \S+: tasks? [\d,-]+: Terminated",
            unless=rf"{FAILED}|[Ee]rror:(?! \*\*\* | \S+: tasks? [\d,-]+: Terminated)",
        ),
        # nor where the log ends there, and nothing had failed
        Symptom(
            r"\*\*\* STEP (?P<job>\d+)\S* ON (?P<host>[\w.-]+) (?P<reason>CANCELLED) AT \S+ \*\*\*",
            unless=ENDED_BEFORE,
            last=True,
        ),
        Symptom(
            r"srun: Job step (?P<reason>aborted): Waiting up to",
            near=r"\*\*\* STEP (?P<job>\d+)\S* ON (?P<host>[\w.-]+) CANCELLED AT \S+ \*\*\*",
            unless=ENDED_BEFORE,
            last=True,
        ),
        r"\*\*\* JOB (?P<job>\d+) ON (?P<host>[\w.-]+) (?P<reason>CANCELLED) AT \S+ \*\*\*",
        r"\*\*\* (?:JOB|STEP) (?P<job>\d+)\S* (?:ON (?P<host>[\w.-]+) )?(?P<reason>UNCORRECTABLE MEMORY ERROR|STEPD TERMINATED)",
        r"\bJobState=(?P<reason>TIMEOUT|PREEMPTED|NODE_FAIL|BOOT_FAIL|DEADLINE)\b",
        Symptom(
            r"srun: error: (?P<reason>Timed out waiting for job step to complete)",
            near=r"Job step aborted",
            unless=FAILED,
        ),
        r"srun: error: (?P<reason>Node failure) on (?P<host>[\w.-]+)",
        r"Job killed due (?P<reason>hitting max wall clock limit|node failure)",
        r"Job (?P<job>\d+) has exceeded its (?P<reason>time limit) and its allocation has been revoked",
        r"salloc: error: (?P<reason>Node failure) on (?P<host>[\w.-]+)",
        r"^ {0,4}(?P<job>\d+)\S* .{0,200} (?P<reason>TIMEOUT|PREEMPTED|NODE_FAIL|BOOT_FAIL|DEADLINE|CANCELLED by \d+) +(?:\S+ +){0,6}\d+:\d+",
        # torchrun, Lightning, submitit
        r"SignalException: Process \d+ got (?P<reason>signal: (?:(?P<hangup>1)\b|(?!2\b)\d+))",
        r"Received (?P<reason>(?:Signals\.)?(?:(?P<hangup>1|SIGHUP) |(?!2 |SIGINT)\w+ )death signal)",
        # to the others of a rank that failed torchrun sends SIGTERM; any other signal it got itself, and passes on
        r"Sending process \d+ closing signal (?P<reason>(?P<hangup>SIGHUP)|SIGQUIT)",
        Symptom(r"\[rank: (?P<rank>\d+)\] Received (?P<reason>SIGTERM)", unless=OTHER),
        Symptom(r"\b(?P<reason>SIGTERMException)\b", unless=OTHER),
        r"Handling auto-requeue (?P<reason>signal: \d+)",
        r"this job is (?P<reason>timed-out|preempted)\.",
        r"Job has (?P<reason>timed out)\. Ran \d+ minutes? out of requested",
        r"Job not requeued because: (?P<reason>timed-out too many times)",
        # other schedulers and clouds
        r"\bTERM_(?P<reason>RUNLIMIT|PREEMPT|OWNER|ADMIN|FORCE_ADMIN|DEADLINE|WINDOW|CPULIMIT|REMOVE_HUNG_JOB): ",
        r"PBS: job killed: (?P<reason>walltime \d+ exceeded limit|node \d+ \(\S{1,80}\) requested job terminate)",
        r"(?P<reason>exceeded hard wallclock time)",
        r"job\.exception type=(?P<reason>timeout|cancel)",
        r"(?:[Rr]eason['\"]?[:=] {0,12}['\"]?(?P<reason>DeadlineExceeded|TaintManagerEviction|PreemptionByScheduler)|MaxRuntimeExceeded)\b",
        r"Job was active longer than (?P<reason>specified deadline)",
        r"(?P<reason>[Ii]nstance was preempted|Spot Instance interruption|Job (?:was )?preempted|Job was evicted)",
        Symptom(r"(?:^|: line \d+: +\d+) {0,8}(?P<reason>Terminated|Hangup)(?: *`?$| {2})", unless=OTHER),
        r"timeout: sending (?P<reason>signal TERM) to command",
        r"^[\w.+-]+ died with <Signals\.(?P<reason>SIGTERM|SIGHUP|SIGXCPU)",
    ],
    follows=["nccl-timeout", "rank-desync"],
    fixes=[SEE, MORE, SAVE, REQUEUE, AGAIN, OUTLIVE, LEAVE_OUT],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what ended it, and give first what helps against that."""
    seen = sighting.groups
    job = f" {seen['job']}" if "job" in seen else ""
    host = f" on {seen['host']}" if "host" in seen else ""
    reason = seen.get("reason", "").strip()
    said = f"the job{job} was ended from outside{host}" + (f": {reason}" if reason else "")
    see = replace(SEE, command=SEE.command.replace("JOBID", seen.get("job", "JOBID")))
    away = replace(LEAVE_OUT, command=LEAVE_OUT.command.replace("NODE", seen.get("host", "NODE")))
    fixes = [see, SAVE, MORE, OUTLIVE]
    if "hangup" in seen:
        fixes = [OUTLIVE, SAVE]
    elif LIMIT.search(reason):
        fixes = [MORE, AGAIN, SAVE]
    elif TAKEN.search(reason):
        fixes = [REQUEUE, SAVE, see]
    elif BROKEN.search(reason):
        fixes = [away, REQUEUE, SAVE]
    yield check.found(said, fixes=fixes)
