"""The frames that torch.compile shows of code that it did not compile: nothing was raised there."""

from collections.abc import Sequence

from gpudoctor.logs.lines import Line
from gpudoctor.patterns import late_pattern

COMPILED = late_pattern(
    r"^(?:Graph break: )?(?:from user code(?: at)?|User code traceback):$|"
    r"^(?:Graph break in user code at |Backend compiler failed with a fake tensor exception at)"
)
"""What it writes over them (torch/_dynamo/exc.py, symbolic_convert.py)."""
FRAME = 'File "'


def below_heading(lines: Sequence[Line], number: int) -> int:
    """Return the number of the last frame below a heading, whose source is indented, or was pasted without indents."""
    last = number
    while last + 1 < len(lines) and (
        lines[last + 1].indent > lines[number].indent or lines[last + 1].text.startswith(FRAME)
    ):
        last += 1
    return last
