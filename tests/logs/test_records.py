"""Records of JSON, one on a line: what a program printed is read out of them."""

import json

import pytest

from gpudoctor import explain
from gpudoctor.logs.lines import read_text
from gpudoctor.logs.records import unfolded
from gpudoctor.model import Severity

TRACE = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line 6, in <module>\n    fit(336)\nValueError: the window is longer than the series'


def shipped(text, stream="stderr"):
    """What Docker's json-file driver keeps of a container's output."""
    rows = (
        {"log": f"{row}\n", "stream": stream, "time": "2026-03-04T05:06:07.12Z"} for row in text.split("\n")
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_what_a_container_printed_is_read_out_of_its_records():
    report = explain(shipped(f"fold 0\n{TRACE}"))
    (finding,) = report.findings
    assert finding.message.startswith(
        "ValueError: the window is longer than the series, raised below /home/me/fit.py line 6"
    )
    assert finding.evidence[0].where == "log:5"
    assert [line.text for line in read_text(shipped("a\x1b[31mb\x1b[0m"), "log")] == ["ab", ""]
    assert read_text(shipped("step 1"), "log")[0].seconds is not None


def test_a_known_failure_is_found_in_a_record():
    text = shipped(
        "step 1\n"
        + TRACE.replace("the window is longer than the series", "x")
        + "\n"
        + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x256 and 512x10)"
    )
    assert explain(text).verdict.primary == "matmul-shapes"


def test_a_line_that_loguru_serialized_is_read_as_it_prints_it():
    begin = "2026-03-04 05:06:07.123 | {} | __main__:fit:6 - "
    rows = [
        begin.format("ERROR   ") + f"optional metric failed\n{TRACE}\n",
        begin.format("SUCCESS ") + "done: rouge 41.2\n",
    ]
    text = "".join(json.dumps({"text": row, "record": {"elapsed": {"seconds": 1}}}) + "\n" for row in rows)
    assert [line.text for line in read_text(text, "log")][
        -2
    ] == "SUCCESS  | __main__:fit:6 - done: rouge 41.2"
    assert explain(text).worst() in (None, Severity.NOTE)
    assert explain(text.splitlines()[0]).findings[0].message.startswith("ValueError: the window")


@pytest.mark.parametrize("prefix", ["", "[rank1]: ", "2026-03-04 05:06:07 "])
def test_the_traceback_that_a_logger_put_into_a_record_is_read(prefix):
    record = {"event": "fit_failed", "level": "error", "exception": TRACE}
    report = explain(f'{prefix}{{"event": "start", "level": "info"}}\n{prefix}{json.dumps(record)}\n')
    assert report.findings[0].message.startswith("ValueError: the window")
    assert report.findings[0].ranks == ([1] if "rank" in prefix else [])


def test_the_rank_of_a_record_is_that_of_its_lines():
    record = {"rank": 3, "msg": "failed", "exc_info": TRACE}
    assert explain(json.dumps(record)).findings[0].ranks == [3]


@pytest.mark.parametrize(
    "text",
    [
        '{"step": 3, "loss": 0.5}',
        '{"log": "to the console", "epochs": 3}',  # a setting of that name
        '{"exception": "Traceback (most recent call last): cut',
        '{"log": [1, 2]}',
        '{"text": "a", "record": 3, "more": 1}',
        '{"a": ' * 5000 + '"log"' + "}" * 5000,
        "",
    ],
)
def test_other_lines_stay_as_they_are(text):
    assert list(unfolded(text)) == [text]


def test_the_traceback_that_torchelastic_reports_is_two_levels_down():
    record = {"message": {"message": "ValueError: x", "extraInfo": {"py_callstack": TRACE, "timestamp": "1"}}}
    (finding,) = explain("rank 0: start\n" + json.dumps(record) + "\n").findings
    assert finding.message.startswith("ValueError: the window is longer than the series, raised below")


@pytest.mark.parametrize(
    "line",
    [
        r'"py_callstack": "Traceback (most recent call last):\n  File \"/home/me/fit.py\", line 11, in <module>\n    step(x)\nValueError: no such flux\n',
        r"""['Traceback (most recent call last):\n', '  File "/home/me/fit.py", line 11, in <module>\n    step(x)\n', 'ValueError: no such flux\n']""",
    ],
)
def test_a_traceback_that_was_written_as_a_string_is_read(line):
    report = explain(f"start\n(Worker pid=5) {line}\n")
    assert report.findings[0].message.startswith("ValueError: no such flux")
    assert report.findings[0].location.line == 11


def test_a_line_end_in_a_string_of_a_program_s_own_stays():
    assert [line.text for line in read_text(r"prompt: 'one\ntwo\nthree'", "log")] == [
        r"prompt: 'one\ntwo\nthree'"
    ]


@pytest.mark.parametrize(
    "record",
    [
        lambda row: {"message": row, "stream": "stderr", "timestamp": "2026-03-04T05:06:07Z"},
        lambda row: {"log": row, "stream": "stdout", "kubernetes": {"pod_name": "fit-0"}},
        lambda row: {"textPayload": row, "severity": "INFO", "timestamp": "2026-03-04T05:06:07Z"},
    ],
)
def test_what_a_collector_of_logs_kept_is_read_as_it_was_printed(record):
    text = "".join(json.dumps(record(row)) + "\n" for row in f"fold 0\n{TRACE}".split("\n"))
    (finding,) = explain(text).findings
    assert finding.message.startswith("ValueError: the window is longer than the series")


def test_a_record_of_a_program_stays_what_it_is():
    row = json.dumps({"message": "epoch 3", "stream": "train", "loss": 0.25})
    assert [line.text for line in read_text(row, "log")] == [row]
