"""Every form of a report of scripts, whole. To write them anew: ``GPUDOCTOR_UPDATE=1 pytest tests/code``."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpudoctor.cli.lint import command

HERE = Path(__file__).parent / "golden"
FORMS = {
    "txt": [],
    "statistics.txt": ["--statistics"],
    "concise.txt": ["--format", "concise"],
    "github.txt": ["--format", "github"],
    "gitlab.json": ["--format", "gitlab"],
    "sarif.json": ["--format", "sarif"],
    "junit.xml": ["--format", "junit"],
    "json": ["--json"],
    "diff.txt": ["--diff"],
}
CHANGES = [
    (r'("(?:version|semanticVersion)": )"[^"]+"', r'\1"VERSION"'),
    (r'("(?:time|created|startTimeUtc|endTimeUtc|started|ended)": )"[^"]+"', r'\1"TIME"'),
    (r'("(?:seconds|duration)": )[-0-9.e]+', r"\g<1>0"),
    (r"\d+\.\d+ s\b", "0.0 s"),
]
"""What is another one in each run or release."""


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_output(form, tmp_path, monkeypatch, generated):
    monkeypatch.chdir(tmp_path)
    for script in HERE.glob("*.py.txt"):
        Path(script.name.removesuffix(".txt")).write_text(script.read_text())
    text = CliRunner().invoke(command, [".", *FORMS[form]], standalone_mode=False).stdout
    if form.endswith("json"):
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    for pattern, words in CHANGES:
        text = re.sub(pattern, words, text)
    assert generated(f"tests/code/golden/lint.{form}", text), f"tests/code/golden/lint.{form} is out of date"
