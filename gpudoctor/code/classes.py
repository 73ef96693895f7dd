"""What the classes of a script are, and what its modules do with their parts."""

import ast
import itertools
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor.code.definitions import Class, nodes
from gpudoctor.code.known_calls import NO_MODULES, canonical, kind
from gpudoctor.code.names import ancestors, base_of
from gpudoctor.code.program import Frame
from gpudoctor.facts import WRAPPERS, Attribute, Known, ModuleClass

_KINDS = (
    ("torch.nn.DataParallel", "dp"),
    ("torch.nn.parallel.DistributedDataParallel", "ddp"),
    ("torch.nn.Module", "model"),
    ("torch.nn.Sequential", "model"),
    ("torch.utils.data.DataLoader", "loader"),
    ("lightning.pytorch.LightningModule", "lightning"),
    ("lightning.LightningModule", "lightning"),
    ("torch.autograd.Function", "function"),
    ("torch.optim.Optimizer", "optimizer"),
)
DYNAMIC = frozenset(
    "getattr setattr __dict__ children modules named_children named_modules _modules __getattr__ add_module "
    "register_module parameters named_parameters state_dict".split()
)
"""Names by which parts of a module are reached without their own."""


def bases(frame: Frame, item: Class) -> Iterator[str]:
    """Yield the full names of the library classes that a class of the script stands on."""
    for one in itertools.chain((item,), ancestors(frame, item)):
        for node in one.node.bases:
            value = base_of(frame, one, node)
            if value.known is Known.SYMBOL:
                yield canonical(value.text)


def kind_of(frame: Frame, item: Class) -> str:
    """Return the kind of thing that a class of the script makes."""
    known = list(bases(frame, item))
    for name, made in _KINDS:
        if name in known:
            return made
    for name in known:
        if name.startswith(("torch.utils.data.", "torchvision.datasets.")) and name.endswith(
            ("Dataset", "MNIST", "CIFAR10", "CIFAR100", "ImageFolder", "Folder")
        ):
            return "dataset"
        if name.startswith("torch.utils.data.") and name.endswith("Sampler"):
            return "sampler"
        if name.startswith("torch.nn."):
            return "model"
        if name.startswith("torchvision.models."):
            return "model"
    return "instance"


def module_classes(frame: Frame) -> Iterator[ModuleClass]:
    """Yield what modules do with their parts: those of the program's file, and of others those that it makes."""
    program = frame.program
    for item in frame.file.classes:
        if kind_of(frame, item) in ("model", "lightning"):
            yield _module(frame, item)
    if any(thing.kind in WRAPPERS for thing in program.things):
        made = dict.fromkeys(thing.type for thing in program.things if thing.kind == "model")
        for name in made:
            own = program.defined.get(name)
            if isinstance(own, Class) and own.file is not frame.file:
                yield _module(Frame(program, own.file), own)


def _module(frame: Frame, item: Class) -> ModuleClass:
    methods = {method.node.name: method.node for method in item.methods()}
    init = methods.get("__init__")
    attributes = list(_assigned(frame, item, init)) if init is not None else []
    reads = {name: frozenset(_read(node)) for name, node in methods.items()}
    forward = set(reads.get("forward", ()))
    waiting = [name for name in forward if name in methods]
    while waiting:
        for found in reads[waiting.pop()]:
            if found not in forward:
                forward.add(found)
                waiting += [found] if found in methods else []
    own = [frame.program.defined.get(base_of(frame, item, node).text) for node in item.node.bases]
    everywhere = frozenset(name for method, found in reads.items() if method != "__init__" for name in found)
    within = list(nodes(item.node))
    all_names = {n.attr for n in within if isinstance(n, ast.Attribute)} | {
        n.id for n in within if isinstance(n, ast.Name)
    }
    written = methods.get("forward")
    before = _read_first(written) if written is not None else {}
    return ModuleClass(
        name=frame.program.name_of(item),
        place=frame.place(item.node),
        bases=tuple(bases(frame, item)),
        attributes=tuple(attributes),
        methods=tuple(methods),
        used=everywhere,
        used_in_forward=frozenset(forward),
        dynamic=bool(all_names & DYNAMIC) or any(isinstance(parent, Class) for parent in own),
        written_in_forward=tuple(
            replace(a, kept=a.kept or before.get(a.name, a.place.line) < a.place.line)
            for a in _assigned(frame, item, written)
        )
        if written is not None
        else (),
    )


def _read_first(forward: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    """Return the lines where attributes of ``self`` are first computed with, tests and what stands under them left out.

    What is read before it is written comes from the forward before.
    """
    lines: dict[str, int] = {}
    for statement in forward.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) and statement.value is not None:
            tests = [node.test for node in nodes(statement.value) if isinstance(node, ast.IfExp)]
            asked = {name for test in tests for name in _read(test)}
            for name in {*_read(statement.value)} - asked:
                lines.setdefault(name, statement.lineno)
    return lines


def _assigned(
    frame: Frame, item: Class, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Attribute]:
    """Yield the attributes of ``self`` that a method assigns to."""
    for node in nodes(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
            ):
                value = getattr(node, "value", None)
                name = _maker(frame, item, value) if isinstance(node, ast.Assign) else ""
                own = frame.program.defined.get(name)
                module = kind(name) == "model" and name not in NO_MODULES
                if isinstance(own, Class):
                    module = kind_of(frame, own) == "model"
                kept = isinstance(node, ast.AugAssign) or target.attr in _read(value)
                yield Attribute(
                    name=target.attr, type=name, place=frame.place(target), module=module, kept=kept
                )


def _maker(frame: Frame, item: Class, node: ast.expr | None) -> str:
    """Return the full name of what makes an attribute's value, empty where that is not known."""
    if not isinstance(node, ast.Call):
        return ""
    value = base_of(frame, item, node.func)
    return canonical(value.text) if value.known in (Known.SYMBOL, Known.DEFINED) else ""


def _read(part: ast.AST | None) -> Iterator[str]:
    """Yield the attributes of ``self`` that a method, or an expression, reads."""
    for node in nodes(part) if part is not None else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            if isinstance(node.ctx, ast.Load):
                yield node.attr
