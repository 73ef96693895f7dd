"""Which signal ended a command that was run, and whether the kernel sent it because memory had run out."""

import signal
from collections.abc import Sequence

from gpudoctor.facts import Run
from gpudoctor.logs.lines import Line, read_lines
from gpudoctor.output_tail import stands_still
from gpudoctor.patterns import late_pattern
from gpudoctor.text import byte_size
from gpudoctor.wordings import TIME_LIMIT_OVER

EXIT_STATUS, PY_SPY = "exit status", "py-spy"
"""What is known of the command from elsewhere than its output, as if these were logs of their own."""
LAST = 12
"""Lines at the end in which a shell says how the command ended."""
LIMIT = late_pattern(TIME_LIMIT_OVER)


def ended_by(run: Run, lines: Sequence[Line]) -> list[Line]:
    """Return a line, in the words of a launcher, that says which signal ended a command; none where none did.

    Of one that was ended from outside it says that it had long been silent, where it had.

    None, too, where a shell said last of all that a time limit's own signal did, or where somebody killed it.
    """
    number = run.exit_code - 128
    if run.silent is not None and stands_still(run.silent, run.longest_silence, run.still):
        said = f"{run.name} had printed nothing for {run.silent:,.0f} s when it was ended"
        said += f"{', and stood still' if run.still else ''}{f': {run.ranks}' if run.ranks else ''}"
        stood = read_lines(list(enumerate(run.stacks.splitlines(), 1)), PY_SPY)
        return stood + read_lines([(0, said)], EXIT_STATUS)
    if run.interrupted or number not in set(signal.Signals) or killed_by_somebody(run):
        return []
    if any(LIMIT.search(line.text, 0, 400) for line in lines[-LAST:]):
        return []
    said = f"{run.name} died with <Signals.{signal.Signals(number).name}: {number}>."
    if run.killed and run.oom_kills:
        said = f"{run.name} was killed by the OOM killer: the kernel's count rose by {run.oom_kills} while it ran"
    return read_lines([(0, said)], EXIT_STATUS)


def killed_by_somebody(run: Run) -> bool:
    """Return whether a command died of SIGKILL, and the kernel, which counts its own for memory, did not send it."""
    return run.killed and run.oom_kills == 0


def how_killed(run: Run) -> str:
    """Say that a command was killed, and what is known of its memory: it was not killed for that."""
    held = (
        f", and none of its processes had held more than {byte_size(run.largest_bytes)}"
        if run.largest_bytes
        else ""
    )
    return (
        f"{run.name} was killed (SIGKILL) after {run.seconds:,.1f} s by somebody, a time limit or a scheduler: "
        f"the kernel killed nothing for want of memory meanwhile{held}"
    )
