"""Which of many ranks says what, where each of them asks: a line that all would print stands once."""

from gpudoctor.facts import Launch
from gpudoctor.report import Report, Status

OWN = ("launch", "placement")
"""Families of what differs from rank to rank; the rest is the machine's, and one rank of it speaks for all."""


def said_by_rank(report: Report, line: str) -> str:
    """Return the verdict's line as this process's rank prints it, or nothing where another one says the same.

    Where all is well rank 0 says so. What is wrong with a machine its first rank says, what is wrong with a rank
    that rank itself; each with its number.
    """
    launch = next((fact for fact in report.facts.values() if isinstance(fact, Launch)), None)
    if launch is None:
        return line
    task = launch.slurm_task
    rank = _first(launch, "RANK", "SLURM_PROCID" * task)
    ranks = _first(launch, "WORLD_SIZE") or launch.slurm_tasks
    if rank is None or ranks is None or ranks < 2:
        return line
    if report.verdict.status is Status.HEALTHY:
        return line if rank == 0 else ""
    local = _first(launch, "LOCAL_RANK", "SLURM_LOCALID" * task)
    own = report.findings and report.findings[0].family in OWN
    return f"rank {rank}: {line}" if own or not local else ""


def _first(launch: Launch, *names: str) -> int | None:
    return next((n for name in names if (n := launch.number(name)) is not None), None)
