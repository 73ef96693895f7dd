"""The test files of checks, ``tests/checks/test_<failure>.py``: their texts and snippets, to be read by other tests."""

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

from gpudoctor.code.examination import Examined, Examiner, distinct
from gpudoctor.model import Check

FOLDER = Path(__file__).parent / "checks"


@functools.cache
def its_tests(id: str) -> ModuleType:
    """Return a check's test file, executed once in a process."""
    path = FOLDER / f"test_{id.replace('-', '_')}.py"
    assert path.exists(), f"{id} has no test file {path}"
    spec = importlib.util.spec_from_file_location(f"examples_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examined(path: Path, checks: list[Check]) -> Examined:
    """Return what checks see in one script, which can be read."""
    seen = Examiner({path: path.name}, checks, ()).file(path)
    assert not seen.unread
    seen.findings = distinct(seen.findings)
    return seen
