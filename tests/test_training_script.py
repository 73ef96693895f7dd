"""The scripts that `gpudoctor repro` runs are stand-alone files."""

import ast
import sys

import pytest

from gpudoctor.training_script import PATIENT, SHARED, training_script

MODES = ["single", "dp", "ddp"]


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
    assert SHARED not in imported
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
def test_keeps_every_line_and_hides_no_name(mode: str) -> None:
    own, shared = (PATIENT / f"{mode}.py").read_text(), (PATIENT / f"{SHARED}.py").read_text()
    assert names(training_script(mode)) == names(own) | names(shared)
    assert not names(own) & names(shared)


@pytest.mark.parametrize(
    "mode", ["", "none", "digits_training", "__init__", "../training_script", "single.py"]
)
def test_refuses_what_is_no_mode(mode: str) -> None:
    with pytest.raises(ValueError, match="no training mode"):
        training_script(mode)
