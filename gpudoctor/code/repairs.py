"""What mends a finding in the source itself: a change of the tree that keeps every other character (libcst)."""

import re
from collections.abc import Sequence
from typing import Any

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor
from libcst.metadata import MetadataWrapper, PositionProvider

from gpudoctor.model import Finding, Severity

SAFE = frozenset(
    (
        "deprecated-dist-api",
        "launch-local-rank",
        "process-group-leak",
        "sampler-set-epoch",
        "spawn-main-guard",
    )
)
"""What is mended in such a way that a script which works does the same afterwards, or what was meant."""
UNSAFE = frozenset(
    ("checkpoint-device-map", "implicit-softmax-dim", "rank-device-unset", "state-dict-prefix")
)
"""What may be meant as it is: the dimension of an input, the keys of a file and the launcher are not known here."""
Key = tuple[int, int]
"""Line, and column in characters; both from 1."""


def repaired(text: bytes, findings: Sequence[Finding]) -> bytes:
    """Return a file's source with what can be mended of the findings mended; raises cst.ParserSyntaxError."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    source = wrapper.module.code.split("\n")
    wanted: dict[Key, dict[str, Finding]] = {}
    for finding in findings:
        at = finding.location
        if at is not None and at.line <= len(source):
            column = len(source[at.line - 1].encode()[: at.column - 1].decode(errors="ignore")) + 1
            wanted.setdefault((at.line, column), {})[finding.id] = finding
    mender = _Mender(wanted)
    module = wrapper.visit(mender)
    if mender.imports:
        context = CodemodContext()
        for name in mender.imports:
            AddImportsVisitor.add_needed_import(context, name)
        module = AddImportsVisitor(context).transform_module(module)
    return module.bytes


class _Mender(cst.CSTTransformer):
    """Changes the calls and blocks at which findings stand."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, wanted: dict[Key, dict[str, Finding]]) -> None:
        super().__init__()
        self.wanted = wanted
        self.imports: list[str] = []

    def _at(self, node: cst.CSTNode) -> dict[str, Finding]:
        """Return the findings at a node, by id."""
        start = self.get_metadata(PositionProvider, node).start
        return self.wanted.get((start.line, start.column + 1), {})

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """Put today's ReduceOp in the place of reduce_op."""
        inner = updated_node.value
        if isinstance(inner, cst.Attribute) and inner.attr.value == "reduce_op":
            if "deprecated-dist-api" in self._at(original_node):
                return updated_node.with_changes(value=inner.with_changes(attr=cst.Name("ReduceOp")))
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Change the arguments of a call, or whose method it is."""
        found = self._at(original_node)
        name = _last(original_node.func)
        if "implicit-softmax-dim" in found and "softmax" in name.lower():
            return _with(updated_node, "dim", "1")
        if "checkpoint-device-map" in found and name == "load":
            return _with(updated_node, "map_location", '"cpu"')
        if "state-dict-prefix" in found and name == "state_dict":
            return _unwrapped(updated_node, found["state-dict-prefix"])
        if "launch-local-rank" in found and name == "add_argument":
            self.imports.append("os")
            return _both_spellings(updated_node)
        return self._without_group(original_node, updated_node)

    def _without_group(self, original: cst.Call, updated: cst.Call) -> cst.Call:
        """Leave out a group that is a number."""
        kept = [
            new
            for old, new in zip(original.args, updated.args, strict=True)
            if not (
                old.keyword and old.keyword.value == "group" and "deprecated-dist-api" in self._at(old.value)
            )
        ]
        return updated if len(kept) == len(updated.args) else _call(updated, kept)

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> Any:
        """Add statements to a function's body."""
        return self._block(original_node, updated_node)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        """Add statements to a file, or put its end under the main guard."""
        made: cst.Module = self._block(original_node, updated_node)
        for number, statement in enumerate(original_node.body):
            if "spawn-main-guard" in self._at(statement):
                return _guarded(made, number)
        return made

    def _block(self, original: Any, updated: Any) -> Any:
        body = list(updated.body)
        for number, statement in enumerate(original.body):
            for call, found in self._calls(statement):
                if "sampler-set-epoch" in found:
                    body = _told_the_epoch(body, number, call)
                elif "process-group-leak" in found:
                    body = _destroyed(body, number, call)
                elif (
                    "rank-device-unset" in found
                    and "on the current GPU" in found["rank-device-unset"].message
                ):
                    body = self._bound(body)
        return updated.with_changes(body=body)

    def _calls(self, statement: cst.CSTNode) -> list[tuple[cst.Call, dict[str, Finding]]]:
        """Return the calls of a plain statement at which findings stand."""
        if not isinstance(statement, cst.SimpleStatementLine):
            return []
        calls = _Calls()
        statement.visit(calls)
        # Of a chain, a().b(), all calls begin at one place: the outermost one is meant.
        outermost = {id(found): (call, found) for call in reversed(calls.found) if (found := self._at(call))}
        return [*outermost.values()]

    def _bound(self, body: list[Any]) -> list[Any]:
        """Let each rank choose its GPU before it makes the process group."""
        for number, statement in enumerate(body):
            if isinstance(statement, cst.SimpleStatementLine) and "init_process_group(" in _code(statement):
                self.imports += ["os", "torch"]
                line = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'
                new = _statement(line).with_changes(leading_lines=statement.leading_lines)
                return [*body[:number], new, statement.with_changes(leading_lines=[]), *body[number + 1 :]]
        return body


class _Calls(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.found.append(node)


def _last(node: cst.BaseExpression) -> str:
    """Return the last part of a dotted name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _statement(line: str) -> cst.SimpleStatementLine:
    statement = cst.parse_statement(line)
    assert isinstance(statement, cst.SimpleStatementLine)
    return statement


def _argument(name: str, value: str) -> cst.Arg:
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(cst.parse_expression(value), keyword=cst.Name(name), equal=tight)


def _call(call: cst.Call, arguments: Sequence[cst.Arg]) -> cst.Call:
    """Return a call with other arguments; the last one loses the comma that stood before what is gone."""
    kept = list(arguments)
    if kept and call.args and kept[-1] is not call.args[-1]:
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=kept)


def _with(call: cst.Call, name: str, value: str) -> cst.Call:
    """Give a call a keyword, in the place of the same one where it is there."""
    new = _argument(name, value)
    for number, argument in enumerate(call.args):
        if argument.keyword is not None and argument.keyword.value == name:
            return call.with_changes(
                args=[*call.args[:number], argument.with_changes(value=new.value), *call.args[number + 1 :]]
            )
    if name == "map_location" and len([argument for argument in call.args if argument.keyword is None]) > 1:
        return call  # it is given by position
    return call.with_changes(args=[*_ended(call.args), new])


def _ended(arguments: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Return arguments after which another one may follow, on one line or each on a line of its own."""
    if not arguments:
        return []
    comma = arguments[-1].comma
    if isinstance(comma, cst.Comma) and not isinstance(comma.whitespace_after, cst.SimpleWhitespace):
        return list(arguments)
    return [
        *arguments[:-1],
        arguments[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))),
    ]


def _unwrapped(call: cst.Call, finding: Finding) -> cst.Call:
    """Ask the model itself for its state dict, and not what wraps it; not where the script copes with the prefix."""
    prefix = re.search(r"keys begin with (_orig_mod|module)\.", finding.message)
    if prefix is None or finding.severity is Severity.NOTE or not isinstance(call.func, cst.Attribute):
        return call
    inner = cst.Attribute(call.func.value, cst.Name(prefix[1]))
    return call.with_changes(func=call.func.with_changes(value=inner))


def _both_spellings(call: cst.Call) -> cst.Call:
    """Take the local rank from either spelling of the option, and from torchrun's variable without one.

    What the script takes for "not launched", -1 or None, stays what it is. A text as default goes through the option's
    type, as one from the command line does (Python's documentation of argparse).
    """
    by_name = {a.keyword.value: a for a in call.args if a.keyword is not None}
    kept = [a for a in call.args if by_name.get("required") is not a]
    first = kept[0]
    quote = first.value.quote if isinstance(first.value, cst.SimpleString) else '"'
    comma = first.comma if len(kept) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    dashed = first.with_changes(value=cst.SimpleString(f"{quote}--local-rank{quote}"), comma=comma)
    before = _code(by_name["default"].value) if "default" in by_name else "0" if "required" in by_name else ""
    number = re.fullmatch(r"-?\d+", before)
    default = f'int(os.environ.get("LOCAL_RANK", {before}))' if number else 'os.environ.get("LOCAL_RANK")'
    return _with(_call(call, [dashed, *kept]), "default", default)


def _told_the_epoch(body: list[Any], number: int, call: cst.Call) -> list[Any]:
    """Let the one loop over epochs that follows in the same block tell the sampler its epoch."""
    small = body[number].body
    assigned = small[0] if len(small) == 1 and isinstance(small[0], cst.Assign) else None
    if assigned is None or len(assigned.targets) != 1 or not assigned.value.deep_equals(call):
        return body  # in a conditional expression, say: there may be no sampler
    name = _code(assigned.targets[0].target)
    # The only loop over epochs: of several, each might want to go on counting.
    loops = [
        (at, statement)
        for at, statement in enumerate(body)
        if at > number and isinstance(statement, cst.For) and "epoch" in _code(statement.target).lower()
    ]
    if len(loops) != 1:
        return body
    at, loop = loops[0]
    if not isinstance(loop.target, cst.Name) or not isinstance(loop.body, cst.IndentedBlock):
        return body
    line = _statement(f"{name}.set_epoch({loop.target.value})")
    return [*body[:at], loop.with_deep_changes(loop.body, body=[line, *loop.body.body]), *body[at + 1 :]]


def _destroyed(body: list[Any], number: int, call: cst.Call) -> list[Any]:
    """Destroy the group at the end of the block that makes it, where the training stands in that block too."""
    if not isinstance(call.func, cst.Attribute) or not any(isinstance(s, cst.For) for s in body[number:]):
        return body
    line = _statement(f"{_code(call.func.value)}.destroy_process_group()")
    last = body[-1]
    leaves = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Return, cst.Raise))
    return [*body[:-1], line, last] if leaves else [*body, line]


def _guarded(module: cst.Module, number: int) -> cst.Module:
    """Put a file's statements from one on under the main guard; not where a function is among them."""
    end = [statement for statement in module.body[number:] if isinstance(statement, cst.SimpleStatementLine)]
    if len(end) != len(module.body) - number:
        return module
    first = end[0]
    lead = first.leading_lines
    test = cst.parse_expression('__name__ == "__main__"')
    guard = cst.If(
        test, cst.IndentedBlock([first.with_changes(leading_lines=[]), *end[1:]]), leading_lines=lead
    )
    return module.with_changes(body=[*module.body[:number], guard])
