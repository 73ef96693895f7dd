"""Below rich's boxes the message is whole again, and the values of variables are no failures."""

from gpudoctor import explain
from gpudoctor.logs.boxes import unbroken

TOP = "╭" + "─" * 28 + " Traceback (most recent call last) " + "─" * 15 + "╮"
BOTTOM = "╰" + "─" * 78 + "╯"
FRAME = "│ /home/me/ev.py:6 in load" + " " * 52 + "│"


def read(*rows):
    return [text for _, text in unbroken(list(enumerate(rows, 1)))]


def test_a_message_that_rich_broke_is_put_together():
    first = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x384 and "
    assert read(BOTTOM, first + " " * 8, "768x1000000000)", "done") == [
        BOTTOM,
        first.rstrip() + " 768x1000000000)",
        "done",
    ]
    key = "    Missing key(s) in state_dict: " + '"a.weight", ' * 3
    assert read(BOTTOM, "RuntimeError: Error(s):", key, '"b.weight".')[2:] == [key.rstrip() + ' "b.weight".']


def test_a_loggers_line_below_a_box_is_no_part_of_the_message():
    rows = [
        BOTTOM,
        "ValueError: the table holds no rows",
        "ERROR:my.own.launcher.of.processes.api:failed (exitcode: 1)",
    ]
    assert read(*rows) == rows


def test_what_fits_or_is_indented_begins_a_line_of_its_own():
    rows = [BOTTOM, "ValueError: bad rows:", "  3", "  4", "step 1 loss 0.5"]
    assert read(*rows) == rows
    rows = ["ValueError: " + "x" * 60, "next words that would not have fitted", BOTTOM, "no name here"]
    assert read(*rows) == rows


def test_a_word_longer_than_the_box_is_cut_without_a_blank():
    assert read(BOTTOM, "KeyError: x", "b" * 80, "c" * 9)[-1] == "KeyError: x " + "b" * 80 + "c" * 9
    full = "OSError: /" + "a" * 70
    assert read(BOTTOM, full, "c" * 9)[-1] == f"{full} {'c' * 9}"


def test_values_in_a_box_are_no_failure():
    local = '│ │ msg = \'Missing key(s) in state_dict: "fc.weight", "fc.bias". \' ' + " " * 10 + "│ │"
    rows = (TOP, FRAME, "│ ╭" + "─" * 30 + " locals " + "─" * 36 + "╮ │", local, BOTTOM)
    report = explain("\n".join([*rows, "ValueError: 3 is not 4"]) + "\n")
    assert [finding.id for finding in report.findings] == ["unrecognised-error"]
    keys = (
        'Missing key(s) in state_dict: "fc.weight".\n    Unexpected key(s) in state_dict: "module.fc.weight".'
    )
    error = f"RuntimeError: Error(s) in loading state_dict for Net:\n    {keys}\n"
    assert explain("\n".join([*rows, error])).verdict.primary == "state-dict-prefix"


def test_a_path_that_fills_a_row_is_put_together_with_the_rest():
    path = "/home/me/" + "a" * 80 + "/fit.py:6 in load"
    rows = ["│ " + path[:76] + " │", "│ " + path[76:].ljust(76) + " │"]
    assert read(TOP, *rows, BOTTOM)[1].startswith(f"│ {path}")
    data = ["│ " + "/" + "b" * 75 + " │", "│ " + "done".ljust(76) + " │"]
    assert read(TOP, *data, BOTTOM) == [TOP, *data, BOTTOM]
