"""Comprehensions and generators: what they go through, and what comes out."""

import ast

from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import UNKNOWN, Known, Loop, Value


def comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """Return what a comprehension comes to; going through a loader in it is a loop."""
    inner = Frame(frame.program, frame.file, frame.scope, frame)
    inner.depth, inner.outer = frame.depth, frame
    inner.self_value, inner.owner = frame.self_value, frame.owner
    chosen = False  # by the rank
    states: list[Value] = []
    for generator in node.generators:
        over = frame.program.evaluate(inner, generator.iter)
        loader = next((n for n in over.things if frame.program.things[n].kind == "loader"), None)
        if loader is not None:
            through = Value(Known.THING, thing=loader)
            inner.loops = (*inner.loops, Loop(frame.place(node), "batch", through))
            inner.record("<loop>", node, text=frame.text(generator.iter), receiver=through)
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
        chosen = chosen or any([frame.program.evaluate(inner, test).by_rank for test in generator.ifs])  # noqa: C419 - each is evaluated
    if isinstance(node, ast.DictComp):
        results = [frame.program.evaluate(inner, node.key), frame.program.evaluate(inner, node.value)]
        results += states if isinstance(node.key, ast.Name) else []  # the same keys still
        return Value(Known.MAPPING, items=tuple(results), by_rank=chosen or any(r.by_rank for r in results))
    result = frame.program.evaluate(inner, node.elt)
    return Value(
        Known.SEQUENCE,
        text="comprehension",
        items=(result,),
        by_rank=chosen or result.by_rank,
        from_data=result.from_data,
    )


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
    frame.yielded += [loop.over for loop in frame.loops[-1:] if loop.kind == "batch"]
    frame.yielded.append(value)
    frame.program.escape(value)
    return UNKNOWN
