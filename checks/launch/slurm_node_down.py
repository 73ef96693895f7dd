"""A node of the Slurm cluster takes no jobs.

## What happens

The job stays pending with "ReqNodeNotAvail, UnavailableNodes:gpu-7" or "Nodes required for job are DOWN, DRAINED or
reserved", or it ends with NODE_FAIL. `sinfo` shows the node as down, drained, fail or with a star.

## Why

Slurm itself, a health check or an administrator took the node out, and the reason says which:

- "gres/gpu count reported lower than configured (7 < 8)": slurmd finds fewer GPUs than slurm.conf promises. One fell off
  the bus, or the driver did not start it.
- "Kill task failed": a process of a job could not be ended, mostly one that waits inside the driver or for a file server.
- "Not responding" and a star behind the state: slurmd does not answer; the machine is off, hangs, or lost its network.
- "Low RealMemory", "Low socket*core*thread count": slurm.conf promises more than the machine has.
- Anything else is a person's or the site's health check's own words.

## How to tell

`sinfo -R` lists the reasons, `scontrol show node NODE` the whole reason, who gave it and when. `squeue --start -j JOBID` says
whether the job waits for that node.

## See also

- [sinfo: node state codes](https://slurm.schedmd.com/sinfo.html#SECTION_NODE-STATE-CODES): what each state and sign means
- [Slurm: troubleshooting](https://slurm.schedmd.com/troubleshoot.html#nodes): nodes that are set down
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count, listed
from gpudoctor.facts import Launch, Slurm, SlurmNode

REASONS = Fix("See why, in full, who took it out and when", "sinfo -R; scontrol show node NODE")
AROUND = Fix("Meanwhile keep the job off it", "sbatch --exclude=NODE job.sh")
BACK = Fix(
    "When what the reason names is repaired, give it back",
    "sudo scontrol update NodeName=NODE State=RESUME",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note where other nodes take jobs",
    fixes=[REASONS, AROUND, BACK],
    follows=["gpu-missing"],
    no_reproduction="needs a cluster that an administrator takes a node out of",
)


@check.environment
def environment(slurm: Slurm | None, launch: Launch | None) -> Iterator[Finding]:
    """Nodes are down, drained or do not answer."""
    if slurm is None:
        if launch is None:
            raise CannotTell("no output of sinfo or scontrol is there")
        return  # gpudoctor runs here, so this node is up
    shown = [node for node in slurm.nodes if node.state or node.reason]
    out = [node for node in shown if node.out or (node.reason and not node.state)]
    if not out:
        return
    rest = len(slurm.nodes) - len(out)
    lines = [_words(node) for node in out]
    names = listed([node.name for node in out], 4)
    if len(out) == 1:
        message = f"{lines[0]}: it takes no job"
    else:
        message = f"{names} take no jobs; of {out[0].name} Slurm shows {_state(out[0])}"
    message += f"; {count(rest, 'other node')} {'does' if rest == 1 else 'do'}" if rest else ""
    yield check.found(
        message,
        severity=Severity.NOTE if rest else None,
        evidence=lines if len(out) > 1 else [],
        fixes=_fixes(out[0].name),
    )


def _state(node: SlurmNode) -> str:
    told = node.state or "no state"
    return f"{told} ({node.reason})" if node.reason else told


def _words(node: SlurmNode) -> str:
    return f"{node.name} is {_state(node)}" if node.state else f"{node.name} was taken out: {node.reason}"


def _fixes(node: str) -> list[Fix]:
    return [Fix(fix.summary, fix.command.replace("NODE", node), fix.kind) for fix in (REASONS, AROUND, BACK)]
