"""How reports say what could not be checked."""

import subprocess
import sys
from pathlib import Path

from gpudoctor.render.unseen import not_checked, not_seen, untold
from gpudoctor.report import NOT_IN_TEXT, CheckStatus, ProbeResult, ProbeStatus, Report, Result

UNKNOWN, CRASHED = CheckStatus.UNKNOWN, CheckStatus.CRASHED
CHECKS = [
    Result(id="gpu-xid", status=UNKNOWN, reason="kernel_log: PermissionError"),
    Result(id="gpu-sxid", status=UNKNOWN, reason="kernel_log: PermissionError"),
    Result(id="port-in-use", status=CRASHED, reason="ValueError: checks/x.py:3"),
    Result(id="omp-threads", status=CheckStatus.PASSED),
]


def report(*probes: ProbeResult) -> Report:
    return Report(checks=CHECKS, probes=list(probes))


def test_one_row_for_each_reason():
    assert not_checked(report(), crashed=False) == {"kernel_log: PermissionError": ["gpu-xid", "gpu-sxid"]}
    assert not_checked(report(), crashed=True) == {"ValueError: checks/x.py:3": ["port-in-use"]}


def test_a_probe_is_not_named_where_a_check_gives_its_reason():
    late = ProbeResult(name="gpus", status=ProbeStatus.TIMEOUT, reason="no answer in 10 s")
    told = ProbeResult(name="kernel_log", status=ProbeStatus.FAILED, reason="PermissionError")
    assert not_seen(report(told, late, late)) == [late]


def test_a_machine_that_was_looked_at_is_told_check_by_check():
    assert untold(report(ProbeResult(name="pci", status=ProbeStatus.FAILED, reason="OSError"))) == ""


def test_a_text_is_told_in_a_line():
    missing = ProbeResult(name="kernel_log", status=ProbeStatus.SKIPPED, reason=NOT_IN_TEXT)
    assert untold(report(missing)) == "2 checks would need what this text does not hold: kernel log"


def test_what_a_ticket_does_not_hold_does_not_hide_what_it_does(tmp_path: Path):
    text = "        GPU0    GPU1\nGPU0     X      SYS\nGPU1    SYS      X\n"
    command = [sys.executable, "-m", "gpudoctor", "check", "--from", "-"]

    def said(*more: str) -> str:
        ran = subprocess.run([*command, *more], input=text, capture_output=True, text=True, cwd=tmp_path)
        return ran.stdout

    short = said()
    assert "checks would need what this text does not hold: " in short
    assert "gpu-xid" not in short
    assert "gpu-xid" in said("-v")
    said("-o", "ticket.md")
    ticket = (tmp_path / "ticket.md").read_text()
    assert "</summary>\n\n- `" in ticket
    assert "`gpu-xid`" in ticket
