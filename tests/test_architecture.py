"""Who may import whom; what leaves a process; what a module may be called."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = sorted(p for p in (ROOT / "gpudoctor").rglob("*.py") if p.parent.name != "patient")
CHECKS = sorted(p for p in (ROOT / "checks").rglob("*.py") if "reproductions" not in p.parts)
ALLOWED = {
    "facts": {"facts"},
    "probes": {"facts", "probes"},
    "render": {"facts", "model", "render", "snapshot"},
}
"""Folder of the engine -> the parts of the engine that it may import."""
BANNED = {"utils", "util", "helpers", "helper", "manager", "base", "misc", "common"}


def imports(path):
    """Every module that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def parts(path):
    return {name.split(".")[1] for name in imports(path) if name.startswith("gpudoctor.")}


@pytest.mark.parametrize("path", CHECKS, ids=lambda p: p.stem)
def test_a_check_imports_the_model_and_facts_alone(path):
    own = {name for name in imports(path) if name.startswith("gpudoctor")}
    assert own <= {"gpudoctor", "gpudoctor.facts"}
    assert not {name.split(".")[0] for name in imports(path)} & {
        "torch",
        "os",
        "subprocess",
        "socket",
        "time",
    }


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_the_direction_of_dependencies(folder):
    for path in (ROOT / "gpudoctor" / folder).glob("*.py"):
        assert parts(path) <= ALLOWED[folder], path


def test_nobody_imports_the_command_line_or_the_checks():
    for path in [*ENGINE, *CHECKS]:
        names = set(imports(path))
        assert not {n for n in names if n.split(".")[0] in ("gpudoctor_checks", "checks")}, path
        if path.parent.name != "cli" and path.name != "__main__.py":
            assert not {n for n in names if n.startswith("gpudoctor.cli")}, path


def test_only_the_command_line_prints():
    for path in [*ENGINE, *CHECKS]:
        if path.parent.name == "cli":
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


def test_no_module_is_a_drawer():
    for path in [*ENGINE, *CHECKS, *(ROOT / "tests").rglob("*.py")]:
        if "fabric_manager" in path.stem:  # a program of NVIDIA's has that name
            continue
        assert not BANNED & set(path.stem.split("_")), path


def test_what_runs_under_the_patient_is_standard_library_and_torch_in_the_syntax_of_3_8():
    allowed = {"torch", "torchvision", "digits_training"}
    import sys

    for path in (ROOT / "gpudoctor/patient").glob("*.py"):
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        for name in imports(path):
            assert name.split(".")[0] in allowed | sys.stdlib_module_names, (path, name)
        assert tree is not None


def test_nothing_unpickles():
    for path in ENGINE:
        names = set(imports(path))
        assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}, path
        calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "eval"], path
