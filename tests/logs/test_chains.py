"""What stands right above a traceback tells who printed it, and how bad its program takes it to be."""

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

TRACE = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line {}, in {}\n    {}\n{}\n'
REFUSED = TRACE.format(5, "send", "post(url)", "ConnectionRefusedError: [Errno 111] Connection refused")
NO_LABEL = TRACE.format(13, "<module>", "x, y = row(i)", "KeyError: 'label'")
STEPS = "step 20 loss 0.31\nstep 40 loss 0.02\n"
CHAINED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def quiet(text):
    return explain(text).worst() in (None, Severity.NOTE)


@pytest.mark.parametrize(
    "level",
    [
        "WARNING:fit:",
        "W1124 06:30:21.35 17 fit.py:9] ",
        "2026-11-24 06:30:21 [warning  ] ",
        'level=warning msg="',
    ],
)
def test_what_a_logger_only_warns_of_is_a_note_where_it_was_caught(level):
    head = f"{level}the store does not answer\n"
    assert quiet(STEPS + head + REFUSED)
    assert not quiet(STEPS + head + NO_LABEL)  # Python's own may stand below a warning of something else
    assert not quiet(f"{STEPS}{level}the run crashed\n{REFUSED}")


def test_a_line_that_informs_is_no_word_of_the_traceback_below_it():
    assert not quiet(f"{STEPS}INFO:fit:step 60 loss 0.01\n{REFUSED}")


@pytest.mark.parametrize(
    ("said", "type", "over"),
    [
        ("stopped by callback", "TargetReached: accuracy 0.95", True),
        ("search ends early", "trainer.TrialPruned: no better than the median", True),
        ("crashed in the loop", "StopTraining: target accuracy 0.95 reached", False),
        ("epoch 3 acc 0.95", "KeyError: 'label'", False),
        ("epoch 3 acc 0.95", "StopTokenError: no such token", False),
    ],
)
def test_a_loop_whose_end_a_logger_informs_of_has_not_failed(said, type, over):
    ends = NO_LABEL.replace("KeyError: 'label'", type)
    assert quiet(f"{STEPS}INFO {said}\n{ends}") == over


def test_loguru_marks_the_frame_that_caught_an_exception():
    marked = REFUSED.replace("  File", "\n> File")
    warned = "2026-11-24 06:30:21.123 | WARNING  | fit:main:14 - the store does not answer\n"
    assert quiet(STEPS + warned + marked.replace("in send", "in <module>"))
    assert not quiet(STEPS + warned.replace("WARNING ", "ERROR   ") + marked)


@pytest.mark.parametrize("level", ["E 2026-11-24 06:32:27,264 m.py:11] ", "E1124 06:32:27.264 17 m.py:11] "])
def test_a_loggers_letter_stands_above_a_whole_chain(level):
    inner = TRACE.format(1348, "do_open", "h.request(method)", "ConnectionRefusedError: [Errno 111] refused")
    outer = TRACE.format(9, "<module>", "b = get(url)", "Unavailable: no mirror answers")
    chain = f"{level}mirror 1\n{inner}{CHAINED}{outer}"
    good = "".join(f"{level.replace('E', 'I', 1)}iter {n}/4 loss 0.{9 - n}\n" for n in range(1, 5))
    assert quiet(chain + good)
    assert not quiet(chain)


def ranks(*rows):
    return "".join(rows)


def test_a_rank_whose_logger_told_of_the_same_before_had_caught_it():
    bad = "[{}] ERROR sample {} has no label\n" + NO_LABEL
    good, more = (
        "".join(f"[{n % 2}] INFO sample {n} loss 0.{n}\n" for n in range(begin, begin + 20))
        for begin in (10, 30)
    )
    assert quiet(good + bad.format(1, 3) + more + bad.format(1, 9))
    # another rank's own, or the first of all, may have ended it
    assert not quiet(good + bad.format(0, 3) + more + bad.format(1, 9))
    assert not quiet(good + bad.format(1, 9))
    # and an attempt after which none follows
    retried = bad.replace("sample {} has no label", "attempt {} of 3 did not work")
    assert not quiet(good + retried.format(1, 1) + more + retried.format(1, 2))


def test_what_a_program_quotes_of_another_one_is_no_end_where_it_went_on_from_the_same():
    quote = "".join(f"    | {row}\n" for row in NO_LABEL.splitlines())
    round_ = (
        "[train] step {0} loss 0.{0}\n[eval@{0}] the evaluator exited with status 1, its words:\n" + quote
    )
    assert quiet(round_.format(10) + round_.format(20) + round_.format(30))
    assert not quiet(round_.format(10))


SPAWN = (
    'Traceback (most recent call last):\n  File "s.py", line 7, in <module>\n    mp.spawn(main, nprocs=2)\n'
    "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following error:\n"
    'Traceback (most recent call last):\n  File "/venv/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", '
    'line 89, in _wrap\n    fn(i, *args)\n  File "/home/me/s.py", line 6, in main\n    raise ShardError(128, 120)\n'
    "__mp_main__.ShardError: shards do not add up:\n  index says 128\n  disk has 120\nrebuild the index\n"
)


def test_the_lines_of_a_message_are_no_results_below_it():
    assert explain(SPAWN).worst() is Severity.ERROR
    invalid = TRACE.format(7, "<module>", "cfg = Cfg(**raw)", "ValidationError: 2 validation errors for Cfg")
    rows = "size\n  Input should be greater than 0 [type=greater_than, input_value=0, input_type=int]\n"
    assert explain(invalid + rows).worst() is Severity.ERROR
    assert explain(STEPS + invalid + STEPS + "saved to model.pt\n").worst() is not Severity.ERROR


def test_a_program_that_tries_the_whole_again_and_again_may_have_died_of_the_last():
    steps = "".join(f"INFO:root:step {n} loss 0.{9 - n}\n" for n in range(4))
    bad = "ERROR:root:run {} did not work\n" + NO_LABEL
    tries = steps + bad.format(0) + steps + bad.format(1)
    assert not quiet(tries)
    assert not quiet(tries + "no run worked\n")
    on = "".join(f"INFO:root:step {n} loss 0.{n}\n" for n in range(4, 9))
    assert quiet(steps + bad.format(0) + on + bad.format(1))
    assert not quiet(steps + bad.format(0) + on + bad.format(1) + "nothing more is left to read\n")


def test_richs_box_behind_a_loggers_margin_was_written_by_a_handler():
    margin, rule = " " * 20, "─" * 22
    box = [
        f"╭{rule} Traceback (most recent call last) {rule}╮",
        "│ /home/me/a.py:7 in <module>" + " " * 50 + "│",
    ]
    rows = [margin + row for row in [*box, "╰" + "─" * 79 + "╯", "ValueError: invalid literal"]]
    head = "[07:54:01] {} cannot read the override\n"
    steps = "".join(f"           INFO     epoch {n} bleu 2{n}.0\n" for n in range(3))
    assert quiet(steps + head.format("WARNING ") + "\n".join(rows) + "\n")
    assert not quiet(steps + head.format("ERROR   ") + "\n".join(rows) + "\n")
