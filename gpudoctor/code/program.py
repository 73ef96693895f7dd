"""A program while it is followed: what happened so far, and where it stands."""

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpudoctor.code.definitions import Class, File, Function
from gpudoctor.facts import UNKNOWN, Argument, Call, Condition, Exit, Known, Loop, Place, Thing, Value

MOST_STEPS = 60_000
"""Calls and statements that are followed of one program; the longest script of the corpora takes a fifth of it."""
MOST_CALLS_OF_ONE = 6
DEEPEST = 14


Heap = dict[tuple[int, str], Value]
"""Attributes of things, by the thing's number and the attribute."""


class TooLong(Exception):
    """A program is not followed any further."""


class Program:
    """What was learnt of one program."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.calls: list[Call] = []
        self.exits: list[Exit] = []
        self.things: list[Thing] = []
        self.escaped: set[int] = set()
        self.heap: Heap = {}
        """Attributes of things; set by `hold` alone."""
        self._seen = False
        """Whether somebody keeps `heap` as it is now, so that the next attribute is set in a copy."""
        self.defined: dict[str, Function | Class] = {}
        """What a value of kind DEFINED means, by its name."""
        self.closures: dict[str, Frame] = {}
        """The frame in which an inner function was defined, by its name as `defined` has it."""
        self.guards: dict[ast.AST, tuple[Condition, ...]] = {}
        """The tests under which an inner function was defined: whoever calls it later comes from there."""
        self.globals: dict[str, Frame] = {}
        """The frame of each file's module level."""
        self.bound: dict[str, int] = {}
        """The thing whose method a value of kind DEFINED is, by the value's name."""
        self.followed: dict[str, int] = {}
        self.answers: dict[str, Value] = {}
        """What functions returned last: one without parameters answers the same where it is not followed any more."""
        self.instantiated: set[str] = set()
        self.class_values: dict[tuple[str, str], Value] = {}
        """What the bodies of classes assign, by the class's name and the attribute."""
        self.defaults: dict[str, Value] = {}
        """Defaults of the command line's options."""
        self.partials: dict[int, tuple[list[Argument], dict[str, Argument]]] = {}
        """What ``functools.partial`` holds ready for a function, by the call that made it."""
        self.meanings: dict[tuple[str, str], Value] = {}
        """What files define or import, by the file's name and the name there: of functions, classes and libraries."""
        self.ancestors: dict[ast.ClassDef, tuple[Class, ...]] = {}
        """The classes of the script that a class stands on, as far as it was asked."""
        self.methods: dict[str, list[Class]] | None = None
        """By the names of methods: the classes of the program's files that define them; made when first asked for."""
        self.by_method: dict[int, Value] = {}
        """What objects are that a method told of, by the call that made them."""
        self.steps = 0
        self.looking: set[tuple[str, str]] = set()
        """Names of other files whose values are being looked up: some are made of themselves."""
        self.deferred: list[tuple[Value, tuple[Condition, ...]]] = []
        """Functions that somebody else will call: hooks, a launcher's target; with their main guard."""
        self.execute: Callable[[Frame, list[ast.stmt]], bool]
        """Set by `tracing`: goes through statements, and returns whether their end is never reached."""
        self.evaluate: Callable[[Frame, ast.expr], Value]
        """Set by `tracing`: what an expression comes to."""
        self.follow: Callable[
            [Frame, Function, Value | None, list[Argument], dict[str, Argument], ast.AST], Value
        ]
        """Set by `tracing`: follows a call of a function of the script."""

    def step(self) -> None:
        """Count a step; raises `TooLong` past the bound."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def thing(self, kind: str, type: str, place: Place, inner: int = -1) -> Value:
        """Make a thing, and return the value that is it; the call that made it is the one now being recorded."""
        number = len(self.things)
        made = len(self.calls)
        self.things.append(Thing(number, kind, type, place, made, inner))
        return Value(Known.THING, thing=number, made=made)

    def mark(self) -> tuple[int, int, int]:
        """Return how far the trace has come: how many calls, things and handed-over functions there are."""
        return len(self.calls), len(self.things), len(self.deferred)

    def forget(self, mark: tuple[int, int, int]) -> None:
        """Take back what was traced since a mark: later things get the numbers of those that go."""
        calls, things, deferred = mark
        del self.calls[calls:], self.things[things:], self.deferred[deferred:]
        if any(holder >= things for holder, _ in self.heap):
            self.heap = {key: value for key, value in self.heap.items() if key[0] < things}
            self._seen = False
        for name in [name for name, holder in self.bound.items() if holder >= things]:
            del self.bound[name]
        self.escaped.difference_update([number for number in self.escaped if number >= things])

    def hold(self, thing: int, name: str, value: Value) -> None:
        """Let an attribute of a thing hold a value."""
        if self._seen:
            self.heap, self._seen = dict(self.heap), False
        self.heap[thing, name] = value

    def keep(self) -> Heap:
        """Return the attributes of things as they are now; what is set afterwards does not change them.

        Most branches set none: a copy for each took a tenth of the time of a long program.
        """
        self._seen = True
        return self.heap

    def go_back(self, heap: Heap) -> None:
        """Let the attributes of things be as they were when they were kept."""
        self.heap, self._seen = heap, True

    def name_of(self, item: Function | Class) -> str:
        """Return the name of a function or class of the script, with its file's where that is another one."""
        return item.name if item.file is self.file else f"{item.file.name}::{item.name}"

    def define(self, item: Function | Class) -> Value:
        """Return the value that a function or class of the script is."""
        name = self.name_of(item)
        self.defined[name] = item
        return Value(Known.DEFINED, text=name)

    def holder(self, value: Value, item: Function) -> Value | None:
        """Return the object whose method a function is that was handed over, ``None`` where it is none's."""
        number = self.bound.get(value.text) if item.owner is not None else None
        return Value(Known.THING, thing=number) if number is not None else None

    def kind(self, value: Value) -> str:
        """Return the kind of the first thing that a value may be, empty where it is none."""
        things = value.things
        return self.things[things[0]].kind if things else ""

    def escape(self, value: Value) -> None:
        """Note that a value went where its use is not seen."""
        self.escaped.update(value.things)
        if value.known in (
            Known.SEQUENCE,
            Known.MAPPING,
            Known.CHOICE,
        ):  # not what a length or a test is taken of
            for item in value.items:
                self.escape(item)


class Sides(NamedTuple):
    """What a name holds after a test: one of two things, by how the test came out."""

    either: Value
    then: Value
    otherwise: Value


class Frame:
    """One run of a function, or of a file's module level."""

    __slots__ = (
        "abroad", "base", "broken", "conditions", "contexts", "deferred", "depth", "file", "heaps", "last_conditions",
        "limit", "loops", "names", "outer", "owner", "program", "reached", "returned", "scope", "self_value", "settled",
        "shared", "spawned", "stack", "yielded",
    )  # fmt: skip

    def __init__(
        self, program: Program, file: File, scope: str = "<module>", caller: "Frame | None" = None
    ) -> None:
        self.program, self.file, self.scope = program, file, scope
        self.names: dict[str, Value] = {}
        self.outer: Frame | None = None
        self.shared: set[str] = set()
        """Names declared global or nonlocal."""
        self.returned: list[Value] = []
        self.heaps: list[dict[tuple[int, str], Value]] = []
        """What attributes hold where it returns under a test, before its end."""
        self.broken: list[dict[str, Value]] = []
        """What names hold where the innermost loop is left by ``break``."""
        self.settled: dict[str, tuple[Value, dict[str, Sides]]] = {}
        """By the source of a test: what it came to, and what names hold since, where it held and where not."""
        self.yielded: list[Value] = []
        """What a generator hands out: loaders that it goes through, and other values."""
        self.self_value: Value | None = None
        self.owner: Class | None = None
        self.conditions: tuple[Condition, ...] = caller.conditions if caller else ()
        self.base = len(self.conditions)
        self.last_conditions = self.conditions
        """Under what the last statement stood of the block that was gone through last."""
        self.loops: tuple[Loop, ...] = caller.loops if caller else ()
        self.contexts: tuple[str, ...] = caller.contexts if caller else ()
        self.stack: tuple[Place, ...] = caller.stack if caller else ()
        self.depth: int = caller.depth + 1 if caller else 0
        self.abroad: int = caller.abroad + (file is not caller.file) if caller else 0
        """How often the calls that lead here went from one file to another."""
        self.limit: int = caller.limit if caller else MOST_STEPS
        """After which step no call of another file's function is followed any more."""
        self.reached: bool = caller.reached if caller else True
        self.spawned: bool = caller.spawned if caller else False
        self.deferred: bool = caller.deferred if caller else False

    def place(self, node: ast.AST) -> Place:
        """Return where a node stands."""
        known = self.file.places.get(node)
        if known is None:
            known = self.file.places[node] = self._place(node)
        return known

    def _place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", 1)
        name, shown = self.file.source.place(line) if self.file.source.cells else (self.file.name, line)
        end = (getattr(node, "end_lineno", None) or line) - line + shown
        return Place(name, shown, getattr(node, "col_offset", 0) + 1, end)

    def text(self, node: ast.expr) -> str:
        """Return the source of an expression, on one line."""
        known = self.file.texts.get(node)
        if known is None:
            known = self.file.texts[node] = self._text(node)
        return known

    def _text(self, node: ast.expr) -> str:
        if node.lineno == node.end_lineno and node.end_col_offset is not None:
            line = self.file.source.line(node.lineno)
            if line.isascii():
                return line[node.col_offset : node.end_col_offset]
            return line.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")
        return " ".join(ast.unparse(node).split())

    def bind(self, name: str, value: Value) -> None:
        """Give a name a value."""
        if name in self.shared:
            frame = self.outer
            while frame is not None and name not in frame.names and frame.outer is not None:
                frame = frame.outer
            if frame is not None:
                frame.names[name] = value
                return
        self.names[name] = value

    def leave(self, kind: str, node: ast.AST, value: Value = UNKNOWN) -> None:
        """Note that the function, loop or program may be left here."""
        program = self.program
        program.exits.append(
            Exit(
                number=len(program.calls),
                kind=kind,
                place=self.place(node),
                scope=self.scope,
                conditions=self.conditions,
                loops=self.loops,
                value=value,
            )
        )

    def record(
        self,
        name: str,
        node: ast.AST,
        *,
        text: str = "",
        arguments: dict[str, Argument] | None = None,
        starred: bool = False,
        receiver: Value = UNKNOWN,
        result: Value = UNKNOWN,
        used: bool = True,
    ) -> int:
        """Record a call, and return its number."""
        program = self.program
        number = len(program.calls)
        program.calls.append(
            Call(
                number=number,
                name=name,
                method=name.rpartition(".")[2],
                place=self.place(node),
                text=text,
                arguments=arguments or {},
                starred=starred,
                receiver=receiver,
                result=result,
                used=used,
                scope=self.scope,
                stack=self.stack,
                conditions=self.conditions,
                loops=self.loops,
                contexts=self.contexts,
                reached=self.reached,
                spawned=self.spawned,
                deferred=self.deferred,
            )
        )
        return number


def mixed(values: Iterator[Value] | list[Value]) -> tuple[bool, bool]:
    """Return whether any of several values differs by rank, and whether any comes from this rank's data."""
    by_rank = from_data = False
    for value in values:
        by_rank = by_rank or value.by_rank
        from_data = from_data or value.from_data
    return by_rank, from_data


MOST_CHOICES = 6


def one_of(values: list[Value]) -> Value:
    """Return a value that is one of several."""
    found = _distinct(item for value in values for item in value.possible())
    if not found:
        return UNKNOWN
    if len(found) == 1:
        return found[0]
    by_rank, from_data = mixed([*found, *values])
    sole, all_but = _asked(found)
    told = {(value.sole, value.all_but) for value in values if value.known is Known.CHOICE}
    if len(told) == 1 and all(value.known is Known.CHOICE for value in values):
        sole, all_but = told.pop()  # each of them is there on one rank alone
    if len(found) > MOST_CHOICES:  # each value is in it with its first ones: a wrapper beside many models
        turns = itertools.chain.from_iterable(itertools.zip_longest(*(value.possible() for value in values)))
        found = _distinct(item for item in turns if item is not None)
    return Value(
        Known.CHOICE,
        items=tuple(found[:MOST_CHOICES]),
        by_rank=by_rank,
        from_data=from_data,
        sole=sole,
        all_but=all_but,
    )


def _distinct(values: Iterable[Value]) -> list[Value]:
    """Return values without those that stand there twice, in their order: a value need not be hashable."""
    found: list[Value] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def either(held: Value | None, value: Value) -> Value:
    """Return what something holds that was given a value, or was not: what it held before, or that."""
    return value if held is None or held == value else one_of([held, value])


def _asked(values: list[Value]) -> tuple[int | None, int | None]:
    """Return for which rank several values ask, where one does and the others are the answer of a run without ranks."""
    soles = {value.sole for value in values if value.sole is not None}
    others = {value.all_but for value in values if value.all_but is not None}
    rest = [value.literal for value in values if value.sole is None and value.all_but is None]
    if len(soles) == 1 and not others and all(literal is True for literal in rest):
        return soles.pop(), None
    if len(others) == 1 and not soles and all(literal is False for literal in rest):
        return None, others.pop()
    return None, None
