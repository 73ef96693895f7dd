"""What a file is that a user hands in: a script, a log, a checkpoint or a saved report.

What it holds decides; its name only where that leaves a doubt.
"""

import ast
import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint.formats.damaged import SUFFIXES
from gpudoctor.checkpoint.formats.detection import format_of
from gpudoctor.facts import GivenFile, GivenKind
from gpudoctor.report import SCHEMA

BEGIN = 64 * 1024
"""Bytes that are looked at first."""
SCRIPT_MOST = 4 * 2**20
"""Bytes. A larger text is not parsed to find out whether it is Python."""
PYTHON = (".py", ".pyw", ".ipynb")
IMPORTS = re.compile(rb"^(?:import|from)[ \t]+\w", re.M)
TRACEBACK = re.compile(rb"^(?:\[[^\]\n]{1,40}\]:? ?)?Traceback \(most recent call last\)", re.M)
NOTEBOOK = re.compile(rb'"(?:nbformat|cell_type)"\s*:')
REPORT = re.compile(rb'"schema":\s*"' + re.escape(SCHEMA.partition("/")[0].encode()) + rb"/\d+\"")
INDEX = re.compile(rb'"weight_map"\s*:')
LOG = re.compile(
    r"(?:\.(?:log|out|err|stdout|stderr|output)|(?:^|[._-])(?:stdout|stderr))(?:[._-]?\d+)?(?:\.gz)?$"
)
ERROR_FILE = re.compile(r"error\w*\.json$")
UTF16 = (b"\xff\xfe", b"\xfe\xff")
TEXT = ".txt"
FOLDER_MOST = 20_000
"""Names in a folder that are looked at."""


def recognise(paths: Iterable[str]) -> list[GivenFile]:
    """Return what each path is taken for; of a folder that holds several kinds a line for each of them.

    Raises `BadInput` for what is not there, and for what is none of all that can be read.
    """
    return [given for path in paths for given in _recognised(path)]


def _recognised(path: str) -> Iterator[GivenFile]:
    if path == "-":
        yield GivenFile(path="-", kind=GivenKind.LOG)
        return
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            yield from _of_folder(path)
        elif stat.S_ISREG(mode):
            yield GivenFile(path=path, kind=_of_file(path))
        elif stat.S_ISFIFO(mode):  # what is read of a pipe is gone
            yield GivenFile(path=path, kind=GivenKind.LOG)
        else:
            raise BadInput(f"{path}: neither a file, a folder nor a pipe")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise BadInput(f"{path!r}: a name that no file can have") from None


def _of_file(path: str) -> GivenKind:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        begin = file.read(BEGIN)
        kind = _by_bytes(begin, size, path) or _by_text(begin, path)
        if kind is None:
            text = begin + (file.read(SCRIPT_MOST) if BEGIN < size <= SCRIPT_MOST else b"")
            kind = _by_syntax(text, path, whole=size <= SCRIPT_MOST)
    return kind


def _by_bytes(begin: bytes, size: int, name: str) -> GivenKind | None:
    """Tell what is no text by its first bytes."""
    if not begin:
        if name.endswith(SUFFIXES):
            return GivenKind.CHECKPOINT  # its own check says what an empty one means
        raise BadInput(f"{name}: an empty file, of which nothing can be told")
    if begin[:2] == b"\x1f\x8b" or begin[:2] in UTF16:
        return GivenKind.LOG
    json = begin.lstrip()[:1] == b"{"
    if not json and format_of(begin[:512], size) is not None:
        return GivenKind.CHECKPOINT
    if _binary(begin):
        if name.endswith(SUFFIXES) or begin[:1] == b"\x80":
            return GivenKind.CHECKPOINT  # damaged, or a plain pickle: it says which
        raise BadInput(f"{name}: binary, and none of the formats of checkpoints that gpudoctor reads")
    return None


def _by_text(begin: bytes, name: str) -> GivenKind | None:
    """Tell JSON, and a ticket that holds a report."""
    if begin.lstrip()[:1] == b"{":
        if REPORT.search(begin):
            return GivenKind.REPORT
        if NOTEBOOK.search(begin) or name.endswith(".ipynb"):
            return GivenKind.SCRIPT
        if INDEX.search(begin) or name.endswith(".index.json"):
            return GivenKind.CHECKPOINT
        return GivenKind.LOG  # a logger's JSON lines, torchrun's error file
    if name.endswith(".md") and REPORT.search(begin):
        return GivenKind.REPORT
    return None


def _by_syntax(text: bytes, name: str, *, whole: bool) -> GivenKind:
    """Tell Python from a log: it can be parsed and imports something; the suffix decides where that is not so."""
    named = name.endswith(PYTHON)
    if not whole:
        return GivenKind.SCRIPT if named else GivenKind.LOG
    imports = IMPORTS.search(text) is not None
    if named and imports and not TRACEBACK.search(text):
        return GivenKind.SCRIPT  # if it cannot be parsed, the one who reads it says where
    if not (named or imports):
        stands_in = name.endswith(SUFFIXES) and not TRACEBACK.search(text)  # git-lfs's pointer, a web page
        return GivenKind.CHECKPOINT if stands_in else GivenKind.LOG
    parsed = _parses(text)
    if parsed:
        return GivenKind.SCRIPT
    return GivenKind.LOG if TRACEBACK.search(text) or not named else GivenKind.SCRIPT


def _parses(text: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _binary(begin: bytes) -> bool:
    """Return whether bytes are no text: a zero, or one in twenty is a control character that no terminal is sent."""
    odd = len(begin.translate(None, bytes(range(32, 256)) + b"\t\n\r\x1b\b\f\a"))
    return b"\0" in begin[:512] or odd > max(8, len(begin) // 20)


def _of_folder(path: str) -> Iterator[GivenFile]:
    """Ask a folder by the names of what lies in it: torchrun's logs, a distributed checkpoint, a repository."""
    inside = sorted(os.listdir(path))
    if ".metadata" in inside or any(name.endswith(".index.json") for name in inside):
        yield GivenFile(path=path, kind=GivenKind.CHECKPOINT)
        return
    names = list(_names(path))
    scripts = any(name.endswith(PYTHON) for name in names)
    logs = [name for name in names if _log_name(name)]
    texts = [] if scripts else [name for name in names if name.endswith(TEXT)]
    checkpoints = [name for name in inside if name.endswith(SUFFIXES)]
    if scripts:
        yield GivenFile(path=path, kind=GivenKind.SCRIPT)
    if logs or (texts and not checkpoints):
        yield GivenFile(path=path, kind=GivenKind.LOG)
    if checkpoints or os.path.isfile(os.path.join(path, "latest")):
        yield GivenFile(path=path, kind=GivenKind.CHECKPOINT)
    if not (scripts or logs or texts or checkpoints or "latest" in inside):
        raise BadInput(f"{path}: no script, no log and no checkpoint in this folder")


def logs_in(path: str) -> list[str]:
    """Return the logs in a folder that holds scripts too, by their names: its other texts are no logs."""
    return sorted(name for name in _names(path) if _log_name(name))


def _log_name(name: str) -> bool:
    return LOG.search(name) is not None or ERROR_FILE.search(os.path.basename(name)) is not None


def _names(path: str) -> Iterator[str]:
    """Yield the files of a folder and those below it, hidden ones left out."""
    left = FOLDER_MOST
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in names[:left]:
            yield os.path.join(folder, name)
        left -= len(names)
        if left <= 0:
            return
