"""Probes that misbehave in every way: each is a result of its own, and the others are as they would be without it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gpudoctor.collect import collect
from gpudoctor.facts import Launch, Python, Torch
from gpudoctor.interpreter import Patient
from gpudoctor.registry import Probe, Registry
from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

Make = Callable[..., Probe]
GOOD = 'print(\'gpudoctor {"topic": "launch", "facts": {"variables": {"RANK": "1"}}}\', flush=True)\n'
NO_CORE = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"


def only(snapshot: Snapshot) -> ProbeResult:
    (result,) = snapshot.probes
    return result


def test_a_good_answer_is_ok_among_whatever_else_is_printed(script_probe: Make, here: Patient) -> None:
    chatter = (
        "import sys; print('hello'); sys.stderr.write('a warning\\n'); print('no end ', end='')\nprint()\n"
    )
    snapshot = collect([script_probe(chatter + GOOD + chatter)], here)
    result = only(snapshot)
    assert (result.name, result.status, result.reason) == ("launch", ProbeStatus.OK, None)
    assert snapshot.get(Launch) == Launch(variables={"RANK": "1"})


def test_a_later_answer_replaces_an_earlier_one(script_probe: Make, here: Patient) -> None:
    snapshot = collect([script_probe(GOOD + GOOD.replace('"1"', '"2"'))], here)
    assert snapshot.get(Launch) == Launch(variables={"RANK": "2"})


def test_no_answer_is_no_success(script_probe: Make, here: Patient) -> None:
    result = only(collect([script_probe("import sys; sys.stderr.write('Cannot open this\\n')")], here))
    assert (result.status, result.reason) == (ProbeStatus.FAILED, "it gave no answer: Cannot open this")


def test_a_refusal_is_given_as_its_reason(script_probe: Make, here: Patient) -> None:
    result = only(collect([script_probe('print(\'gpudoctor {"failed": "no such bus"}\')')], here))
    assert (result.status, result.reason) == (ProbeStatus.FAILED, "no such bus")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        ("raise KeyError('gone')", "exit status 1: KeyError: 'gone'"),
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
        ("import os; os.abort()", "killed by SIGABRT"),
    ],
)
def test_a_crash_is_said_and_what_was_learnt_before_it_is_kept(
    script_probe: Make, here: Patient, code: str, reason: str
) -> None:
    snapshot = collect([script_probe(NO_CORE + GOOD + code)], here)
    result = only(snapshot)
    assert (result.status, result.reason) == (ProbeStatus.CRASHED, reason)
    assert snapshot.get(Launch) == Launch(variables={"RANK": "1"})


def test_a_crash_names_what_was_being_done(script_probe: Make, here: Patient) -> None:
    code = NO_CORE + 'print(\'gpudoctor {"doing": "opening the device"}\', flush=True)\nimport os; os.abort()'
    assert only(collect([script_probe(code)], here)).reason == "killed by SIGABRT during opening the device"


def test_a_probe_that_leaves_in_the_middle_without_an_error_did_not_finish(
    script_probe: Make, here: Patient
) -> None:
    """A library may call os._exit(0) on import."""
    code = GOOD + 'print(\'gpudoctor {"doing": "import torch"}\', flush=True)\nimport os; os._exit(0)'
    result = only(collect([script_probe(code)], here))
    assert result.status is ProbeStatus.CRASHED
    assert result.reason == "ended before it was done during import torch"


def test_facts_that_were_cut_short_say_so(script_probe: Make, here: Patient) -> None:
    code = (
        'print(\'gpudoctor {"topic": "torch", "facts": {"stage": "import torch"}}\', flush=True)\n'
        "import time; time.sleep(60)"
    )
    torch = collect([script_probe(code, topics=["torch"], deadline=1)], here).get(Torch)
    assert torch is not None
    assert (torch.stage, torch.imported, torch.interrupted) == ("import torch", None, "no answer in 1 s")


GARBAGE = {
    "broken-json": 'print("gpudoctor {\\"topic\\": ")',
    "no-object": 'print("gpudoctor {} []")',
    "half-a-line": 'import sys; sys.stdout.write("gpudoctor {\\"topic\\": \\"laun")',
    "invalid-utf-8": r"""import os; os.write(1, b'gpudoctor {"topic": "\xff", "facts": {}}')""",
    "lone-surrogate": r"""print('gpudoctor {"topic": "launch", "facts": {"variables": {"a": "\\udcff"}}}')""",
    "wrong-type": 'print(\'gpudoctor {"topic": "launch", "facts": {"variables": ["RANK"]}}\')',
    "wrong-depth": 'print(\'gpudoctor {"topic": "launch", "facts": 7}\')',
    "no-facts": 'print(\'gpudoctor {"topic": "launch"}\')',
    "topic-is-a-list": 'print(\'gpudoctor {"topic": ["launch"], "facts": {}}\')',
    "nested-without-end": 'print(\'gpudoctor {"topic": "launch", "facts": \' + "[" * 200000)',
    "not-a-number": 'print(\'gpudoctor {"topic": "launch", "facts": NaN}\')',
}


@pytest.mark.parametrize("code", GARBAGE.values(), ids=GARBAGE.keys())
def test_an_answer_that_cannot_be_read_is_a_failure_that_says_so(
    script_probe: Make, here: Patient, code: str
) -> None:
    snapshot = collect([script_probe(code)], here)
    result = only(snapshot)
    assert result.status is ProbeStatus.FAILED
    assert (result.reason or "").startswith("its answer cannot be read: ")
    assert snapshot.facts == {}


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.write(1, bytes(range(256)) * 1000)",
        'print(\'gpudoctor: {"topic": "launch"}\'); print("gpudoctor"); print()',
        'print(\'gpudoctor {"topic": "gpus", "facts": {}}\')',
        'print(\'gpudoctor {"topic": "nobody knows it", "facts": {}}\')',
        "print('gpudoctor {\"topic\": 7, \"facts\": {}}'); print('gpudoctor {}')",
    ],
    ids=["bytes", "almost-the-mark", "another-probes-topic", "unknown-topic", "no-topic"],
)
def test_what_is_not_its_own_answer_is_nobodys(script_probe: Make, here: Patient, code: str) -> None:
    snapshot = collect([script_probe(code)], here)
    assert only(snapshot).reason == "it gave no answer"
    assert snapshot.facts == {}
    assert only(collect([script_probe(code + "\nprint()\n" + GOOD)], here)).status is ProbeStatus.OK


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood_ends_in_time(script_probe: Make, here: Patient, stream: int) -> None:
    code = f"import os\nwhile True: os.write({stream}, b'gpudoctor? ' * 6000)"
    begun = time.monotonic()
    result = only(collect([script_probe(code, deadline=2)], here))
    assert time.monotonic() - begun < 3
    assert result.status in (ProbeStatus.CRASHED, ProbeStatus.TIMEOUT)
    assert result.reason


def test_last_words_without_end_are_cut(script_probe: Make, here: Patient) -> None:
    result = only(collect([script_probe("import sys; sys.stderr.write('x' * 100000); sys.exit(1)")], here))
    assert len(result.reason or "") <= 500


def test_probes_run_side_by_side_and_one_that_hangs_costs_its_own_deadline(
    script_probe: Make, registry: Registry, here: Patient
) -> None:
    hanging = script_probe("import time; time.sleep(60)", topics=["torch"], deadline=3)
    crashing = script_probe("import os; os.abort()", name="crashing", topics=["distributions"])
    real = [p for p in registry.probes if p.name in ("launch", "interfaces", "host")]
    begun = time.monotonic()
    snapshot = collect([hanging, crashing, *real], here)
    assert time.monotonic() - begun < 4
    status = {p.name: p.status for p in snapshot.probes}
    assert status == {
        "torch": ProbeStatus.TIMEOUT,
        "distributions": ProbeStatus.CRASHED,
        "launch": ProbeStatus.OK,
        "interfaces": ProbeStatus.OK,
        "host": ProbeStatus.OK,
    }
    assert snapshot.facts.keys() == {"launch", "interfaces", "host"}


def test_the_timeout_lowers_a_deadline_and_never_raises_it(script_probe: Make, here: Patient) -> None:
    code = "import time; time.sleep(60)"
    assert only(collect([script_probe(code, deadline=60)], here, timeout=0.5)).reason == "no answer in 0.5 s"
    assert only(collect([script_probe(code, deadline=0.5)], here, timeout=60)).reason == "no answer in 0.5 s"


def test_progress_names_what_runs_and_what_it_does(script_probe: Make, here: Patient) -> None:
    code = 'import time; print(\'gpudoctor {"doing": "waiting"}\', flush=True); time.sleep(0.5)\n' + GOOD
    told: list[dict[str, str]] = []
    collect([script_probe(code + 'print(\'gpudoctor {"doing": "done"}\')')], here, progress=told.append)
    assert {"hostile": "waiting"} in told


def test_a_probe_of_gpudoctors_own_is_safe_from_the_working_folder(
    tmp_path: Path, registry: Registry, here: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.py", "msgspec.py", "psutil.py", "os.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    own = [p for p in registry.probes if p.script is None]
    snapshot = collect(own, here)
    assert {p.name: p.status for p in snapshot.probes if p.status is ProbeStatus.CRASHED} == {}


def test_collecting_leaves_no_file_behind(
    tmp_path: Path, registry: Registry, here: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module beside the patient must not be compiled into __pycache__."""
    (tmp_path / "torch.py").write_text("__version__ = '0'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    collect([p for p in registry.probes if p.script], here)
    assert [p.name for p in tmp_path.iterdir()] == ["torch.py"]


def test_the_patient_keeps_its_own_variables_and_path(
    tmp_path: Path, registry: Registry, here: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = collect([p for p in registry.probes if "python" in p.topics], here).get(Python)
    assert python is not None
    assert python.search_path[:2] == ["", str(tmp_path)]
    assert (python.chosen, python.by_default) == ("the tests' own", False)


INTERRUPTED = """
import sys
from pathlib import Path
from gpudoctor.child import adopt_orphans
from gpudoctor.collect import collect
from gpudoctor.facts import Launch
from gpudoctor.interpreter import Patient
from gpudoctor.registry import Probe, Registry
adopt_orphans()
hanging = Probe("hanging", {"launch": Launch}, "", Path(sys.argv[2]), 60)
probes = [hanging, *(p for p in Registry().probes if p.name in ("torch", "interfaces"))]
collect(probes, Patient(sys.executable, ""))
"""


def test_an_interrupt_leaves_no_process_within_a_second(
    tmp_path: Path,
    processes_of: Callable[[str], list[psutil.Process]],
    wait_for: Callable[[Callable[[], bool], float], float],
) -> None:
    """One that ignores SIGTERM included, and its child in a session of its own."""
    there, script = tmp_path / "there", tmp_path / f"hanging-{uuid.uuid4()}.py"
    script.write_text(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"if os.fork() == 0: os.setsid(); open({str(there)!r}, 'w').close()\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", INTERRUPTED, "", str(script)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as harness:
        try:
            wait_for(there.exists, 10)
            # A probe that is a fork bears the command line of what it was forked from, while it runs.
            assert len(processes_of(str(script))) in (3, 4)
            family = psutil.Process(harness.pid).children(recursive=True)
            harness.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                harness.wait(1.2)  # GRACE, and what a busy machine needs on top
            assert harness.poll() is not None
            assert [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []
            assert processes_of(str(script)) == []
        finally:
            harness.kill()
            harness.communicate()


@pytest.mark.parametrize("executable", ["/nonexistent/python", os.devnull])
def test_a_patient_that_cannot_be_run_fails_its_own_probes_alone(registry: Registry, executable: str) -> None:
    probes = [p for p in registry.probes if p.script or p.name == "launch"]
    snapshot = collect(probes, Patient(executable, "--python"))
    results = {p.name: p for p in snapshot.probes}
    assert results["launch"].status is ProbeStatus.OK
    for topic in ("python", "distributions", "torch", "torchvision"):
        assert results[topic].status is ProbeStatus.CRASHED
        assert (results[topic].reason or "").startswith("cannot be run: ")


def test_a_script_may_give_what_it_does_next_a_shorter_deadline(script_probe: Make, here: Patient) -> None:
    code = (
        "import time, json\n"
        "def say(**m): print('gpudoctor ' + json.dumps(m), flush=True)\n"
        "say(doing='slow'); time.sleep(1.5); say(doing='cuInit', seconds=1); time.sleep(60)\n"
    )
    begun = time.monotonic()
    result = only(collect([script_probe(code, deadline=30)], here))
    assert time.monotonic() - begun < 8
    assert result.status is ProbeStatus.TIMEOUT
    assert (result.reason or "").endswith("during cuInit")


def test_a_shorter_deadline_ends_with_what_it_was_for(script_probe: Make, here: Patient) -> None:
    code = (
        "import time, json\n"
        "def say(**m): print('gpudoctor ' + json.dumps(m), flush=True)\n"
        "say(doing='cuInit', seconds=1); say(doing='slow'); time.sleep(1.5)\n"
        "say(topic='launch', facts={'variables': {}}); say(doing='done')\n"
    )
    assert only(collect([script_probe(code, deadline=30)], here)).status is ProbeStatus.OK
