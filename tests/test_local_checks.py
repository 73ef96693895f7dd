"""Checks of a site's own: whatever is wrong with one is its own line, and all else goes on as without it."""

import json
import os
import re
import subprocess

import msgspec
import pytest

import gpudoctor
from gpudoctor.interruption import Interrupted
from gpudoctor.model import How, Severity
from gpudoctor.registry import Registry, Unloadable
from gpudoctor.report import CheckStatus, Proof, ProofStatus
from tests.warm_python import warm_gpudoctor

HEAD = (
    '"""T.\n"""\nimport asyncio\n'
    "from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Sighting, Symptom\n"
)
LINE = "the flux capacitor is empty\n"
LOG = "@check.log\ndef log(sighting: Sighting):\n"


def local(folder, fields="", body="", name="mine"):
    """Write a check whose symptom is in `LINE`; `fields` are the arguments that replace its own."""
    own = {"severity": "Severity.ERROR", "symptoms": '["flux capacitor is"]', "message": '"it is empty"'}
    own |= dict([fields.split("=", 1)]) if fields else {}
    arguments = "".join(f"    {field}={value},\n" for field, value in own.items())
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(f"{HEAD}check = Check(\n{arguments})\n{body}")
    return folder


def run(*arguments, text=""):
    return subprocess.run(
        [*warm_gpudoctor(), *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    "fields, words",
    [
        ('fixes=["do it"]', "fixes[0]: 'do it' is no Fix"),
        ('fixes=[Fix("do it", 5)]', "fixes[0]: Fix: Expected `str`, got `int`"),
        ('fixes=Fix("do it")', "fixes: Fix(summary='do it'"),
        ("message=5", "message: 5 is no str"),
        ("symptoms=[123]", "symptoms[0]: 123 is no Symptom"),
        ("symptoms=[Symptom(5)]", "symptoms[0]: Symptom: Expected `str`, got `int`"),
        ('symptoms="flux"', "symptoms: 'flux' is no list"),
        ('follows="port-in-use"', "follows: 'port-in-use' is no list"),
        ("follows=[None]", "follows[0]: None is no str"),
        ('severity="error"', "severity: 'error' is no Severity"),
        ("secondary=1", "secondary: 1 is no bool"),
        ("otherwise=[]", "otherwise: [] is no str"),
    ],
)
def test_a_field_of_another_type_is_told_with_the_line_of_the_check(tmp_path, fields, words):
    registry = Registry((local(tmp_path, fields),))
    with pytest.raises(Unloadable) as error:
        registry.check("mine")
    assert f"{tmp_path}/mine.py:5: TypeError: {words}" in str(error.value)
    assert len(str(error.value)) < 300


def test_a_kind_in_letters_is_the_kind(tmp_path):
    local(tmp_path, 'fixes=[Fix("Ask", "quota", kind="admin")]')
    assert Registry((tmp_path,)).check("mine").fixes[0].kind is gpudoctor.Kind.ADMIN


@pytest.mark.parametrize(
    "fields", ["message=5", "symptoms=[123]", 'fixes=["do it"]', 'follows="port-in-use"']
)
def test_it_spoils_no_command(tmp_path, fields):
    local(tmp_path, fields)
    for arguments, code in (
        (("explain", "-", "--checks", tmp_path, "--json"), 1),
        (("check", "--only", "cuda-oom", "--only", "mine", "--log", "-", "--checks", tmp_path, "--json"), 1),
        (("show", "mine", "--checks", tmp_path), 3),
    ):
        done = run(
            *arguments, text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        )
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr
        assert re.search(r"^gpudoctor: .*mine\.py:5: TypeError", done.stderr), done.stderr
        if code == 1:
            assert json.loads(done.stdout)["verdict"]["primary"] == "cuda-oom"


@pytest.mark.parametrize(
    "body",
    ["", "raise ValueError('no')\n", "import sys\nsys.exit(9)\n", f"{LOG}    raise asyncio.CancelledError\n"],
)
def test_the_exit_code_of_a_command_that_is_run_is_its_own(tmp_path, body):
    local(tmp_path, "fixes=[3]" if not body else "", body)
    done = run("run", "--checks", tmp_path, "--", "sh", "-c", f"echo {LINE.strip()}; exit 7")
    assert (done.returncode, done.stdout) == (7, LINE)
    assert "Traceback" not in done.stderr
    assert "mine.py:" in done.stderr


def test_what_goes_wrong_in_an_explanation_leaves_the_exit_code_alone(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    done = run("run", "-o", folder / "r.json", "--", "sh", "-c", f"rmdir {folder}; exit 7")
    assert done.returncode == 7
    assert re.search(r"^gpudoctor: -o .*r\.json: No such file or directory$", done.stderr, re.MULTILINE)


def test_what_a_check_prints_goes_to_standard_error(tmp_path):
    local(tmp_path, body=f'print("at import")\n{LOG}    print("at work")\n    yield check.found("empty")\n')
    done = run("explain", "-", "--checks", tmp_path, "--json", text=LINE)
    assert json.loads(done.stdout)["verdict"]["primary"] == "mine"
    assert done.stderr == "at import\nat work\n"


BASE = "class Own(BaseException):\n    pass\n"


@pytest.mark.parametrize("raised", ["asyncio.CancelledError", "Own", "GeneratorExit", "SystemExit(0)"])
def test_whatever_a_check_raises_is_its_own_result(tmp_path, raised):
    local(tmp_path, body=f"{BASE}{LOG}    raise {raised}\n")
    local(tmp_path, body=f"{BASE}raise {raised}\n", name="other")
    report = gpudoctor.explain(LINE, checks=[tmp_path])
    results = {result.id: result for result in report.checks}
    assert results.keys() == {"mine", "other"}
    for id, result in results.items():
        assert result.status is CheckStatus.CRASHED
        assert (
            f"{tmp_path}/{id}.py:{14 if id == 'mine' else 12}: {raised.rpartition('.')[2][:8]}"
            in result.reason
        )


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), Interrupted(15)])
def test_who_wants_it_to_end_is_heard(tmp_path, raised):
    local(tmp_path, body=f"{LOG}    raise asyncio.stop\n")
    registry = Registry((tmp_path,))
    registry.check("mine").functions[gpudoctor.Source.LOG].__globals__["asyncio"] = _Raising(raised)
    with pytest.raises(type(raised)):
        gpudoctor.explain(LINE, checks=registry)


class _Raising:
    """A module that is interrupted when it is used."""

    def __init__(self, error):
        self.error = error

    @property
    def stop(self):
        raise self.error


def test_an_exception_that_cannot_say_what_it_is_is_named(tmp_path):
    mute = "class Mute(Exception):\n    def __str__(self):\n        return 1 / 0\n"
    local(tmp_path, body=f"{mute}{LOG}    raise Mute\n")
    (result,) = gpudoctor.explain(LINE, checks=[tmp_path]).checks
    assert result.reason.endswith("mine.py:15: Mute")


def test_a_severity_in_letters_in_a_finding_is_the_severity(tmp_path):
    local(tmp_path, body=f'{LOG}    yield check.found("empty", severity="warning")\n')
    (finding,) = gpudoctor.explain(LINE, checks=[tmp_path]).findings
    assert finding.severity is Severity.WARNING


def test_a_finding_of_message_and_fixes_is_guarded_too(tmp_path):
    body = "class Odd(Check):\n    def found(self, *args, **named):\n        return 1 / 0\n"
    body += 'check = Odd(severity=Severity.ERROR, symptoms=["flux capacitor is"], message="m")\n'
    local(tmp_path, body=body)
    (result,) = gpudoctor.explain(LINE, checks=[tmp_path]).checks
    assert (result.id, result.status) == ("mine", CheckStatus.CRASHED)
    assert "mine.py:12: ZeroDivisionError" in result.reason
    local(tmp_path, body=body.replace("flux", "flex"), name="unrecognised_error")
    (tmp_path / "mine.py").unlink()
    (result,) = gpudoctor.explain(
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: x\n',
        checks=[tmp_path],
    ).checks
    assert (result.id, result.status) == ("unrecognised-error", CheckStatus.CRASHED)


def test_what_is_known_of_a_fix_is_what_its_own_records_say(tmp_path):
    """A check in the place of a built-in one has none of that one's records, and may have records of its own."""
    folder = local(
        tmp_path / "own", 'fixes=[Fix("fill it", "fill --up", proof="fill --up")]', name="port_in_use"
    )
    explained = gpudoctor.explain(LINE, checks=[folder])
    assert explained.findings[0].fixes[0].known is None
    proof = Proof(
        id="port-in-use",
        broken=ProofStatus.FAILED_AS_EXPECTED,
        fixed=ProofStatus.PASSED,
        torch="9.9",
        device="CPU",
    )
    (folder / "proofs").mkdir()
    (folder / "proofs/port-in-use.json").write_bytes(msgspec.json.encode(proof))
    known = gpudoctor.explain(LINE, checks=[folder]).findings[0].fixes[0].known
    assert (known.how, known.by) == (How.SEEN, "torch 9.9 on the CPU")


def test_an_error_in_a_module_that_it_imports_names_the_check(tmp_path, monkeypatch):
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "flux_tables.py").write_text("\n\n1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path / "beside")
    own = local(tmp_path / "own", body="import flux_tables\n")
    with pytest.raises(Unloadable, match=r"own/mine\.py:10: ZeroDivisionError"):
        Registry((own,)).check("mine")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--only", "cuda-oom"), "Nothing was examined"),
        (("--only", "mine", "--log", "-"), "Nothing could be examined: cannot see\\."),
    ],
)
def test_where_nothing_was_examined_it_could_not_do_its_work(tmp_path, arguments, words):
    local(tmp_path, body=f'{LOG}    raise CannotTell("cannot see")\n    yield\n')
    done = run("check", *arguments, "--checks", tmp_path, text=LINE)
    assert re.search(words, done.stdout)
    assert done.returncode == 3
    fine = run("explain", "-", "--checks", tmp_path, text=LINE)  # all others were asked of the log, too
    assert (fine.returncode, "mine" in fine.stdout) == (0, True)


def test_an_error_line_that_is_piped_names_what_was_typed_and_nothing_else_that_is_private(
    tmp_path, monkeypatch
):
    local(tmp_path / "checks", body="raise ValueError('ask jane@acme.example')\n")
    monkeypatch.chdir(tmp_path)
    arguments = ("show", "mine", "--checks", "checks")
    said = run(*arguments).stderr
    assert re.fullmatch(
        r"gpudoctor: check mine: cannot be loaded: path-1/\S*mine\.py:10: ValueError: ask \S*\n", said
    ), said
    assert "jane" not in said
    assert str(tmp_path) not in run("check", *arguments[2:], "--list").stderr
    whole = f"{tmp_path}/checks/mine.py:10: ValueError: ask jane@acme.example"
    assert whole in run(*arguments, "--no-redact").stderr
    typed = run(*arguments[:3], tmp_path / "checks").stderr
    assert f"{tmp_path}/checks/mine.py:10" in typed
    assert "jane" not in typed
    for missing in (f"{tmp_path}/t.log", f"--log={tmp_path}/t.log"):
        assert run("check", missing).stderr == f"gpudoctor: {tmp_path}/t.log: No such file or directory\n"


def test_an_error_line_on_a_terminal_is_as_it_is(tmp_path):
    local(tmp_path, body="1 / 0\n")
    own, terminal = os.openpty()
    subprocess.run(
        [*warm_gpudoctor(), "show", "mine", "--checks", tmp_path], stdout=subprocess.DEVNULL, stderr=terminal,
        timeout=60,
    )  # fmt: skip
    os.close(terminal)
    assert f"{tmp_path}/mine.py:10: ZeroDivisionError" in os.read(own, 4096).decode()
    os.close(own)
