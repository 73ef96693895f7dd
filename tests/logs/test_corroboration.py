"""A log beside the facts: confirmed, contradicted, or neither."""

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor import Check, Fix, Report, Role, Severity, Source
from gpudoctor.logs.corroboration import corroborate
from gpudoctor.report import CheckStatus, Result
from tests.warm_python import warm_gpudoctor

MACHINES = Path(__file__).parent.parent / "machines"


def made(id, message, **more):
    check = Check(severity=Severity.ERROR, fixes=[Fix(f"general fix of {id}", "true")])
    check.describe(id=id, family="launch", docstring="A failure.")
    return check.found(message, **more)


def seen(id, message):
    return replace(made(id, message), source=Source.LOG)


def reports(log, facts, passed=()):
    explained = Report(findings=[seen(id, "the log's words") for id in log])
    results = [Result(id=id, status=CheckStatus.PASSED) for id in passed]
    diagnosed = Report(
        findings=[
            made(id, "/dev/shm is 64.0 MiB", fixes=[Fix("for this machine")], evidence=["df"]) for id in facts
        ],
        checks=results,
    )
    return explained, diagnosed


def test_condition_and_symptom_together_are_confirmed_with_the_value():
    (finding,) = corroborate(*reports(["shm"], ["shm"])).findings
    assert finding.message == "the log's words; confirmed by the facts: /dev/shm is 64.0 MiB"
    assert finding.source is Source.LOG
    assert [fix.summary for fix in finding.fixes] == ["for this machine", "general fix of shm"]
    assert [evidence.text for evidence in finding.evidence] == ["df"]


def test_a_symptom_that_the_facts_deny_says_so():
    (finding,) = corroborate(*reports(["shm"], [], passed=["shm"]), saved="2026-11-20T08:00:00Z").findings
    assert "the facts of 2026-11-20T08:00:00Z show no sign of it" in finding.message


def test_facts_that_were_not_asked_say_nothing():
    (finding,) = corroborate(*reports(["shm"], [])).findings
    assert finding.message == "the log's words"


def test_what_the_log_shows_comes_before_what_only_the_facts_show():
    assert [f.id for f in corroborate(*reports(["b", "c"], ["a", "c"])).findings] == ["b", "c", "a"]
    assert [f.id for f in corroborate(*reports(["b"], ["a"]), all_findings=False).findings] == ["b"]


def test_a_consequence_stays_one():
    explained, diagnosed = reports(["b"], ["b"])
    explained.findings[0] = made("b", "x", role=Role.CONSEQUENCE, severity=Severity.NOTE)
    (finding,) = corroborate(explained, diagnosed).findings
    assert (finding.role, finding.severity) == (Role.CONSEQUENCE, Severity.NOTE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A report whose facts say that /dev/shm is small, and a log of a bus error."""
    folder = tmp_path_factory.mktemp("join")
    report = json.loads((MACHINES / "cpu-only/report.json").read_text())
    report["facts"]["host"]["shm_bytes"] = report["facts"]["host"]["shm_free_bytes"] = 64 << 20
    (folder / "small.json").write_text(json.dumps(report))
    report["facts"]["host"]["shm_bytes"] = report["facts"]["host"]["shm_free_bytes"] = 64 << 30
    (folder / "large.json").write_text(json.dumps(report))
    (folder / "train.log").write_text(
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. insufficient shared memory (shm)\n"
    )
    return folder


def gpudoctor(*arguments):
    done = subprocess.run(
        [*warm_gpudoctor(), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("command", ["explain", "check"])
def test_explain_with_facts_and_check_with_a_log_join_the_two(saved, command):
    def joined(name):
        log, facts = saved / "train.log", saved / name
        extra = [log, "--facts", facts] if command == "explain" else ["--from", facts, "--log", log]
        report = gpudoctor(command, "--json", *extra)
        return report, next(f for f in report["findings"] if f["id"] == "shm-too-small")

    report, confirmed = joined("small.json")
    assert report["verdict"]["primary"] == "shm-too-small"
    assert confirmed["severity"] == "error"
    assert "confirmed by the facts: /dev/shm is 64.0 MiB" in confirmed["message"]
    assert confirmed["evidence"][0]["where"].endswith("train.log:1")
    assert "show no sign of it" in joined("large.json")[1]["message"]
