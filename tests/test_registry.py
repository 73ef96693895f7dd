"""Checks and probes through entry points and from local folders; a broken one is a line, never the end."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.collect import collect
from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Torch
from gpudoctor.interpreter import Patient
from gpudoctor.model import FAMILIES, Severity
from gpudoctor.registry import DEADLINE, Registry, Unknown
from gpudoctor.report import CheckStatus, ProbeStatus

Install = Callable[..., None]

CHECK = '''"""The flux capacitor is empty.

## What happens

Nothing.
"""
from collections.abc import Iterator
from gpudoctor import Check, Finding, Fix, Severity
from {facts} import {kind}

check = Check(severity=Severity.WARNING, fixes=[Fix("Fill it", "fill")])

@check.environment
def environment(fact: {kind}) -> Iterator[Finding]:
    yield check.found(f"it is {{fact.{field}}}")
'''
SYMPTOM = (
    '"""A title.\\n"""\nfrom gpudoctor import Check, Severity\n'
    'check = Check(severity=Severity.ERROR, symptoms=["{symptom}"])\n'
)
LOCAL = CHECK.format(facts="gpudoctor.facts", kind="Torch", field="version")


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Install a package by hand: its modules, and a dist-info folder with its entry points."""

    def install(name: str, entry_points: str, modules: dict[str, str]) -> None:
        for module, text in modules.items():
            path = tmp_path / module
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)

    return install


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[str], Any]:
    """Evaluate an expression about a fresh registry in a process that sees what was installed."""

    def ask(expression: str) -> Any:
        code = (
            "import json, sys; from gpudoctor.registry import *; from gpudoctor.collect import collect;"
            "from gpudoctor.diagnose import diagnose; from gpudoctor.interpreter import Patient;"
            "lines = lambda registry: [f'{r.id} {r.reason}' for r in registry.failed];"
            f"registry = Registry(); print(json.dumps({expression}))"
        )
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        answer = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout.splitlines()[-1])

    return ask


def test_the_built_in_checks_and_probes_come_in_layer_order_and_load(registry: Registry) -> None:
    layers = [name.split(".")[-2] for name, _ in registry.modules.values()]
    assert layers == sorted(layers, key=FAMILIES.index)
    fresh = Registry()
    checks = fresh.checks()
    assert [c.id for c in checks] == list(fresh.modules)
    assert all(c.title and c.page and c.family in FAMILIES for c in checks)
    assert fresh.probes
    assert fresh.failed == []


def test_each_topic_has_one_probe_and_its_own_type(registry: Registry) -> None:
    topics = [topic for probe in registry.probes for topic in probe.topics]
    assert len(topics) == len(set(topics))
    assert {t: k.__name__.lower() for t, k in registry.topics.items()} == {
        t: t.replace("_", "") for t in topics
    }
    assert all(p.script is None or p.script.is_file() for p in registry.probes)
    assert all(p.deadline > 0 for p in registry.probes)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("port-in-used", "port-in-use"), ("prot-in-use", "port-in-use"), ("netwrok", "network")],
)
def test_an_unknown_name_offers_the_nearest(registry: Registry, wrong: str, near: str) -> None:
    for ask in (
        lambda: registry.check(wrong),
        lambda: registry.select((wrong,)),
        lambda: registry.select((), (wrong,)),
    ):
        with pytest.raises(Unknown) as refused:
            ask()
        assert str(refused.value) == f"no check is named {wrong!r}; did you mean {near!r}?"


def test_a_name_that_resembles_nothing_gets_no_guess(registry: Registry) -> None:
    with pytest.raises(Unknown, match=r"^no check is named 'zzzzzz'$"):
        registry.check("zzzzzz")


def test_selection_by_id_and_by_family(registry: Registry) -> None:
    network = {id for id, (name, _) in registry.modules.items() if name.split(".")[-2] == "network"}
    assert "port-in-use" in network
    assert set(registry.select(("network",))) == network
    assert registry.select(("port-in-use",)) == ["port-in-use"]
    assert set(registry.select((), ("network",))) == set(registry.modules) - network
    assert set(registry.select(("network",), ("port-in-use",))) == network - {"port-in-use"}
    assert registry.select() == list(registry.modules)
    assert registry.select(("hardware",)) == [
        i for i in registry.modules if ".hardware." in registry.modules[i][0]
    ]


# Plug-ins


def test_a_third_partys_check_and_probe_come_through_the_same_door(
    install: Install, asked: Callable[[str], Any]
) -> None:
    install(
        "acme",
        "[gpudoctor.checks]\nacme = acme_checks\n[gpudoctor.probes]\nacme = acme_probes\n",
        {
            "acme_facts.py": "from msgspec import Struct\nclass FluxState(Struct, frozen=True):\n    level: int\n",
            "acme_checks/__init__.py": "",
            "acme_checks/hardware/__init__.py": "",
            "acme_checks/hardware/flux_empty.py": CHECK.format(
                facts="acme_facts", kind="FluxState", field="level"
            ),
            "acme_probes/__init__.py": "",
            "acme_probes/flux_state.py": (
                "from acme_facts import FluxState\ndeadline = 7.5\n"
                "def probe() -> FluxState:\n    return FluxState(level=0)\n"
            ),
        },
    )
    assert asked("registry.modules['flux-empty']") == ["acme_checks.hardware.flux_empty", None]
    assert asked("[registry.check('flux-empty').family, registry.check('flux-empty').title]") == [
        "hardware",
        "The flux capacitor is empty",
    ]
    assert "port-in-use" in asked("list(registry.modules)")
    probe = "next(p for p in registry.probes if p.name == 'flux_state')"
    assert asked(f"{probe}.deadline") == 7.5
    report = f"diagnose(collect([{probe}], Patient(sys.executable, '')), [registry.check('flux-empty')])"
    assert asked(f"[f.message for f in {report}.findings]") == ["it is 0"]
    assert asked("registry.checks() and registry.failed") == []


def test_a_third_partys_probe_that_fails_gives_its_reason_to_the_check(
    install: Install, asked: Callable[[str], Any]
) -> None:
    install(
        "acme",
        "[gpudoctor.probes]\nacme = acme_probes\n[gpudoctor.checks]\nacme = acme_checks\n",
        {
            "acme_facts.py": "from msgspec import Struct\nclass FluxState(Struct, frozen=True):\n    level: int\n",
            "acme_checks/__init__.py": "",
            "acme_checks/hardware/__init__.py": "",
            "acme_checks/hardware/flux_empty.py": CHECK.format(
                facts="acme_facts", kind="FluxState", field="level"
            ),
            "acme_probes/__init__.py": "",
            "acme_probes/flux_state.py": (
                "from acme_facts import FluxState\ndef probe() -> FluxState:\n    raise OSError('no sensor')\n"
            ),
        },
    )
    probe = "[p for p in registry.probes if p.name == 'flux_state']"
    report = f"diagnose(collect({probe}, Patient(sys.executable, '')), [registry.check('flux-empty')])"
    (result,) = asked(f"[[c.status.value, c.reason] for c in {report}.checks]")
    assert result[0] == "unknown"
    assert "no sensor" in result[1]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('licence expired')", "RuntimeError: licence expired"),
        ("import nonexistent_dependency", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("import sys; sys.exit('goodbye')", "SystemExit: goodbye"),
    ],
)
@pytest.mark.parametrize("group", ["checks", "probes"])
def test_a_plug_in_that_fails_on_import_is_one_line_and_the_rest_goes_on(
    install: Install, asked: Callable[[str], Any], code: str, words: str, group: str
) -> None:
    install("evil", f"[gpudoctor.{group}]\nevil = evil\n", {"evil/__init__.py": code})
    modules, probes, trouble = asked("[list(registry.modules), len(registry.probes), lines(registry)]")
    assert "port-in-use" in modules
    assert probes == len(Registry().probes)
    assert len(trouble) == 1
    assert trouble[0].startswith("plug-in evil (evil) cannot be loaded: ")
    assert words in trouble[0]


@pytest.mark.parametrize("value", ["nonexistent", "plain", "json:dumps"])
def test_an_entry_point_that_names_no_package_is_one_line(
    install: Install, asked: Callable[[str], Any], value: str
) -> None:
    install("odd", f"[gpudoctor.checks]\nodd = {value}\n", {"plain.py": "check = 7\n"})
    modules, trouble = asked("[list(registry.modules), lines(registry)]")
    assert "port-in-use" in modules
    assert len(trouble) == 1
    assert "plug-in odd" in trouble[0]


def test_one_broken_module_of_a_plug_in_hides_none_of_its_others(
    install: Install, asked: Callable[[str], Any]
) -> None:
    install(
        "acme",
        "[gpudoctor.checks]\nacme = acme_checks\n[gpudoctor.probes]\nacme = acme_probes\n",
        {
            "acme_checks/__init__.py": "",
            "acme_checks/data/__init__.py": "",
            "acme_checks/data/good_one.py": LOCAL,
            "acme_checks/data/raises.py": "raise RuntimeError('bad day')",
            "acme_checks/data/no_check.py": '"""A title."""\ncheck = "something else"\n',
            "acme_probes/__init__.py": "",
            "acme_probes/raises.py": "raise RuntimeError('bad night')",
            "acme_probes/no_probe.py": "x = 1",
            "acme_probes/no_script.py": "script = 'gone.py'\ntopics = {}\n",
            "acme_probes/good.py": "from gpudoctor.facts import Torch\ndef probe() -> Torch:\n    return Torch()\n",
        },
    )
    expression = "[[c.id for c in registry.checks()], [p.name for p in registry.probes], lines(registry)]"
    checks, probes, trouble = asked(expression)
    assert "good-one" in checks
    assert "port-in-use" in checks
    assert "good" in probes
    assert "torch" in probes
    assert len(trouble) == 5
    for words in (
        "acme_checks/data/raises.py:1: RuntimeError: bad day",
        "acme_checks/data/no_check.py:1: it defines no `check`",
        "acme_probes/raises.py:1: RuntimeError: bad night",
        "probe acme_probes.no_probe cannot be loaded: ",
        "its script gone.py does not exist",
    ):
        assert any(words in line for line in trouble), words


# Local folders


def test_local_files_are_checks_of_their_folders_family(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(LOCAL)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "my_torch.py").write_text(LOCAL)
    (tmp_path / "_private.py").write_text("raise RuntimeError")
    (tmp_path / "reproductions" / "mine").mkdir(parents=True)
    (tmp_path / "reproductions" / "stray.py").write_text("raise RuntimeError")
    registry = Registry((tmp_path,))
    assert (registry.check("mine").family, registry.check("my-torch").family) == ("local", "build")
    assert registry.check("mine").title == "The flux capacitor is empty"
    assert "stray" not in registry.modules
    assert "-private" not in registry.modules
    assert registry.reproduction("mine") == tmp_path / "reproductions" / "mine"
    assert registry.reproduction("my-torch") is None
    assert registry.select(("local",)) == ["mine"]
    assert list(registry.modules)[-1] == "mine"
    registry.checks()
    assert registry.failed == []


def test_a_local_check_gets_its_facts_by_type_like_any_other(tmp_path: Path, here: Patient) -> None:
    (tmp_path / "mine.py").write_text(
        LOCAL.replace("from collections", "from __future__ import annotations\nfrom collections")
    )
    check = Registry((tmp_path,)).check("mine")
    snapshot = collect([], here)
    snapshot.facts["torch"] = Torch(version="2.9")
    (finding,) = diagnose(snapshot, [check]).findings
    assert (finding.id, finding.message, finding.severity) == ("mine", "it is 2.9", Severity.WARNING)
    (result,) = diagnose(collect([], here), [check]).checks
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "torch: not in this report")


def test_a_folder_that_lies_below_one_named_reproductions_counts(tmp_path: Path) -> None:
    folder = tmp_path / "reproductions" / "mine"
    folder.mkdir(parents=True)
    (folder / "some_check.py").write_text(LOCAL)
    assert "some-check" in Registry((folder,)).modules


def test_a_local_file_with_a_syntax_error_says_where(tmp_path: Path) -> None:
    (tmp_path / "good_one.py").write_text(LOCAL)
    (tmp_path / "bad_one.py").write_text('"""A title."""\n\ncheck = Check(\n')
    registry = Registry((tmp_path,))
    assert "good-one" in [c.id for c in registry.checks(["good-one", "bad-one"])]
    (failed,) = registry.failed
    assert (failed.id, failed.status) == ("bad-one", CheckStatus.CRASHED)
    assert (
        failed.reason == f"cannot be loaded: {tmp_path / 'bad_one.py'}:3: SyntaxError: '(' was never closed"
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys\nsys.exit(0)", ":2: SystemExit: 0"),
        ("raise GeneratorExit", ":1: GeneratorExit"),
        (SYMPTOM.format(symptom="(?i)out of luck"), ":3: a symptom cannot be searched for: '(?i)out of luck' ig"),
        (SYMPTOM.format(symptom=r"\\d+"), "holds no literal of 4 characters or more"),
        (SYMPTOM.format(symptom="failure (again"), ":3: a symptom cannot be searched for: missing ), unterminated"),
    ],
)  # fmt: skip
def test_whatever_a_local_file_does_at_import_is_one_line_with_file_and_line(tmp_path, code, words):
    (tmp_path / "bad_one.py").write_text(code)
    (tmp_path / "good_one.py").write_text(LOCAL)
    registry = Registry((tmp_path,))
    assert [check.id for check in registry.checks(["bad-one", "good-one"])] == ["good-one"]
    (failed,) = registry.failed
    assert str(failed.reason).startswith(f"cannot be loaded: {tmp_path / 'bad_one.py'}:")
    assert words in str(failed.reason)


def test_what_a_local_file_prints_at_import_does_not_reach_standard_output(tmp_path, capsys):
    (tmp_path / "chatty.py").write_text(LOCAL + "print('hello')\n")
    Registry((tmp_path,)).check("chatty")
    assert capsys.readouterr() == ("", "hello\n")


def test_a_local_file_is_executed_once(tmp_path):
    counted = f"import os\nos.write(os.open({str(tmp_path / 'ran')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), b'x')\n"
    (tmp_path / "mine.py").write_text(LOCAL + counted)
    registry = Registry((tmp_path,))
    for _ in range(2):
        registry.check("mine")
        registry.checks()
        registry.get("mine")
    assert (tmp_path / "ran").read_text() == "x"


def test_a_plug_ins_check_replaces_a_built_in_one(install, asked):
    install(
        "acme",
        "[gpudoctor.checks]\nacme = acme_checks\n",
        {
            "acme_checks/__init__.py": "",
            "acme_checks/network/__init__.py": "",
            "acme_checks/network/port_in_use.py": LOCAL,
        },
    )
    assert asked("registry.modules['port-in-use']") == ["acme_checks.network.port_in_use", None]


def test_a_local_check_replaces_a_built_in_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "port_in_use.py").write_text(LOCAL)
    assert Registry((tmp_path,)).check("port-in-use").title == "The flux capacitor is empty"
    assert Registry().check("port-in-use").title != "The flux capacitor is empty"


def test_an_empty_or_missing_folder_adds_nothing(tmp_path: Path) -> None:
    assert Registry((tmp_path, tmp_path / "gone")).modules == Registry().modules


def test_a_probe_that_sets_no_deadline_has_the_usual_one(registry: Registry, here: Patient) -> None:
    launch = next(p for p in registry.probes if p.name == "launch")
    assert launch.deadline == DEADLINE
    assert [p.status for p in collect([launch], here).probes] == [ProbeStatus.OK]


def test_where_no_plug_in_is_installed_the_entry_points_are_not_read(asked: Callable[[str], Any]) -> None:
    assert asked("[len(registry.modules) > 100, 'importlib.metadata' in sys.modules]") == [True, False]


def test_a_plug_in_in_an_archive_is_found(asked: Callable[[str], Any], tmp_path: Path) -> None:
    archive = tmp_path / "plugged.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("plugged/__init__.py", "")
        file.writestr(
            "plugged-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n"
        )
        file.writestr("plugged-1.0.dist-info/entry_points.txt", "[gpudoctor.checks]\nplugged = plugged\n")
    told = f"sys.path.insert(0, {str(archive)!r}) or [p.__name__ for p in registry._packages('gpudoctor.checks')]"
    assert "plugged" in asked(told)


def test_several_names_in_one_text() -> None:
    registry = Registry()
    assert registry.select(("port-in-use,cuda-fork", "cuda-oom")) == registry.select(
        ("port-in-use", "cuda-fork", "cuda-oom")
    )
    assert set(registry.select((), ("hardware,network",))) == set(
        registry.select((), ("hardware", "network"))
    )
