"""The scripts that `gpudoctor repro` runs are stand-alone files."""

import ast
import sys

import pytest

from gpudoctor.proving.training_script import MODES, PARTS, PATIENT, training_script


def names(text: str) -> set[str]:
    """What a script defines at its top level."""
    body = ast.parse(text).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return defined | {
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    }


@pytest.mark.parametrize("mode", MODES)
def test_is_one_file_with_the_modes_docstring_on_top(mode: str) -> None:
    text = training_script(mode)
    module = ast.parse(text, feature_version=(3, 8))
    assert ast.get_docstring(module) == ast.get_docstring(ast.parse((PATIENT / f"{mode}.py").read_text()))
    assert f"{mode}.py" in (ast.get_docstring(module) or "")
    imported = {node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom)}
    assert not imported & set(PARTS)
    assert text.count("if __name__") == 1
    compile(text, mode, "exec")  # among others: no `from __future__` below the top


@pytest.mark.parametrize("mode", MODES)
def test_needs_nothing_but_the_standard_library_and_torch(mode: str) -> None:
    module = ast.parse(training_script(mode))
    packages = {
        alias.name for node in ast.walk(module) if isinstance(node, ast.Import) for alias in node.names
    }
    packages |= {str(node.module) for node in ast.walk(module) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in packages}
    assert tops <= set(sys.stdlib_module_names) | {"torch", "torchvision"}


@pytest.mark.parametrize("mode", MODES)
def test_keeps_every_name_of_its_parts_and_has_none_twice(mode: str) -> None:
    module = ast.parse(training_script(mode))
    defined = [node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(defined) == len(set(defined))
    taken = [part for part in PARTS if names((PATIENT / f"{part}.py").read_text()) & set(defined)]
    files = [PATIENT / f"{name}.py" for name in [mode, *taken]]
    assert set.union(*(names(file.read_text()) for file in files)) == names(training_script(mode))
    assert "mode_run" in taken
    assert ("ranks" in taken) == (mode in ("average", "ddp"))


@pytest.mark.parametrize("mode", ["", "none", "learning", "__init__", "../training_script", "single.py"])
def test_refuses_what_is_no_mode(mode: str) -> None:
    with pytest.raises(ValueError, match="no training mode"):
        training_script(mode)
