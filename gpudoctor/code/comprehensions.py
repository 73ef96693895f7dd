"""Comprehensions and generators: what they go through, and what comes out."""

import ast
from typing import Any

from gpudoctor.code.program import Frame, mixed, one_of
from gpudoctor.facts import ALL_OF, EVERY_NTH, UNKNOWN, Known, Loop, Value


def comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """Return what a comprehension comes to; going through a loader in it is a loop."""
    inner = Frame(frame.program, frame.file, frame.scope, frame)
    inner.depth, inner.outer = frame.depth, frame
    inner.self_value, inner.owner = frame.self_value, frame.owner
    if isinstance(node, ast.DictComp):
        each = _by_key(inner, node)
        if each is not None:
            return each
    each = _by_item(inner, node) if not isinstance(node, ast.DictComp) else None
    if each is not None:
        return each
    chosen = every_nth = False  # by the rank
    states: list[Value] = []
    for generator in node.generators:
        over = frame.program.evaluate(inner, generator.iter)
        _through_loader(inner, node, generator.iter, over)
        numbers = over.known is Known.INDEX
        from_data = over.from_data or frame.program.kind(over) == "loader"
        element = (
            Value(Known.INDEX, by_rank=over.by_rank)
            if numbers
            else Value(by_rank=over.by_rank, from_data=from_data)
        )
        held = over.items[:1] if over.text == "comprehension" else () if over.text else over.items
        if isinstance(generator.target, ast.Name) and any(item.things for item in held):
            element = one_of(list(held))
        for target in ast.walk(generator.target):
            if isinstance(target, ast.Name):
                inner.names[target.id] = element
        _unpacked(inner, generator.target, held)
        states += [over] if frame.program.kind(over) == "state_dict" else []
        tests = [frame.program.evaluate(inner, test) for test in generator.ifs]
        chosen = chosen or any(test.by_rank for test in tests)
        every_nth = every_nth or any(test.every_nth for test in tests) or _of_every_nth(over)
    if isinstance(node, ast.DictComp):
        results = [frame.program.evaluate(inner, node.key), frame.program.evaluate(inner, node.value)]
        results += states if isinstance(node.key, ast.Name) else []  # the same keys still
        return Value(Known.MAPPING, items=tuple(results), by_rank=chosen or any(r.by_rank for r in results))
    result = frame.program.evaluate(inner, node.elt)
    elements = node.elt.elts if isinstance(node.elt, ast.Tuple) else []  # none in ``() for x in y``
    paired = bool(elements) and isinstance(elements[0], ast.Name)
    return Value(
        Known.SEQUENCE,
        EVERY_NTH if every_nth else None,
        text="comprehension",
        items=(result, *(states if paired else [])),
        by_rank=chosen or result.by_rank,
        from_data=result.from_data,
    )


def _of_every_nth(over: Value) -> bool:
    """Return whether what is gone through is every n-th item of a list that something made."""
    whole = over.items[0] if over.text == EVERY_NTH and over.items else UNKNOWN
    return whole.made >= 0 or whole.text in ("comprehension", ALL_OF)


def _through_loader(frame: Frame, node: ast.expr, iterated: ast.expr, over: Value) -> None:
    """Record the loop that a comprehension over a loader is."""
    loader = next((n for n in over.things if frame.program.things[n].kind == "loader"), None)
    if loader is not None:
        through = Value(Known.THING, thing=loader)
        frame.loops = (*frame.loops, Loop(frame.place(node), "batch", through))
        frame.record("<loop>", node, text=frame.text(iterated), receiver=through)


MOST_KEYS = 6
"""How many entries of a dictionary are made one by one."""


def _by_key(frame: Frame, node: ast.DictComp) -> Value | None:
    """Return the dictionary that is made for keys that are written out, ``None`` for any other."""
    written = _written_out(node.generators)
    if written is None or not isinstance(node.key, ast.Name) or node.key.id != written[0]:
        return None
    name, keys = written
    return _with_each(frame, name, keys, node.value, Known.MAPPING, tuple(keys))


def _by_item(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value | None:
    """Return the list made of texts that are written out: ``[int(os.environ[n]) for n in ("RANK", "WORLD_SIZE")]``."""
    written = _written_out(node.generators)
    if written is None or isinstance(node.generators[0].iter, ast.Set):  # in no order
        return None
    if not written[1] or not all(isinstance(item, str) for item in written[1]):
        return None
    return _with_each(frame, *written, node.elt, Known.SEQUENCE)


def _written_out(generators: list[ast.comprehension]) -> tuple[str, list[Any]] | None:
    """Return the name that a comprehension's one loop gives, and the few constants that it goes over."""
    only = generators[0]
    if len(generators) > 1 or only.ifs or not isinstance(only.target, ast.Name):
        return None
    if not isinstance(only.iter, (ast.List, ast.Tuple, ast.Set)):
        return None
    parts = only.iter.elts
    constants = [part.value for part in parts if isinstance(part, ast.Constant)]
    return (only.target.id, constants) if len(constants) == len(parts) <= MOST_KEYS else None


def _with_each(
    frame: Frame, name: str, constants: list[Any], made: ast.expr, known: Known, literal: Any = None
) -> Value:
    """Return what holds, for each constant that a name stands for, the value of an expression."""
    entries = []
    for constant in constants:
        frame.names[name] = Value(Known.LITERAL, constant)
        entries.append(frame.program.evaluate(frame, made))
    by_rank, from_data = mixed(entries)
    return Value(known, literal, items=tuple(entries), by_rank=by_rank, from_data=from_data)


def _unpacked(frame: Frame, target: ast.expr, held: tuple[Value, ...]) -> None:
    """Give the names of ``for key, value in ...`` what is in the pairs, where objects of the script are."""
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    pairs = [item.items for item in held if item.known is Known.SEQUENCE and len(item.items) == len(names)]
    for number, name in enumerate(names):
        found = [pair[number] for pair in pairs if pair[number].things]
        if isinstance(name, ast.Name) and found:
            frame.names[name.id] = one_of(found)


def yielded(frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    """Note what a generator hands out, and the loader that it goes through."""
    value = frame.program.evaluate(frame, node.value) if node.value is not None else UNKNOWN
    loader = next((n for n in value.things if frame.program.things[n].kind == "loader"), None)
    if isinstance(node, ast.YieldFrom) and loader is not None:
        over = Value(Known.THING, thing=loader)
        loops = frame.loops
        frame.loops = (*loops, Loop(frame.place(node), "batch", over))
        frame.record("<loop>", node, text=frame.text(node), receiver=over)
        frame.loops = loops
        frame.yielded.append(over)
        return UNKNOWN
    if frame.conditions:
        frame.record("<yield>", node, text=frame.text(node))
    frame.yielded += [loop.over for loop in frame.loops[-1:] if loop.kind == "batch"]
    frame.yielded.append(value)
    frame.program.escape(value)
    return UNKNOWN
