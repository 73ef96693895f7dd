"""Tracebacks that were run together into one line."""

from gpudoctor.logs.explain import explain
from gpudoctor.logs.one_line import run_together
from gpudoctor.model import Severity

OWN = (
    'Traceback (most recent call last): File "/job/fit.py", line 72, in <module> main() '
    "File \"/job/fit.py\", line 31, in main step = table[name] KeyError: 'warmup'"
)


def test_the_exception_at_the_end_of_the_line_is_found_with_its_frames():
    report = explain(f"reading the plan\n{OWN}\n")
    assert report.findings[0].severity is Severity.ERROR
    assert "KeyError" in report.findings[0].message
    location = report.findings[0].location
    assert location is not None
    assert (location.path, location.line) == ("/job/fit.py", 31)


def test_what_stood_in_the_source_is_no_exception():
    raised = run_together(
        'Traceback (most recent call last): File "a.py", line 3, in go raise ValueError("no: plan") ValueError: no: plan'
    )
    assert raised is not None
    kind, message, frames = raised
    assert (kind, message) == ("ValueError", "no: plan")
    assert [(x.function, x.text) for x in frames] == [("go", 'raise ValueError("no: plan")')]


def test_a_check_knows_it_there_too():
    text = (
        'Traceback (most recent call last): File "fit.py", line 9, in <module> x = x.cuda() '
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    )
    assert explain(text).verdict.primary == "cuda-oom"


def test_a_traceback_cut_before_the_name_is_none_of_these():
    assert (
        run_together('Traceback (most recent call last): File "fit.py", line 9, in <module> main()') is None
    )
    assert run_together('  File "fit.py", line 9, in <module>') is None
