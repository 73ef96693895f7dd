"""The command that starts the ranks, as the reader starts them: fixes name torchrun, others use another launcher."""

import re
from collections.abc import Iterable
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model import Fix, Kind
from gpudoctor.patterns import late_pattern

TORCHRUN = late_pattern(r"(?<![\w/-])torchrun(?P<options>(?: --?[\w-]+(?:=\S+)?)*) train\.py\b")
KEEPING = {"--log-dir", "--redirects", "--tee"}
"""Options that keep each rank's output."""
SUMMARY = "torchrun's summary"
"""What a fix names that is of use under torchrun and what is built on it."""
SLURMS = late_pattern(r"(?:sacct|sbatch|srun|scontrol|squeue|salloc) |export .{0,200}\$SLURM_")
"""A command that Slurm alone knows."""
PLAIN = late_pattern(r"\b(?P<begin>python )train\.py\b|(?<=')\[t\]rain\.py\b")
"""The script where no launcher stands in front of it, and as grep finds it and not itself."""


class Launcher(Enum):
    """What starts a training's ranks."""

    TORCHRUN = "torchrun"
    SRUN = "srun"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    PYTHON = "python"
    """The script itself: torch.multiprocessing.spawn, Lightning's own launcher."""


class Launched(Struct, frozen=True):
    """How the ranks of a training were started, as far as that is known."""

    launcher: Launcher | None = None
    """``None`` where nothing says so; fixes name torchrun then."""
    script: str = "train.py"
    ranks: int | None = None
    """On one machine; ``None`` for as many as it has GPUs."""


KEPT = {
    Launcher.SRUN: "srun --output=rank%t.log python",
    Launcher.ACCELERATE: "accelerate launch --log_dir=logs --tee=3",
    Launcher.DEEPSPEED: "deepspeed --enable_each_rank_log=logs",
    Launcher.PYTHON: "python",
}
"""How other launchers keep each rank's output: srun(1); ``accelerate launch --help``; deepspeed/launcher/runner.py."""
ALL = {
    Launcher.SRUN: "srun python",
    Launcher.ACCELERATE: "accelerate launch",
    Launcher.DEEPSPEED: "deepspeed",
    Launcher.PYTHON: "python",
}
ONE = {
    Launcher.SRUN: "srun --ntasks=1 python",
    Launcher.ACCELERATE: "accelerate launch --num_processes=1",
    Launcher.DEEPSPEED: "deepspeed --num_gpus=1",
    Launcher.PYTHON: "python",
}


def fitted(fixes: Iterable[Fix], launched: Launched) -> list[Fix]:
    """Return fixes whose commands start the ranks as they were started.

    A command about torchrun itself, such as its rendezvous, stays what it is. Around a script that starts its ranks
    itself torchrun hangs: what tells of it is left out there, unless it says what to do about mp.spawn. What another
    launcher starts has no summary of torchrun's.
    """
    fixes = list(fixes)
    if launched.launcher in (Launcher.PYTHON, Launcher.SRUN):
        fixes = [fix for fix in fixes if SUMMARY not in fix.summary] or fixes
    if launched.launcher is Launcher.PYTHON:
        fixes = [fix for fix in fixes if not _names_torchrun(fix) or "mp.spawn" in fix.summary] or fixes
    return [_fitted(fix, launched) if fix.kind is Kind.COMMAND else fix for fix in fixes]


def without_slurm(fixes: list[Fix]) -> list[Fix]:
    """Leave out the fixes that are commands of Slurm's, unless there are no others."""
    return [fix for fix in fixes if not SLURMS.match(fix.command or "")] or fixes


def _names_torchrun(fix: Fix) -> bool:
    """Return whether a fix is to start with torchrun: another launcher in its place would be what failed."""
    return fix.kind is Kind.COMMAND and "torchrun" in fix.summary and TORCHRUN.search(fix.command) is not None


def _fitted(fix: Fix, launched: Launched) -> Fix:
    how = replace(launched, launcher=Launcher.TORCHRUN) if _names_torchrun(fix) else launched
    command = TORCHRUN.sub(lambda found: _command(found, how), fix.command)
    command = PLAIN.sub(lambda found: _plain(found, launched.script), command)
    if command == fix.command:
        return fix
    return replace(
        fix, command=command, filled=None if fix.filled is None else (*fix.filled, launched.script)
    )


def _plain(found: re.Match[str], script: str) -> str:
    return f"[{script[0]}]{script[1:]}" if found["begin"] is None else f"python {script}"


def _command(found: re.Match[str], launched: Launched) -> str:
    given = found["options"].split()
    options = dict(option.partition("=")[::2] for option in given)
    ranks = options.pop("--nproc-per-node", None)
    options.pop("--standalone", None)
    launcher = launched.launcher
    if launcher in ALL and not options:
        return f"{(ONE if ranks == '1' else ALL)[launcher]} {launched.script}"
    if launcher in KEPT and options.keys() <= KEEPING:
        # Ranks that the script starts itself write to where it writes.
        end = " 2>&1 | tee train.log" if launcher is Launcher.PYTHON else ""
        return f"{KEPT[launcher]} {launched.script}{end}"
    if ranks in ("gpu", "N") and launched.ranks is not None:
        given = [f"--nproc-per-node={launched.ranks}" if o.startswith("--nproc") else o for o in given]
    return " ".join(["torchrun", *given, launched.script])
