"""From a machine to a ticket, and from the ticket back to the same findings, on any machine."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import KernelEvent, KernelLog, Launch
from gpudoctor.importers import read
from gpudoctor.registry import Registry
from gpudoctor.render.markdown import MOST, ticket
from gpudoctor.report import SCHEMA, Report
from gpudoctor.snapshot import Snapshot
from tests.quick_checks import quick_checks
from tests.warm_python import warm_environment, warm_gpudoctor

HERE = Path(__file__).parent
FAST = quick_checks("launch", "network")
BROKEN = {
    "MASTER_ADDR": "trainer.planted-cluster.example",
    "MASTER_PORT": "70000",
    "RANK": "x",
    "WORLD_SIZE": "2",
}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYPLANTEDKEY00",
    "HF_TOKEN": "hf_PlantedPlantedPlantedPlantedPlanted",
    "SLURM_JOB_USER": "plantedname",
    "SLURM_SUBMIT_HOST": "planted-login-7",
    "SLURM_JOB_NODELIST": "planted-gpu[01-04]",
    "SLURM_JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJlcGxhbnRlZA",
    "PYTHONPATH": "/mnt/planted-project/code:/home/plantedname/lib",
    "NCCL_SOCKET_IFNAME": "eth0",
    "TORCH_HOME": "/home/plantedname/planted-cache",
    "LD_LIBRARY_PATH": "/mnt/planted-project/lib:/usr/local/cuda/lib64",
}
"""Every value with the word planted in it is private."""


def gpudoctor(*arguments, env=None, stdin=None):
    command = [*warm_gpudoctor(), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(env or {})}, input=stdin, timeout=120
    )


def essence(report):
    """What must be the same when a report is examined again."""
    return [
        (f["id"], f["severity"], f["message"], [x["command"] for x in f["fixes"]]) for f in report["findings"]
    ]


@pytest.mark.parametrize("suffix", ["md", "json"])
def test_a_saved_report_gives_the_same_findings_again(tmp_path, suffix):
    saved = tmp_path / f"saved.{suffix}"
    first = gpudoctor("check", "--json", *FAST, "-o", saved, env=BROKEN)
    assert first.returncode == 1
    again = gpudoctor("check", "--json", *FAST, "--from", saved)
    assert again.returncode == 1
    assert essence(json.loads(again.stdout)) == essence(json.loads(first.stdout)) != []
    assert json.loads(again.stdout)["facts"] == json.loads(first.stdout)["facts"]


def test_a_report_can_be_read_from_standard_input():
    saved = gpudoctor("check", "--json", *FAST, env=BROKEN).stdout
    assert gpudoctor("check", *FAST, "--from", "-", stdin=saved).returncode == 1


@pytest.mark.parametrize("form", ["terminal", "json", "md", "quiet"])
def test_nothing_that_was_planted_is_in_any_rendering(tmp_path, form):
    saved = tmp_path / f"saved.{form}"
    arguments = {"terminal": ["-v"], "json": ["--json"], "md": ["-o", saved], "quiet": ["-q"]}[form]
    done = gpudoctor("check", *arguments, *FAST, env={**BROKEN, **SECRETS})
    text = saved.read_text() if form == "md" else done.stdout
    assert text.strip()
    assert re.findall(r".*planted.*", text, re.IGNORECASE) == []
    for name in ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN"):
        assert name not in text
    if form != "quiet":
        assert "host-" in text


def test_the_own_addresses_leave_under_an_alias():
    import psutil

    text = gpudoctor("check", "--json", *FAST).stdout
    addresses = [
        a.address for each in psutil.net_if_addrs().values() for a in each if a.family == socket.AF_INET
    ]
    for address in addresses:
        assert address.startswith("127.") or address not in text


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_the_own_host_name_leaves_under_an_alias(tmp_path):
    """A machine of that name: a UTS namespace."""
    command = f"hostname planted-host-9 && exec {sys.executable} -m gpudoctor check --json {' '.join(FAST)}"
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-c", command], capture_output=True, text=True, timeout=120
    )
    assert "planted" not in done.stdout
    report = json.loads(done.stdout)
    assert report["facts"]["names"]["own"]["name"] == "host-1"
    assert "host-1 does not resolve" in report["findings"][0]["message"]


def test_no_redact_shows_what_is_there():
    done = gpudoctor("check", "--json", "--no-redact", *FAST, env=BROKEN)
    assert "trainer.planted-cluster.example" in done.stdout


def test_a_ticket_that_would_not_fit_into_an_issue_leaves_out_the_largest_topics(tmp_path):
    event = KernelEvent(kind="oom-kill", text="oom-kill: " + "x" * 900, process="python3")
    facts = {
        "launch": Launch(variables={"RANK": "0"}),
        "kernel_log": KernelLog(source="/dev/kmsg", events=[event] * 90),
    }
    text = ticket(Report(facts=facts))
    assert len(text) < 65536
    assert "(`-o report.json` holds all): kernel_log." in text
    target = tmp_path / "ticket.md"
    target.write_text(text)
    assert set(read(str(target), Registry().topics).snapshot.facts) == {"launch"}


def test_a_ticket_holds_what_maintainers_ask_for(tmp_path):
    target = tmp_path / "ticket.md"
    done = gpudoctor("report", "-o", target, env={**BROKEN, **warm_environment()})
    text = target.read_text()
    assert done.returncode == 1
    assert text.startswith("**Most likely cause: ")
    for field in ("PyTorch version:", "CUDA used to build PyTorch:", "Python version:", "OS:", "Is CUDA available:",
                  "Nvidia driver version:", "Versions of relevant libraries:", "MASTER_PORT=70000"):  # fmt: skip
        assert field in text
    assert "<details>" in text
    assert len(text) < 65536


def test_a_ticket_fits_an_issue_tracker_and_cannot_be_broken_out_of():
    """Facts that are long and hostile: the ticket still fits, is read back, and closes what it opens."""
    hostile = "```\n</details>\n<script>alert(1)</script>\n@everyone " + "x" * 200
    launch = Registry().topics["launch"](variables={f"NCCL_{n}": hostile for n in range(40)})
    report = Report(facts={"launch": launch}, created="2026-11-20T08:00:00Z")
    text = ticket(report)
    assert len(text) <= MOST
    assert text.count("<details>") == text.count("\n</details>\n\n<sub>") == 1
    body = text.partition("<details>")[2]
    assert "<script>" not in body


def test_a_control_character_in_a_fact_does_not_make_the_ticket_unreadable(tmp_path):
    launch = Registry().topics["launch"](variables={"NCCL_X": "a\x00b\x1b[31mc"})
    target = tmp_path / "ticket.md"
    target.write_text(ticket(Report(facts={"launch": launch})))
    assert read(str(target), Registry().topics).snapshot.facts["launch"] == launch


def test_findings_of_a_newer_check_come_from_an_old_report(tmp_path):
    """A report that was saved before a check existed is examined with it."""
    saved = tmp_path / "old.json"
    saved.write_bytes(gpudoctor("check", "--json", *FAST, env=BROKEN).stdout.encode())
    (tmp_path / "rank_is_x.py").write_text(
        '"""The rank is x.\n"""\nfrom gpudoctor import Check, Severity\nfrom gpudoctor.facts import Launch\n'
        "check = Check(severity=Severity.ERROR)\n@check.environment\ndef environment(launch: Launch):\n"
        '    if launch.variables.get("RANK") == "x":\n        yield check.found("it is x")\n'
    )
    done = gpudoctor("check", "--json", "--from", saved, "--checks", tmp_path, "--only", "rank-is-x")
    assert [f["id"] for f in json.loads(done.stdout)["findings"]] == ["rank-is-x"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema": "gpudoctor.report/2", "facts": {}}', "gpudoctor.report/2"),
        ('{"schema": "gpudoctor.report/1", "facts": {"launch"', ""),
        ('{"schema": "gpudoctor.report/1", "facts": {"launch": {"variables": 3}}}', "facts.launch"),
        ("", "empty"),
        ("just words\n" * 3, "neither"),
        ("[" * 100_000, ""),
        ("\x00\x01\x02" * 100, ""),
    ],
)
def test_a_report_that_is_none_is_one_line_and_exit_2(tmp_path, content, words):
    saved = tmp_path / "saved.json"
    saved.write_text(content)
    done = gpudoctor("check", "--from", saved)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert words in done.stderr


def test_a_gigabyte_of_noise_costs_neither_time_nor_memory(tmp_path):
    saved = tmp_path / "noise"
    with saved.open("wb") as file:
        file.seek(2**30)
        file.write(b"x")
    code = (
        "import resource, sys, runpy\nresource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "sys.argv = ['gpudoctor', 'check', '--from', sys.argv[1]]\nrunpy.run_module('gpudoctor', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code, saved], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2, done
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "machine", sorted((HERE / "machines").glob("*/report.json")), ids=lambda p: p.parent.name
)
def test_a_recorded_machine_gives_the_findings_that_it_gave(machine):
    """Recorded with ``gpudoctor check -o report.json`` on a real machine."""
    recorded = json.loads(machine.read_text())
    assert recorded["schema"] == SCHEMA
    snapshot = read(str(machine), Registry().topics).snapshot
    report = diagnose(Snapshot(snapshot.facts, snapshot.probes), Registry().checks())
    again = msgspec.to_builtins(report)
    assert essence(again) == essence(recorded)
    assert again["verdict"] == recorded["verdict"]
    old, new = ({c["id"]: c["status"] for c in each["checks"]} for each in (recorded, again))
    assert old.items() <= new.items()
