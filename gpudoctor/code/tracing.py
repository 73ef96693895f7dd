"""Follow a program from where it starts, and return what it does."""

from msgspec.structs import replace

from gpudoctor.code.classes import module_classes
from gpudoctor.code.definitions import File, Function, FunctionNode
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.following import follow
from gpudoctor.code.known_calls import FRAMEWORKS, TRAINERS
from gpudoctor.code.program import Frame, Program, TooLong
from gpudoctor.code.project import spelled
from gpudoctor.code.statements import execute
from gpudoctor.code.uncalled import deferred, only_defined
from gpudoctor.facts import PREFIXES, UNSAFE_LOADS, Script, Signature


def trace(file: File) -> Script:
    """Return what the program that starts with a file does; never raises for what the file holds."""
    program = Program(file)
    program.evaluate, program.execute, program.follow = evaluate, execute, follow
    frame = Frame(program, file)
    program.globals[file.name] = frame
    complete = True
    try:
        execute(frame, file.source.tree.body)
        deferred(frame)
        only_defined(frame)
    except (TooLong, RecursionError):
        complete = False
    things = tuple(
        replace(thing, escapes=True) if thing.number in program.escaped else thing for thing in program.things
    )
    script = Script(
        path=file.name,
        calls=tuple(program.calls),
        exits=tuple(program.exits),
        things=things,
        classes=tuple(module_classes(frame)),
        signatures=(
            *(_signature(frame, n) for n in file.names.values() if isinstance(n, FunctionNode)),
            *(
                _signature(frame, m.node, m.name)
                for item in file.classes
                for m in item.methods()
                if _bound(m)
            ),
        ),
        imports={name: frame.place(node) for name, node in file.imported.items()},
        frameworks=tuple(sorted(frameworks(frozenset(file.imported)))),
        notebook=file.source.notebook,
        spelled=_spelled(program),
        folder=spelled(file.files, file.source.path) if any(t.kind == "sampler" for t in things) else None,
        complete=complete,
    )
    vars(
        program
    ).clear()  # it and its frames hold each other: without this, trees would stay until they are collected
    return script


def _spelled(program: Program) -> frozenset[str]:
    """Return the wrappers' prefixes, and a variable of torch's, that the program's files spell out."""
    files = {id(item.file): item.file for item in (*program.globals.values(), *program.defined.values())}
    texts = [file.source.text for file in files.values()]
    if any(call.name == "torch.load" for call in program.calls):
        every = (program.file, *files.values())
        texts += [found.source.text for file in every for found in file.files.packages(file.source.path)]
    words = {*PREFIXES.values(), UNSAFE_LOADS}
    return frozenset(w for w in words if any(f'"{w}"' in text or f"'{w}'" in text for text in texts))


def _bound(method: Function) -> bool:
    """Return whether a method is given its object, and no decorator changes it."""
    return not method.node.decorator_list and bool(method.node.args.args)


def _signature(frame: Frame, node: FunctionNode, method: str = "") -> Signature:
    given = node.args
    names = tuple(parameter.arg for parameter in (*given.posonlyargs, *given.args))[1 if method else 0 :]
    return Signature(
        name=method or node.name,
        place=frame.place(node),
        parameters=names,
        required=len(names) - len(given.defaults),
        variadic=given.vararg is not None,
    )


def frameworks(imported: frozenset[str]) -> set[str]:
    """Return the libraries among imports that distribute for the user."""
    found = {FRAMEWORKS[top] for name in imported if (top := name.partition(".")[0]) in FRAMEWORKS}
    return found | ({"transformers"} if imported & TRAINERS else set())
