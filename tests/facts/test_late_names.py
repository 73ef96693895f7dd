"""Names of facts are imported when they are asked for: those of the type checker and those of Python are the same."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import gpudoctor.facts


def test_what_is_imported_late_is_what_the_type_checker_reads():
    tree = ast.parse(Path(gpudoctor.facts.__file__).read_text())
    typed = {
        (alias.name, node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gpudoctor.facts.")
        for alias in node.names
    }
    assert {(name, f"gpudoctor.facts.{home}") for name, home in gpudoctor.facts.HOMES.items()} == typed
    for name, home in gpudoctor.facts.HOMES.items():
        assert getattr(gpudoctor.facts, name) is getattr(
            importlib.import_module(f"gpudoctor.facts.{home}"), name
        )


def test_a_log_is_explained_without_half_of_them():
    program = (
        "import gpudoctor, sys; gpudoctor.explain('RuntimeError: CUDA error: out of memory\\n')\n"
        "print(sum(name.startswith('gpudoctor.facts.') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert int(done.stdout) < len(gpudoctor.facts.NAMES) / 2, done.stderr
