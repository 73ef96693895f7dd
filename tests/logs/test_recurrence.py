"""What comes again in a log, or stands below the end of the work, and so tells that a failure was got over."""

import json

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

TRACE = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line {}, in {}\n    {}\n{}\n'
FAILED = "E1122 12:47:09.929000 801 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {}) local_rank: 1 (pid: 80) of binary: python\n"
MISSING = TRACE.format(3, "<module>", "try: import apex", "ModuleNotFoundError: No module named 'apex'")
UNCAUGHT = TRACE.format(2, "<module>", "read()", "OSError: [Errno 116] Stale file handle")
DECODE = TRACE.format(8, "<module>", "row = decode(raw)", "ValueError: too many dimensions 'str'")


def quiet(report):
    return report.worst() in (None, Severity.NOTE)


def record(level, **fields):
    return json.dumps({"levelname": level, **fields}) + "\n"


def bad_record():
    return record("ERROR", message="bad record", exc_info=DECODE.rstrip())


def test_what_was_got_over_once_is_got_over_again_whatever_the_last_line_reports():
    good = record("INFO", message="record", loss=0.25)
    once, last = bad_record() + good, record("ERROR", message="2 records are in quarantine")
    assert quiet(explain(good + once + once))
    report = explain(good + once + once + last)
    assert [finding.severity for finding in report.findings] == [Severity.WARNING]
    assert "quarantine" in report.findings[0].message
    assert explain(good + once + bad_record() + last).worst() is Severity.ERROR


def test_a_record_of_a_logger_is_no_part_of_an_exceptions_message():
    text = "".join((TRACE.format(5, "read", "open(path)", "OSError: gone"), "INFO:etl: 3 rows, mean 0.25\n"))
    assert quiet(explain(text))


START = "=== job {} begins ===\n"
STEPS = "".join(f"iter {n} 0.{n}\n" for n in range(4))
TYPO = TRACE.format(4, "<module>", "lr = float(text)", "ValueError: could not convert string to float: '0,1'")


def test_a_program_that_begins_anew_below_a_failure_and_goes_well():
    assert quiet(explain(START.format(1) + TYPO + START.format(2) + STEPS))
    assert explain(START.format(1) + STEPS + START.format(2) + TYPO).worst() is Severity.ERROR
    assert explain(START.format(1) + TYPO + START.format(2)).worst() is not Severity.NOTE


def test_a_launcher_of_ones_own_starts_all_ranks_once_more():
    lost = "".join(
        f"[rank0]: {line}\n"
        for line in TRACE.format(
            5, "<module>", "dist.all_reduce(x)", "RuntimeError: Connection closed by peer [10.0.0.7]:1210"
        ).splitlines()
    )
    first, again = "s 0 tokens/s 1000\n", "".join(f"s {n} tokens/s 100{n}\n" for n in range(3))
    assert quiet(explain(f"{first}{lost}round 0 exit codes [1, 3]\n{again}round 1 exit codes [0, 0]\n"))
    assert not quiet(explain(f"{first}{lost}round 0 exit codes [1, 3]\n{again}round 1 exit codes [0, 3]\n"))
    assert not quiet(explain(first + lost + again + FAILED.format(1)))


@pytest.mark.parametrize(
    ("done", "function", "worst"),
    [
        ("rows: 100%|████| 40/40 [00:00<00:00, 51.6it/s]\n", "plot", Severity.WARNING),
        ("Epoch 3/3 dice 0.81\n", "plot", Severity.WARNING),
        ("model saved to out\n", "plot", Severity.WARNING),
        ("Epoch 2/3 dice 0.81\n", "plot", Severity.ERROR),
        ("epoch 2: dice 0.81, best model saved\n", "plot", Severity.ERROR),
        ("Epoch 3/3 dice 0.81\n", "<module>", Severity.ERROR),
        ("giving up: nothing is saved\n", "plot", Severity.ERROR),
    ],
)
def test_an_exception_that_a_handler_printed_below_the_end_of_the_work_is_in_doubt(done, function, worst):
    trace = TRACE.format(9, function, "draw(scores)", "ValueError: no axis of that name")
    assert explain(done + trace).worst() is worst


def test_a_function_that_is_called_at_the_end_changes_no_result():
    trace = TRACE.format(6, "on_exit", "try: writer.close()", "OSError: [Errno 9] Bad file descriptor")
    assert quiet(explain(f"ppl 28.83\n{trace}{trace}"))
    assert not quiet(explain(f"loading\n{trace}{trace}"))
    assert not quiet(explain(f"ppl 28.83\n{trace}{FAILED.format(1)}"))


def test_a_row_of_a_table_tells_of_no_failure():
    trace = TRACE.format(2, "<module>", "raise", "FileNotFoundError: [Errno 2] '/data/mmlu'")
    table = "| task | score |\n|---|---|\n| arc | 0.504 |\n| mmlu | error |\n"
    assert quiet(explain(f"arc 0.504\n{trace}mmlu error\n{table}"))
    numbers = "  k   iou\n  0  0.500\n  1  0.550\n"
    thread = TRACE.replace("/home/me/fit.py", "/usr/lib/python3.11/threading.py").format(
        1045, "_bootstrap_inner", "self.run()", "FileNotFoundError: 'nvidia-smi'"
    )
    assert quiet(explain(thread + numbers))


def test_a_measure_of_a_model_is_a_result_also_where_it_is_that_of_a_job():
    trace = TRACE.format(55, "process_job", "result = delayed.result()", "LinAlgError: singular matrix")
    assert quiet(explain(f"job 1 did not work:\n{trace}\njob 2 result 1.0\n"))
    assert not quiet(explain(f"job 1 did not work:\n{trace}\njob 2 took 1.0 s\n"))


def test_lines_that_differ_in_numbers_alone_were_not_cut_at_a_width():
    row = (
        "cuda:{} is not there (RuntimeError): Found no NVIDIA driver on your system. Please check that you have an"
        " NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx"
    )
    rows = [row.format(n).ljust(200, ".") for n in range(3)]
    assert quiet(explain("\n".join([*rows, '{"device": "cpu", "mean": 0.6104}'])))


def test_a_line_that_is_filled_with_blanks_was_not_cut_at_a_width():
    box = [text.ljust(80) for text in ("KeyError: 'mask'", "a scan has no mask", "one more has none")]
    box.insert(0, "╭" + 78 * "─" + "╮")
    trace = TRACE.format(7, "read", "masks[n]", "\n".join(box[1:2])).rstrip("\n")
    assert quiet(explain("\n".join([*box[2:], box[0], trace, "   INFO     scan 4 volume 42.0 ml"])))


@pytest.mark.parametrize(("code", "cause"), [(-9, "host-oom-killed"), (1, "module-missing")])
def test_what_was_caught_before_results_is_no_reason_of_a_signal(code, cause):
    steps = "".join(f"0 pass {n}\n1 pass {n}\n" for n in range(3))
    assert explain(MISSING + MISSING + steps + FAILED.format(code)).verdict.primary == cause


def test_what_stands_above_the_launchers_word_of_a_worker_that_left_is_quoted():
    said = "manifest.json lists 0 usable shards\n"
    (finding, *_) = explain("loading\n" + said + FAILED.format(1)).findings
    assert finding.id == "child-failed"
    assert said.strip() in [evidence.text for evidence in finding.evidence]
    assert "is not shown here" not in finding.message
    (finding, *_) = explain(FAILED.format(1)).findings
    assert "is not shown here" in finding.message


def test_lines_of_a_kind_that_was_printed_above_are_no_part_of_a_message():
    trace = TRACE.format(10, "<module>", "use(x)", "RuntimeError: the plan has no stage")
    assert quiet(explain(f"block 0\nblock 1\n{trace}block 2\n"))
    assert explain(f"block 0\nblock 1\n{trace}stage 2\n").worst() is Severity.ERROR


def test_a_stack_that_a_program_prints_of_its_own_is_no_exception():
    stack = '  File "/home/me/fit.py", line 4, in <module>\n    f()\n  File "/home/me/fit.py", line 2, in f\n    note()\n'
    assert quiet(explain(f"{stack} slow path\nRuntimeWarning overflow\nrmse 0.42\n"))
    assert not quiet(explain(f"loading\n{stack}"))


def test_a_measure_beside_the_number_of_an_attempt_is_a_result():
    lost = (
        "[W1122 22:24:00.87 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved.\n"
    )
    again = "".join(f"attempt 1 part {n} mel_loss 1.{n}\n" for n in range(4))
    assert quiet(explain(UNCAUGHT + FAILED.format(1) + lost + again))
    retries = "".join(f"attempt {n} in 1.5 s\n" for n in range(4))
    assert not quiet(explain(UNCAUGHT + lost + retries))


def test_lines_that_count_below_an_exception_are_a_loops():
    trace = TRACE.format(3, "<module>", "meet()", "RuntimeError: nobody came")
    assert explain(f"{trace}alone then\ntick 0\ntick 1\ntick 2\n").worst() is Severity.WARNING
    # What does not count on may be a list that belongs to the message.
    assert explain(f"{trace}at stage 1\nstage 4\nstage 2\n").worst() is Severity.ERROR
