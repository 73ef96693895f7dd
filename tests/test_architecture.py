"""Who may import whom; what leaves a process; what a module may be called."""

import ast
import functools
import re
from pathlib import Path

from gpudoctor.proving.training_script import PARTS

ROOT = Path(__file__).parent.parent
ENGINE = sorted(p for p in (ROOT / "gpudoctor").rglob("*.py") if p.parent.name != "patient")
CHECKS = sorted(p for p in (ROOT / "checks").rglob("*.py") if "reproductions" not in p.parts)
FLOORS = {
    # words and data
    "pattern_cache": "",
    "patterns": "pattern_cache",
    "wordings": "",
    "text": "patterns",
    "bad_input": "",
    "garbage": "",
    "facts": "patterns",
    "field_types": "",
    "interruption": "",
    "model": "field_types",
    "report": "model",
    "snapshot": "facts report",
    "guard": "interruption model report text",
    "grounds": "model pattern_cache patterns registry report text",
    "fitness": "facts report snapshot text",
    "script_verdict": "facts model report text",
    "verdict": "facts fitness grounds model registry report script_verdict snapshot text",
    "diagnose": "facts guard launch_command model registry report snapshot verdict text",
    "correlation": "facts launch_command model",
    # the machine
    "patient": "",
    "fork": "",
    "child": "fork text",
    "process_memory": "",
    "output_tail": "",
    "thread_stacks": "",
    "process_family": "text thread_stacks",
    "standstill": "output_tail process_family",
    "passthrough": "output_tail process_family process_memory standstill",
    "interpreter": "bad_input",
    "patient_process": "child interpreter",
    "kernel_lines": "facts patterns",
    "probes": "facts kernel_lines",
    "literals": "",
    "launch_command": "model patterns",
    "check_loading": "guard literals model",
    "registry": "bad_input check_loading guard model report",
    "collect": "child facts interpreter patient_process probes registry report snapshot",
    # what others wrote
    "importers.nvidia_smi": "facts",
    "importers": "importers.nvidia_smi bad_input facts kernel_lines report snapshot text",
    "logs": "bad_input code correlation diagnose facts guard importers launch_command literals model "
    "output_tail pattern_cache patterns redact.name_forms registry report snapshot text verdict wordings",
    "checkpoint.tree": "bad_input facts",
    "checkpoint.pickle": "checkpoint.tree facts text",
    "checkpoint.formats": "bad_input checkpoint.pickle checkpoint.tree facts garbage text",
    "checkpoint.description": "checkpoint.formats checkpoint.tree facts text",
    "checkpoint.repair": "checkpoint.description checkpoint.formats checkpoint.pickle checkpoint.tree facts text",
    "checkpoint.look": "checkpoint.description checkpoint.formats checkpoint.tree facts report text",
    "checkpoint.comparison": "checkpoint.description checkpoint.formats checkpoint.look checkpoint.tree child facts "
    "interpreter patient_process report text",
    "checkpoint.inspection": "checkpoint.comparison checkpoint.formats checkpoint.look bad_input diagnose facts model "
    "registry report snapshot",
    "checkpoint": "checkpoint.comparison checkpoint.description checkpoint.formats checkpoint.repair checkpoint.tree",
    "code": "bad_input child facts fork garbage guard model registry report text verdict",
    "recognition": "bad_input checkpoint.formats facts report",
    "evidence": "bad_input checkpoint.formats checkpoint.look code facts logs recognition registry report "
    "snapshot",
    # runs
    "proving": "",
    "proving.scripts": "interpreter patient_process",
    "catalogue": "model registry proving.scripts",
    "proving.needs": "facts snapshot",
    "proving.state_proof": "child interpreter model report proving.scripts",
    "proving.reproduction": "child facts interpreter logs model proving.needs patient_process report proving.scripts "
    "snapshot proving.state_proof",
    "proving.training_script": "",
    "proving.patience": "",
    "proving.stacks": "child text thread_stacks",
    "proving.training": "bad_input child interpreter proving.patience patient_process report proving.reproduction "
    "proving.stacks proving.training_script",
    "proving.side_by_side": "child fork report proving.scripts",
    "proving.warm_patient": "child interpreter proving.scripts",
    "proving.proofs": "bad_input collect facts interpreter logs model registry report proving.reproduction "
    "proving.side_by_side snapshot proving.training proving.training_script verdict proving.warm_patient",
    "proving.scaling": "bad_input collect facts interpreter patient_process registry report snapshot "
    "proving.training proving.training_script verdict",
    "deep": "child facts interpreter patient_process report snapshot text",
    "complaints": "diagnose facts guard logs model registry report verdict",
    "environment": "bad_input collect complaints correlation deep diagnose evidence facts importers interpreter logs "
    "model recognition registry report snapshot verdict",
    "ticketing": "environment proving.proofs registry report",
    # how it is given out
    "redact.word_lists": "patterns",
    "redact.identifiers": "patterns redact.word_lists",
    "redact.name_forms": "pattern_cache patterns redact.identifiers redact.word_lists",
    "redact": "facts model patterns redact.identifiers redact.name_forms redact.word_lists report snapshot text",
    "render": "catalogue facts grounds model registry report snapshot text",
    "gpudoctor": "bad_input checkpoint checkpoint.inspection code environment logs model proving.proofs report "
    "proving.scaling text ticketing",
    "cli": "gpudoctor bad_input catalogue checkpoint.inspection checkpoint.repair child code diagnose environment "
    "facts garbage interpreter interruption logs model passthrough pattern_cache proving.proofs redact registry render "
    "report proving.scaling proving.scripts text ticketing proving.training proving.training_script verdict",
    "cli.checkpoint": "cli bad_input checkpoint.inspection checkpoint.repair facts garbage registry text",
    "__main__": "cli",
}
"""Floor -> the floors that it may import.

A floor is a folder of gpudoctor or a module; `gpudoctor` is the package's own ``__init__``.
"""
BANNED = {"utils", "util", "helpers", "helper", "manager", "base", "misc", "common"}


def by_position(nodes):
    """Every line that picks a fix by where it stands: ``fixes[1]``, ``fixes[:2]``, ``first, second = check.fixes``."""

    def fixes(node):
        if isinstance(node, ast.Call) and node.args:  # list(check.fixes), next(iter(check.fixes))
            return fixes(node.args[0])
        return getattr(node, "attr", getattr(node, "id", "")) == "fixes"

    for node in nodes:
        match node:
            case (
                ast.Subscript(value=value)
                | ast.Assign(targets=[ast.Tuple() | ast.List()], value=value)
                | ast.Call(func=ast.Name(id="next"), args=[value, *_])
            ) if fixes(value):
                yield node.lineno


@functools.cache
def read(path):
    """A file's imports, the names of the functions that it calls, and where it picks fixes by position; parsed once."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    calls = (n.func for n in nodes if isinstance(n, ast.Call))
    found = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    names = frozenset(called.id for called in calls if isinstance(called, ast.Name))
    return found, names, list(by_position(nodes))


def imports(path):
    """Every module that a file imports, at its top or inside a function."""
    for node in read(path)[0]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def module_name(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted((ROOT / "gpudoctor").rglob("*.py"))}


def imported(path):
    """The modules of gpudoctor that a file imports anywhere, for types alone or inside a function too."""
    for node in read(path)[0]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in names)


@functools.cache
def graph():
    """Module -> the modules that it imports; made by the test that asks, not where tests are collected."""
    return {name: sorted(set(imported(path)) - {name}) for name, path in MODULES.items()}


def floor(module):
    """The floor that a module is on: its own, or the nearest folder's that has one."""
    name = module.removeprefix("gpudoctor.")
    while name not in FLOORS and "." in name:
        name = name.rpartition(".")[0]
    return name


def circle(ways_on, start):
    """The shortest way from a node back to itself, both ends included; ``None`` without one."""
    ways = [[start]]
    seen = set()
    for way in ways:
        for after in ways_on[way[-1]]:
            if after == start:
                return [*way, start]
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return None


def circles(ways_on):
    """Each circle once, as the list of nodes that are in one with each other."""
    found = {}
    for node in ways_on:
        if way := circle(ways_on, node):
            found.setdefault(frozenset(way), way)
    return sorted(found.values(), key=len)


def test_a_check_imports_the_model_and_facts_alone():
    for path in CHECKS:
        own = {name for name in imports(path) if name.startswith("gpudoctor")}
        assert own <= {"gpudoctor", "gpudoctor.facts", "gpudoctor.wordings"}, path
        others = {name.split(".")[0] for name in imports(path)}
        assert not others & {"torch", "os", "subprocess", "socket", "time"}, path


def test_a_check_picks_a_fix_by_its_name():
    """A fix that is put before others would change what a finding says."""
    assert {str(path): lines for path in CHECKS if (lines := read(path)[2])} == {}


def test_a_fix_that_is_picked_by_position_is_seen():
    for line in (
        "x = check.fixes[1]",
        "x = check.fixes[:2]",
        "x = [*check.fixes[1:]]",
        "fixes = list(check.fixes)\nfixes[0] = x",
        "first, second = check.fixes",
        "first, *rest = list(check.fixes)",
        "x = next(iter(check.fixes))",
    ):
        assert list(by_position(ast.walk(ast.parse(line)))), line


def test_an_example_is_picked_by_its_name():
    """One that is put before others would change which text a test is about."""
    counted = re.compile(r"list\(EXAMPLES|iter\(EXAMPLES|\b(?:EXAMPLES|TEXTS|NOT_THIS|FLAGGED|FINE)\[-?\d")
    files = (ROOT / "tests/checks").glob("test_*.py")
    assert [path.name for path in files if counted.search(path.read_text())] == []


def test_a_module_imports_what_lies_below_it():
    for module in sorted(MODULES):
        own = floor(module)
        assert own in FLOORS, f"{module} is on no floor: give it one"
        for other in graph()[module]:
            assert floor(other) in {own, *FLOORS[own].split()}, f"{module} imports {other}"


def test_every_floor_is_there():
    assert {floor(module) for module in MODULES} == set(FLOORS)


def test_the_stairs_go_one_way():
    assert circles({own: others.split() for own, others in FLOORS.items()}) == []


def test_modules_do_not_import_each_other_in_a_circle():
    found = circles(graph())
    assert not found, "\n".join(" -> ".join(way) for way in found)


def test_circles_are_found():
    round_about = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": []}
    assert circles(round_about) == [["a", "b", "c", "a"]]
    assert circles({"a": ["b"], "b": []}) == []


def is_command_line(path):
    return path.is_relative_to(ROOT / "gpudoctor/cli")


def test_nobody_imports_the_command_line_or_the_checks():
    for path in [*ENGINE, *CHECKS]:
        names = set(imports(path))
        assert not {n for n in names if n.split(".")[0] in ("gpudoctor_checks", "checks")}, path
        if not is_command_line(path) and path.name != "__main__.py":
            assert not {n for n in names if n.startswith("gpudoctor.cli")}, path


def test_only_the_command_line_prints():
    for path in [*ENGINE, *CHECKS]:
        if is_command_line(path):
            continue
        assert "print" not in read(path)[1], path


def test_no_module_is_a_drawer():
    for path in [*ENGINE, *CHECKS, *(ROOT / "tests").rglob("*.py")]:
        if "fabric_manager" in path.stem:  # a program of NVIDIA's has that name
            continue
        assert not BANNED & set(path.stem.split("_")), path


def test_a_docstring_says_what_is_returned():
    for path in [*ENGINE, *CHECKS, *(ROOT / "tests").rglob("*.py")]:
        assert not path.read_text().count('"""' + "Tell whether"), f"{path}: write `Return whether ...`"


def test_what_runs_under_the_patient_is_standard_library_and_torch_in_the_syntax_of_3_8():
    allowed = {"torch", "torchvision", *PARTS}
    import sys

    for path in (ROOT / "gpudoctor/patient").glob("*.py"):
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        for name in imports(path):
            assert name.split(".")[0] in allowed | sys.stdlib_module_names, (path, name)
        assert tree is not None


def test_no_two_parts_of_a_training_script_define_one_name():
    """They become one file, where the later would silently take the place of the earlier."""
    owner = {}
    for part in PARTS:
        for node in ast.parse(Path(ROOT, "gpudoctor/patient", f"{part}.py").read_text()).body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            for target in targets:
                for name in [target, *getattr(target, "elts", [])]:
                    said = getattr(name, "name", None) or getattr(name, "id", None)
                    assert said is None or owner.setdefault(said, part) == part, (said, part, owner[said])
    assert len(owner) > 50


def test_nothing_unpickles():
    for path in ENGINE:
        names = set(imports(path))
        assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}, path
        assert "eval" not in read(path)[1], path
