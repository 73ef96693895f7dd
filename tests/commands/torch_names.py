"""Run under a Python with torch: are the names and keywords in these texts torch's, and do these lines run?

Reads ``{"edits": [[TEXT, MENTIONED], ...], "lines": [...], "launches": [[WORD, ...], ...]}`` and prints a list of
complaints for each, and what torch's own commands say of themselves.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.launch
import torch.distributed.run
import torch.multiprocessing as mp
import torch.utils.checkpoint
from torch import nn
from torch.distributed.flight_recorder.components.config_manager import JobConfig
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn import functional
from torch.nn.utils.rnn import pad_packed_sequence
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

NAMES = {
    "DDP": nn.parallel.DistributedDataParallel,
    "DataLoader": DataLoader,
    "DistributedDataParallel": nn.parallel.DistributedDataParallel,
    "DistributedSampler": DistributedSampler,
    "F": functional,
    "FullyShardedDataParallel": FullyShardedDataParallel,
    "ReLU": nn.ReLU,
    "ReduceOp": dist.ReduceOp,
    "checkpoint": torch.utils.checkpoint.checkpoint,
    "d": dist,
    "dist": dist,
    "fully_shard": fully_shard,
    "init_device_mesh": dist.init_device_mesh,
    "init_process_group": dist.init_process_group,
    "mp": mp,
    "nn": nn,
    "pad_packed_sequence": pad_packed_sequence,
    "torch": torch,
}
NAMES |= {
    name: importlib.import_module(name)
    for name in (
        "datetime",
        "faulthandler",
        "functools",
        "json",
        "os",
        "pickle",
        "re",
        "shutil",
        "signal",
        "socket",
        "sys",
    )
}
NAMES["Path"] = Path
"""What the names in an edit stand for, where it does not import them itself."""
KINDS = {
    torch.Tensor: "x y real fake hidden ids labels logits loss loss_a loss_d loss_g mask probabilities target targets "
    "tensor weight",
    nn.Module: "model teacher norm wrapped swa conv layer embedding",
    torch.optim.Optimizer: "optimizer optimizer_g optimizer_d",
    torch.amp.GradScaler: "scaler",
    DistributedSampler: "sampler",
    DataLoader: "loader",
}
VALUES = {name: kind for kind, names in KINDS.items() for name in names.split()}
"""What a value is by its name."""
OF_OTHERS = {
    "enable_input_require_grads": "transformers.PreTrainedModel",
    "get_input_embeddings": "transformers.PreTrainedModel",
    "resize_token_embeddings": "transformers.PreTrainedModel",
    "branch": "a part of the reader's model",
    "head": "a part of the reader's model",
    "module": "DataParallel and DistributedDataParallel",
}
"""Methods of a model that are not nn.Module's."""


class Instance:
    """A value of which the type is known."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


def complaints(text: str, *, mentioned: bool) -> list[str]:
    """Return what a text names that torch does not have; a call that is only `mentioned` may lack arguments."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [f"does not parse: {error}"]
    names = dict(NAMES)
    found: list[str] = []
    for node in ast.walk(tree):
        found += _import(node, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            try:
                _value(node, names)
            except AttributeError as error:
                found.append(str(error))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += _call(node, names)
    if mentioned:
        found = [complaint for complaint in found if "missing a required argument" not in complaint]
    return list(dict.fromkeys(found))


def _import(node: ast.AST, names: dict[str, object]) -> list[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] in ("torch", "torchvision") or alias.name in sys.stdlib_module_names:
                module = importlib.import_module(alias.name)
                names[alias.asname or alias.name.split(".")[0]] = (
                    module if alias.asname else sys.modules[alias.name.split(".")[0]]
                )
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "torch":
        module = importlib.import_module(node.module)
        missing = [a.name for a in node.names if not hasattr(module, a.name)]
        names |= {a.asname or a.name: getattr(module, a.name, None) for a in node.names}
        return [f"{node.module} has no {name}" for name in missing]
    return []


def _value(node: ast.expr, names: dict[str, object]) -> object:
    """Return what an expression stands for, ``None`` where that is not known; raise AttributeError."""
    if isinstance(node, ast.Name):
        known = names.get(node.id)
        return Instance(VALUES[node.id]) if known is None and node.id in VALUES else known
    if isinstance(node, ast.Call):
        made = _value(node.func, names)
        return Instance(made) if inspect.isclass(made) else None
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, names)
    if owner is None:
        return None
    if isinstance(owner, Instance):
        return None  # attributes may be the reader's own; methods are looked at where they are called
    if not hasattr(owner, node.attr):
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(f"{owner.__name__}.{node.attr}")
        raise AttributeError(f"{getattr(owner, '__name__', owner)} has no {node.attr}")
    return getattr(owner, node.attr)


def _call(node: ast.Call, names: dict[str, object]) -> list[str]:
    try:
        called = _value(node.func, names)
        owner = _value(node.func.value, names) if isinstance(node.func, ast.Attribute) else None
    except AttributeError:
        return []  # said before
    if isinstance(owner, Instance):
        if not owner.kind.__module__.startswith("torch"):
            return []
        if owner.kind is nn.Module and not hasattr(nn.Module, node.func.attr):
            owner = Instance(nn.parallel.DistributedDataParallel)
        if not hasattr(owner.kind, node.func.attr):
            return [] if node.func.attr in OF_OTHERS else [f"{owner.kind.__name__} has no {node.func.attr}"]
        return _arguments(node, getattr(owner.kind, node.func.attr), method=True)
    if called is None or not callable(called):
        return []
    if called is functools.partial and node.args:
        later = ast.Call(func=node.args[0], args=[ast.Constant(...)], keywords=node.keywords)
        return _call(later, names)
    return _arguments(node, called, method=False)


def _arguments(node: ast.Call, called: object, *, method: bool) -> list[str]:
    """Return which arguments a call cannot take."""
    name = ast.unparse(node.func)
    keywords = [k.arg for k in node.keywords if k.arg]
    inner = called.__name__ if hasattr(called, "__name__") else ""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        signature = None
    kinds = {p.kind for p in signature.parameters.values()} if signature else set()
    own = {n for n, p in signature.parameters.items() if p.kind.name != "VAR_KEYWORD"} if signature else set()
    if signature is None or own <= {"self", "args"}:
        stub = _stubs().get(inner)
        if stub is None:
            return []
        return [f"{name} takes no {keyword}" for keyword in keywords if keyword not in stub]
    wrong = [f"{name} takes no {keyword}" for keyword in keywords if keyword not in own]
    whole = not any(isinstance(a, ast.Starred) or _left_out(a) for a in node.args)
    if (
        not wrong
        and whole
        and all(k.arg for k in node.keywords)
        and inspect.Parameter.VAR_POSITIONAL not in kinds
    ):
        try:
            signature.bind(*[None] * (len(node.args) + method), **dict.fromkeys(keywords))
        except TypeError as error:
            wrong.append(f"{name}: {error}")
    return wrong


def _left_out(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


@functools.cache
def _stubs() -> dict[str, set[str]]:
    """Return the parameters of what is written in C++, from torch's own stubs."""
    found: dict[str, set[str]] = {}
    for stub in ("_VariableFunctions.pyi", "__init__.pyi"):
        tree = ast.parse((Path(torch.__file__).parent / "_C" / stub).read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                found.setdefault(node.name, set()).update(a.arg for a in arguments)
    return found


def ran(line: str) -> list[str]:
    """Run what stands behind ``python -c``, in an empty folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            exec(line, {"__name__": "__main__"})
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
        finally:
            os.chdir(here)
    return []


def refused(words: list[str]) -> list[str]:
    """Return what torchrun's own parser says against its arguments."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            torch.distributed.run.get_args_parser().parse_args(words)
        except SystemExit:
            return [said.getvalue().strip().splitlines()[-1]]
    return []


def main() -> None:
    asked = json.load(sys.stdin)
    answer = {
        "edits": [complaints(text, mentioned=mentioned) for text, mentioned in asked["edits"]],
        "lines": [ran(line) for line in asked["lines"]],
        "launches": [refused(words) for words in asked["launches"]],
        "torchrun": torch.distributed.run.get_args_parser().format_help(),
        "torchfrtrace": JobConfig().parser.format_help(),
        "torch.distributed.launch": torch.distributed.launch.__doc__
        + inspect.getsource(torch.distributed.launch),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
