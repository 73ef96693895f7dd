"""What started the ranks that a log is of: its launcher, its script, how many there are on a machine."""

import re
from collections.abc import Iterable, Sequence

from gpudoctor.launch_command import Launched, Launcher
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import NOT_OWN
from gpudoctor.logs.tracebacks import FRAME
from gpudoctor.patterns import late_pattern

LAUNCHERS = {
    Launcher.ACCELERATE: late_pattern(
        r"\baccelerate[/\\]commands[/\\]|\baccelerate launch\b|bin/accelerate\b"
    ),
    Launcher.DEEPSPEED: late_pattern(r"\bdeepspeed[/.\\]launcher\b|bin/deepspeed\b|\[launch\.py:\d+:\w+\]"),
    Launcher.TORCHRUN: late_pattern(
        r"\btorch[./\\]distributed[./\\](?:run|launch|launcher|elastic)\b|\btorchrun\b|\belastic_launch\b|^\[default\d+\]:"
    ),
    Launcher.SRUN: late_pattern(r"\bsrun: |\bslurmstepd: |\bSLURM_PROCID\b"),
    Launcher.PYTHON: late_pattern(
        r"\btorch[./\\]multiprocessing[./\\]spawn\b|\bProcess(?:Raised|Exited)Exception\b|"
        r"\blightning(?:_fabric|[./\\](?:pytorch|fabric))?[./\\](?:strategies|launchers|trainer)\b"
    ),
}
"""The words by which each is known, the more particular one first: accelerate and DeepSpeed start torchrun's parts."""
SLURM = late_pattern(r"\b(?:srun|sbatch|salloc|sacct|slurmstepd)\b|[Ss]lurm|SLURM")
ENDED = late_pattern(r"^(?P<script>\S{1,200}\.py) FAILED$")
LOCAL = late_pattern(r"\blocal_rank: (\d{1,3})\b")
GPUS = late_pattern(r"NCCL|nccl|\bcuda\b|CUDA|\bGPU")
CPU = late_pattern(r"\b[Gg]loo\b|GLOO")
FIRST, LAST = 500, 2000
"""Lines of a log, at its beginning and its end, in which a launcher speaks."""


def launched(lines: Sequence[Line]) -> Launched:
    """Return how the ranks of a log were started, as far as it says so."""
    lines = [*lines[:FIRST], *lines[max(FIRST, len(lines) - LAST) :]]
    texts = [line.full for line in lines]
    launcher = next((each for each, words in LAUNCHERS.items() if any(map(words.search, texts))), None)
    local = [int(number) for text in texts for number in LOCAL.findall(text)]
    ranks = [line.rank for line in lines if line.rank is not None] or local
    gpus = any(map(GPUS.search, texts)) or not any(map(CPU.search, texts))
    return Launched(launcher, _script(lines), None if gpus else max(2, 1 + max(local or ranks, default=1)))


def under_slurm(lines: Sequence[Line]) -> bool:
    """Return whether anything in a log is Slurm's."""
    return any(SLURM.search(line.full) for line in [*lines[:FIRST], *lines[max(FIRST, len(lines) - LAST) :]])


def _script(lines: Iterable[Line]) -> str:
    """Return the name of the script, from a launcher's summary or from where a traceback begins."""
    for line in lines:
        if ended := ENDED.match(line.text):
            return ended["script"].rpartition("/")[2]
        frame = FRAME.search(line.text)
        if frame and frame["function"] == "<module>" and not NOT_OWN.search(frame["path"]):
            name = frame["path"].replace("\\", "/").rpartition("/")[2]
            if re.fullmatch(r"[\w.-]+\.py", name):
                return name
    return "train.py"
