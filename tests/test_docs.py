"""What is generated is current. To write it anew: ``GPUDOCTOR_UPDATE=1 pytest tests/test_docs.py``."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts.topics import MEASURED, PASTED, TOPICS
from gpudoctor.model import FAMILIES, Source
from gpudoctor.registry import Registry
from gpudoctor.render.json import schema
from gpudoctor.render.page import page, severity
from tests.warm_python import warm_environment, warm_python

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs/checks"


def test_the_page_of_every_check_is_what_the_check_says(generated):
    registry = Registry()
    stale = [
        check.id
        for check in registry.checks()
        if not generated(f"docs/checks/{check.id}.md", page(check, registry))
    ]
    assert stale == []


def introduction(family):
    """The words with which a family's page begins: its package's docstring."""
    return importlib.import_module(f"gpudoctor_checks.{family}").__doc__.strip()


def test_the_index_lists_every_check_by_family(generated):
    registry = Registry()
    checks = registry.checks()
    parts = ["# The checks", "By layer; the first broken layer is the likely cause of what fails above it."]
    for family in FAMILIES:
        rows = [f"- [`{c.id}`]({c.id}.md) ({severity(c)}): {c.title}" for c in checks if c.family == family]
        if rows:
            parts += [f"## {family}", introduction(family), "\n".join(rows)]
    assert generated("docs/checks/index.md", "\n\n".join(parts) + "\n")


def test_no_page_is_left_of_a_check_that_is_gone():
    assert {path.stem for path in PAGES.glob("*.md")} == {*Registry().modules, "index"}


def test_the_readme_counts_what_there_is(generated):
    checks = list(Registry().checks())
    machine, code = (sum(s in c.functions for c in checks) for s in (Source.ENVIRONMENT, Source.CODE))
    logs = sum(bool(check.symptoms) for check in checks)
    scripts = len(list((ROOT / "checks/reproductions").glob("*/broken.py")))
    run = len(list((ROOT / "checks/proofs").glob("*.json"))) - 1  # versions.json is of older torches
    said = (ROOT / "README.md").read_text()
    for pattern, numbers in (
        (
            r"\d+( failures are known, )\d+( of them looked for on a machine, )\d+( in logs, )\d+( in scripts)",
            (len(checks), machine, logs, code),
        ),
        (
            r"\d+( have a script that fails and one that does not, and )\d+( of these pairs were run)",
            (scripts, run),
        ),
    ):
        assert re.search(pattern, said)
        said = re.sub(
            pattern, lambda m, n=numbers: "".join(f"{a}{b}" for a, b in zip(n, m.groups(), strict=True)), said
        )
    assert generated("README.md", said)


def test_the_json_schema_is_what_the_types_say(generated):
    assert generated("gpudoctor/report.schema.json", schema(Registry().topics | MEASURED | PASTED | TOPICS))


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/index.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=lambda code: re.search(r"gpudoctor\.(\w+)\(", code)[1])
def test_the_programs_in_the_documentation_run(code, tmp_path, torch_folder):
    save = "import torch; [torch.save({'w': torch.ones(2)}, name) for name in ('model.pt', 'other.pt')]"
    if "model.pt" in code:
        subprocess.run([warm_python(), "-c", save], cwd=tmp_path, check=True, timeout=120)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, **warm_environment()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
