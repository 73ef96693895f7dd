"""What the source of a script that lies here tells of an exception: that it catches it, and goes on."""

import textwrap

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

LOADS = """\
def load(path):
    {try_}
        return read(path)
    except {caught}:
        traceback.print_exc()
        {then}
{more}
"""
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: 'a.npz'"
IN_MAIN = "def main():\n    state = load('a.npz')\n    fit(state)\nmain()"


@pytest.fixture
def worst(tmp_path):
    """Return how bad what a script printed is, whose traceback begins in the line that calls `call`."""

    def of(
        source,
        call="read(path)",
        function="load",
        raised=MISSING,
    ):
        script = tmp_path / "fit.py"
        script.write_text(textwrap.dedent(source))
        rows = script.read_text().split("\n")
        number = next(n for n, row in enumerate(rows, 1) if call in row)
        text = (
            "Traceback (most recent call last):\n"
            f'  File "{script}", line {number}, in {function}\n    {rows[number - 1].strip()}\n{raised}\n'
        )
        severity = explain(text).worst()
        return None if severity is Severity.NOTE else severity

    return of


def in_load(script, source="return read(path)"):
    """A traceback that begins in the third line of a script, in `load`."""
    frame = f'  File "{script}", line 3, in load\n    {source}\n'
    return f"Traceback (most recent call last):\n{frame}{MISSING}\n"


def loads(then="return None", caught="OSError", more=IN_MAIN, try_="try:"):
    return LOADS.format(try_=try_, caught=caught, then=then, more=more)


def test_what_a_function_catches_whose_caller_works_on_ended_nothing(worst):
    assert worst(loads()) is None
    assert worst(loads(then="pass")) is None
    assert worst(loads(caught="(KeyError, OSError)")) is None


@pytest.mark.parametrize(
    "source",
    [
        loads(then="raise"),
        loads(then="sys.exit(1)"),
        loads(then="os._exit(3)"),
        loads(then="die('no data')"),
        loads(then="return False"),
        loads(try_="if path:"),
        loads(more="def main():\n    load('a.npz')\nmain()"),  # nothing comes after it
        loads(more="def main():\n    load('a.npz')\n    print('bye')\n    sys.exit(1)\nmain()"),
        loads(more="load('a.npz')\nraise SystemExit(2)\nfit()"),
        loads(more="state = load('a.npz')\nif state is None:\n    sys.exit(2)\nfit(state)"),
        loads(more=""),  # who calls it, nobody knows
    ],
)
def test_what_ends_the_program_or_may_is_an_error_still(worst, source):
    assert worst(source) is Severity.ERROR


SCRIPT = """\
import traceback
{loop}
    try:
        plot(3)
    except {caught}:
        traceback.print_exc()
{more}
"""


def at_top(worst, loop="for epoch in range(3):", caught="Exception", more="", **case):
    source = SCRIPT.format(loop=loop, caught=caught, more=more)
    return worst(source, call="plot(3)", function="<module>", **case)


def test_at_the_top_of_a_script_the_handler_s_type_and_what_follows_tell(worst):
    assert at_top(worst) is None
    assert at_top(worst, loop="if True:", more="train()") is None
    assert at_top(worst, loop="if True:", more="raise SystemExit(1)") is Severity.ERROR
    assert at_top(worst, loop="if True:") is Severity.ERROR  # it may be the whole program
    counted = "if failed:\n    sys.exit(f'{failed} failed')"
    assert at_top(worst, more=counted) is Severity.ERROR
    assert at_top(worst, more=f"train()\n{counted}") is None
    assert at_top(worst, caught="KeyError") is Severity.ERROR
    cuda = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert at_top(worst, caught="RuntimeError", raised=cuda) is None
    assert (
        at_top(worst, caught="Exception", raised="KeyboardInterrupt") is None
    )  # a note, whatever the script says


def test_a_script_that_is_another_by_now_tells_nothing(worst, tmp_path):
    script = tmp_path / "fit.py"
    text = in_load(script, source="return read(path, 2)")
    script.write_text(loads())
    assert explain(text).worst() is Severity.ERROR
    script.write_text("def load(:\n\n    return read(path, 2)\n")
    assert explain(text).worst() is Severity.ERROR


def test_without_leave_to_read_scripts_nothing_is_read(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(loads())
    text = in_load(script)
    assert explain(text).worst() is Severity.NOTE
    assert explain(text, source=False).worst() is Severity.ERROR


def test_what_torch_marks_as_a_rank_s_end_is_one(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(loads())
    text = textwrap.indent(in_load(script), "[rank1]: ")
    assert explain(text).worst() is Severity.ERROR
