"""Whether a script that lies here catches what a traceback shows, and goes on: its source tells that for certain."""

import ast
import builtins
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.logs.own_source import FILES_MOST, source_of
from gpudoctor.logs.raised import NOT_OWN, Raised
from gpudoctor.patterns import late_pattern

DEPTH = 4
"""Calls that are followed outwards."""
LEAVES = late_pattern(
    r"(?i)_*(?:(?:sys_?)?exit|quit|abort|kill|die|fatal|fail|terminate|bail)\w*$|\w*_(?:exit|die|abort|fail)$"
)
"""The name of a function that ends the program, it seems."""
NO_WORK = late_pattern(
    r"(?i)\w*(?:print|info|debug|warn(?:ing)?|error|exception|critical|destroy|close|clean|shut_?down|finish|flush|"
    r"exit|exc)\w*$"
)
"""The name of a function that does not carry a training on: it tells of something, or tidies up."""
BASES = {
    "OutOfMemoryError": "RuntimeError",
    "DistBackendError": "RuntimeError",
    "DistStoreError": "RuntimeError",
    "DistNetworkError": "RuntimeError",
    "JSONDecodeError": "ValueError",
    "URLError": "OSError",
    "HTTPError": "OSError",
}
"""What torch's exceptions and some of the standard library's are as well."""
EXITS = {"SystemExit", "KeyboardInterrupt", "GeneratorExit"}
Block = tuple[Sequence[ast.stmt], int, ast.AST]
"""Statements, the number of one of them, and whose body they are."""


def with_handlers(raised: Sequence[Raised]) -> list[Raised]:
    """Return a log's exceptions; those that a script here catches, and goes on from, are marked so.

    A library catches in one process what it raises again in another: its handlers tell nothing.
    """
    first = (one.frames[0] for one in raised if one.headed and one.frames)
    paths = {frame.path for frame in first if frame.text and not NOT_OWN.search(frame.path)}
    if not 0 < len(paths) <= FILES_MOST:
        return list(raised)
    scripts = {path: _script(path) for path in paths}
    return [replace(one, kept_from=True) if _gets_over(one, scripts) else one for one in raised]


def _gets_over(raised: Raised, scripts: Mapping[str, "_Script | None"]) -> bool:
    frame = raised.frames[0] if raised.headed and raised.frames else None
    script = scripts.get(frame.path) if frame is not None and frame.text else None
    if frame is None or script is None:
        return False
    type_ = raised.type if frame.function in (None, "<module>") else ""
    return script.gets_over(frame.line, frame.text, type_)


def _script(path: str) -> "_Script | None":
    text = source_of(path) if path.endswith(".py") else None
    try:
        return None if text is None else _Script(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Script:
    """The statements of a file, each with the block in which it stands."""

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        tree = ast.parse(text)
        self.blocks: dict[ast.stmt, Block] = {}
        self.tries: list[ast.Try | ast.TryStar] = []
        self.calls: dict[str, list[ast.stmt]] = {}
        self._walk(tree, None)

    def _walk(self, node: ast.AST, statement: ast.stmt | None) -> None:
        for _, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for number, child in enumerate(children):
                if isinstance(child, ast.stmt):
                    self.blocks[child] = (children, number, node)
                    if isinstance(child, (ast.Try, ast.TryStar)):
                        self.tries.append(child)
                    self._walk(child, child)
                elif isinstance(child, ast.AST):
                    if isinstance(child, ast.Call) and statement is not None:
                        self.calls.setdefault(_called(child), []).append(statement)
                    self._walk(child, statement)

    def gets_over(self, line: int, text: str, type_: str) -> bool:
        """Return whether a handler catches what is raised in or below a line, and the program's work goes on.

        Without a type: a traceback that begins in a function was printed by a handler there, of any type.
        """
        if not 0 < line <= len(self.rows) or self.rows[line - 1].strip() != text.strip():
            return False
        around = [t for t in self.tries if t.body[0].lineno <= line <= (t.body[-1].end_lineno or 0)]
        for each in sorted(around, key=lambda t: -t.lineno):
            handler = next((h for h in each.handlers if _catches(h, type_)), None)
            if handler is not None:
                returns = any(isinstance(node, ast.Return) for node in _inside(handler.body))
                return not _leaves(handler.body) and self._goes_on(each, DEPTH, returns=returns)
        return False

    def _goes_on(self, statement: ast.stmt, depth: int, *, returns: bool = False) -> bool:
        """Return whether work follows a statement, in a loop or below it, here or where its function is called."""
        rows, number, owner = self.blocks[statement]
        if not returns:
            for row in rows[number + 1 :]:
                if _leaves([row]) or _works(row):
                    return not _leaves([row])
            if isinstance(owner, (ast.For, ast.AsyncFor, ast.While)) and rows is owner.body:
                # What failed may have been counted: the program may end by that.
                return not self._may_leave_below(owner)
        if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            places = self.calls.get(owner.name, []) if depth else []
            return any(self._goes_on(place, depth - 1) for place in places)
        outer = self._statement_of(owner)
        return outer is not None and self._goes_on(outer, depth, returns=returns)

    def _may_leave_below(self, statement: ast.stmt) -> bool:
        """Return whether the program may end as one that failed right below a statement."""
        rows, number, _ = self.blocks[statement]
        below = itertools.takewhile(lambda row: not _works(row) or _leaves([row]), rows[number + 1 :])
        return _leaves(list(below))

    def _statement_of(self, owner: ast.AST) -> ast.stmt | None:
        """Return the statement to which a block belongs; a handler's is its try."""
        if isinstance(owner, ast.stmt):
            return owner if owner in self.blocks and not isinstance(owner, ast.ClassDef) else None
        return next((t for t in self.tries if owner in t.handlers), None)


def _called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _inside(rows: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all that is run in statements, and not what they only define."""
    for row in rows:
        yield row
        if not isinstance(row, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _inside(ast.iter_child_nodes(row))


def _leaves(rows: Sequence[ast.stmt]) -> bool:
    """Return whether statements may end the program, pass the exception on, or return that something failed."""
    for node in _inside(rows):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and LEAVES.match(_called(node))):
            return True
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if value is False or (isinstance(value, int) and value not in (True, 0)):
                return True
    return False


def _works(row: ast.stmt) -> bool:
    """Return whether a statement carries the program's work on: it calls what is no more than telling or tidying up."""
    defines = isinstance(row, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    calls = (node for node in ([] if defines else _inside([row])) if isinstance(node, ast.Call))
    return any((name := _called(call)) and not NO_WORK.match(name) for call in calls)


def _catches(handler: ast.ExceptHandler, type_: str) -> bool:
    """Return whether a handler is for an exception of a type, as far as its name and Python's own types tell."""
    if handler.type is None or not type_:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [t.attr if isinstance(t, ast.Attribute) else getattr(t, "id", "") for t in types]
    raised = getattr(builtins, BASES.get(type_, type_), None)
    for name in names:
        known = getattr(builtins, name, None)
        if name == type_ or name == "BaseException" or (name == "Exception" and type_ not in EXITS):
            return True
        if isinstance(raised, type) and isinstance(known, type) and issubclass(raised, known):
            return True
    return False
