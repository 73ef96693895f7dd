"""Load the module of a check, a probe or a plug-in; why one cannot be loaded is said with its own file and the line."""

import contextlib
import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gpudoctor.guard import THE_USERS, parameters, place, told
from gpudoctor.model import Check

if TYPE_CHECKING:
    from importlib import metadata


class NotLoaded(Exception):
    """Why a module cannot be loaded, with the file and the line."""


def load_check(id: str, name: str, path: Path | None, *, site: bool, family: str) -> Check:
    """Return the check of a module, or of a local file; raises whatever that raises, or `NotLoaded`."""
    with _in_its_own_file(name, path):
        module = importlib.import_module(name) if path is None else _load_file(name, path)
    file = str(module.__file__ or path)
    check = getattr(module, "check", None)
    if not isinstance(check, Check):
        raise NotLoaded(f"{file}:1: it defines no `check`")
    docstring = module.__doc__ if isinstance(module.__doc__, str) else ""
    check.describe(id=id, family=family, docstring=docstring, site=site)
    if site:
        _refuse_unanswerable(check, file)
        _refuse_unsearchable(check, Path(file))
    return check


@contextlib.contextmanager
def _in_its_own_file(name: str, path: Path | None) -> Iterator[None]:
    """Turn what a module raises into a line that names the module's own file, where it got as far as that."""
    try:
        yield
    except THE_USERS:
        raise
    except BaseException as error:
        tail = name.replace(".", os.sep) + ".py"
        files = [place.filename for place in traceback.extract_tb(error.__traceback__)]
        own = os.path.abspath(path) if path is not None else next((f for f in files if f.endswith(tail)), "")
        raise NotLoaded(told(error, (own, 1) if own in files else None)) from None


def _refuse_unanswerable(check: Check, file: str) -> None:
    """Refuse a function that asks for what does not exist."""
    for function in check.functions.values():
        try:
            parameters(function)
        except Exception as error:
            raise NotLoaded(told(error, place(function) or (file, 1))) from None


def _refuse_unsearchable(check: Check, path: Path) -> None:
    """Refuse a symptom that cannot be looked for; a test does so for the checks that come with gpudoctor."""
    from gpudoctor.literals import Vague, literals

    for symptom in check.symptoms:
        for pattern in (symptom.pattern, symptom.near, symptom.unless):
            try:
                re.compile(pattern)
                if pattern is symptom.pattern:
                    literals(pattern)
            except (re.error, Vague) as error:
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                number = next((n for n, line in enumerate(lines, 1) if pattern[:40] in line), 1)
                raise NotLoaded(f"{path}:{number}: a symptom cannot be searched for: {error}") from None


def _load_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # get_type_hints looks the module up by its name
    spec.loader.exec_module(module)
    return module


def load_package(point: "metadata.EntryPoint") -> ModuleType:
    """Return the package that a plug-in names; raises whatever that raises, or `NotLoaded`."""
    package = point.load()
    if not hasattr(package, "__path__"):
        raise NotLoaded("it is no package")
    module: ModuleType = package
    return module
