"""Opening this checkpoint imports or runs what the file names.

## What happens

Nothing that shows: `torch.load(path, weights_only=False)`, `pickle.load`, or any `torch.load` before 2.6 imports and
calls what the file says while it reads. With `weights_only=True` the same file is refused with "Unsupported global".

## Why

A pickle is a small program. A tensor needs a handful of harmless calls; a file can name any other function of any
package just as well, and `os.system` or `builtins.eval` are a few bytes. A file that holds a whole model
(`torch.save(model)`) names the classes of its modules; one with `args` or numpy numbers names those, and the
`training_args.bin` of transformers those of its settings. Classes of torch, numpy, omegaconf, transformers and
accelerate that only hold values do nothing when they are made: such a file is no more than a note here, and
`checkpoint-weights-only` where torch.load refuses it.
Anything else may do what its author likes.

## How to tell

`gpudoctor checkpoint inspect FILE` lists each name with the opcode and the byte, and runs none of it. A name like
`posix.system`, `builtins.exec`, `subprocess.Popen` or `runpy` does not belong in a checkpoint. A class of your own code
is what you saved yourself: then the file is as safe as the place that it came from.

## See also

- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): the warning on untrusted files
- [pickle](https://docs.python.org/3/library/pickle.html): the same warning, and why
"""

import re
import shlex
import sys
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, listed
from gpudoctor.facts import CheckpointFile, Foreign, Format

HARMLESS = frozenset(
    """
    argparse.Namespace types.SimpleNamespace collections.deque collections.defaultdict collections.namedtuple
    builtins.dict builtins.list builtins.tuple builtins.set builtins.frozenset builtins.int builtins.float
    builtins.str builtins.bool builtins.bytes builtins.slice builtins.range builtins.object
    __builtin__.dict __builtin__.list __builtin__.tuple __builtin__.frozenset __builtin__.int __builtin__.long
    __builtin__.float __builtin__.str __builtin__.unicode __builtin__.bool __builtin__.object __builtin__.slice
    copy_reg._reconstructor copyreg._reconstructor
    datetime.datetime datetime.date datetime.time datetime.timedelta datetime.timezone
    decimal.Decimal fractions.Fraction uuid.UUID uuid.SafeUUID
    pathlib.Path pathlib.PosixPath pathlib.WindowsPath pathlib.PurePosixPath pathlib.PureWindowsPath pathlib.PurePath
    pathlib._local.PosixPath pathlib._local.WindowsPath pathlib._local.Path
    numpy.ndarray numpy.dtype numpy.core.multiarray._reconstruct numpy.core.multiarray.scalar
    numpy._core.multiarray._reconstruct numpy._core.multiarray.scalar numpy.core.numeric._frombuffer
    numpy._core.numeric._frombuffer numpy.random._pickle.__randomstate_ctor numpy.random._pickle.__generator_ctor
    numpy.random._pickle.__bit_generator_ctor numpy.random._mt19937.MT19937 numpy.random._pcg64.PCG64
    numpy.random.mtrand.RandomState
    torch._C._nn.gelu torch.nn.functional.relu torch.nn.functional.gelu
    torch._utils._rebuild_parameter_with_state torch.utils.hooks.BackwardHook
    omegaconf.dictconfig.DictConfig omegaconf.listconfig.ListConfig omegaconf.base.ContainerMetadata
    omegaconf.base.Metadata omegaconf.nodes.AnyNode omegaconf.nodes.StringNode omegaconf.nodes.IntegerNode
    omegaconf.nodes.FloatNode omegaconf.nodes.BooleanNode typing.Any
    torch.ScriptObject torch._C.ScriptObject torch.distributed.remote_device._remote_device
    numpy.random._sfc64.SFC64 numpy.random._philox.Philox numpy.random._generator.Generator
    numpy.random.bit_generator.SeedSequence
    lightning.fabric.utilities.data.AttributeDict lightning_fabric.utilities.data.AttributeDict
    lightning.pytorch.utilities.parsing.AttributeDict pytorch_lightning.utilities.parsing.AttributeDict
    """.split()
)
"""What is only made, and does nothing by that."""
FAMILIES = tuple(
    """
    torch.nn. torch.nn.modules. torch.nn.parallel. torch.nn.parameter. torch.nn.utils. torch.nn.quantized.
    torch.nn.quantizable. torch.nn.intrinsic. torch.nn.qat. torch.optim. torch.optim.lr_scheduler. torch.optim.swa_utils.
    torch.ao.nn. torch.ao.quantization.qconfig. torch.ao.quantization.observer. torch.ao.quantization.fake_quantize.
    torch.ao.quantization.stubs. torch.ao.quantization.quant_type. torch.ao.pruning.
    torch.distributed._shard.sharded_tensor. torch.distributed._shard.sharding_spec.
    torch.distributed._shard.metadata. torch.distributed.tensor. torch.distributed._tensor. torch.distributed.device_mesh.
    torch.distributed.fsdp. torch.distributed.algorithms._checkpoint. torch.distributed.checkpoint.metadata.
    torchvision.models. torchvision.ops. numpy.dtypes.
    transformers.training_args. transformers.training_args_seq2seq. transformers.trainer_utils.
    transformers.trainer_pt_utils. transformers.debug_utils. transformers.generation.configuration_utils.
    accelerate.state. accelerate.utils.dataclasses.
    omegaconf.dictconfig. omegaconf.listconfig. omegaconf.base. omegaconf.nodes.
    """.split()
)
"""Modules and packages whose own classes do nothing when they are made: they hold values, layers, settings."""
CLASS = re.compile(r"(?:[a-z_][a-z0-9_]*\.){0,4}_?[A-Z]\w*")
"""A class in a module of such a package; functions have small letters."""
NUMBER = re.compile(
    r"numpy\.(?:(?:u?int|float|complex)\d*|bool_?|str_|bytes_|longlong|ulonglong|datetime64|timedelta64)"
)
ELSEWHERE = (
    frozenset(
        "torch torchvision numpy np transformers accelerate omegaconf experimental feature_extraction".split()
    )
    | sys.stdlib_module_names
)
"""Modules that those packages import: through one of them everything else can be reached, ``…module.os.…``; and two that work with code."""
RUNNING = frozenset(
    "Popen Process Pool Thread ProcessPoolExecutor ThreadPoolExecutor GraphModule CodeOnlyModule HfApi".split()
)
"""Classes that packages import by name and that run something when they are made."""

REFUSE = Fix(
    "A file from elsewhere: do not open it. Read only tensors and plain values, and let torch refuse the rest",
    'state = torch.load("model.pt", map_location="cpu", weights_only=True)',
    Kind.EDIT,
)
ANEW = Fix(
    "Your own file: write it again, with tensors and plain values alone",
    'torch.save({"model": model.state_dict(), "args": vars(args), "epoch": int(epoch)}, "model.pt")',
    Kind.EDIT,
)
ANEW_WITH_TORCH = Fix(
    "Your own file: open it where you wrote it, and save its tensors and plain values with torch",
    ANEW.command,
    Kind.EDIT,
)
SAFETENSORS = Fix(
    "Ask for safetensors, which cannot hold code, or write them", "python -m pip install safetensors"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for known classes that only hold values",
    fixes=[REFUSE, ANEW, SAFETENSORS],
    no_reproduction="the file loads without an error",
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """What the pickle names beyond what torch itself needs; types that are only made are a note."""
    if not file.foreign:
        return
    bad = [foreign for foreign in file.foreign if not known(foreign)]
    shown = sorted(bad or file.foreign, key=lambda foreign: foreign.place)
    names = list(dict.fromkeys(foreign.name for foreign in shown))
    first = listed(names, 2)
    place = f"{shown[0].opcode} at byte {shown[0].place} of {shown[0].entry}"
    if bad:
        said = f"opening this file runs code: {first} ({place}){unless(file)}"
    else:
        said = f"opening this file imports {first}, known types which only hold values ({place})"
    yield check.found(
        said,
        severity=Severity.ERROR if bad else Severity.NOTE,
        evidence=[f"{f.opcode} {f.name} at byte {f.place} of {f.entry}" for f in shown[:10]],
        fixes=offered(file, len(shown)),
    )


def offered(file: CheckpointFile, names: int) -> list[Fix]:
    """Return what to do about a file; torch.load reads no pickle that it has not written, however it is asked."""
    look = Fix(
        "See every name, without running any", f"gpudoctor checkpoint inspect -v {shlex.quote(file.path)}"
    )
    if file.kind == Format.PICKLE:
        return [look, ANEW_WITH_TORCH, SAFETENSORS]
    return [*check.fixes, look] if names > 10 else list(check.fixes)


def unless(file: CheckpointFile) -> str:
    """Say what protects, where something does."""
    torch_own = file.kind in (Format.TORCH_ZIP, Format.TORCH_LEGACY)
    return "; torch.load(weights_only=True) refuses it" if torch_own else ""


def known(foreign: Foreign) -> bool:
    """Return whether a name is that of a type that does nothing when it is made; any other may run anything."""
    name = foreign.name
    if name in HARMLESS or name.startswith("numpy.dtype[") or NUMBER.fullmatch(name):
        return True
    family = max((family for family in FAMILIES if name.startswith(family)), key=len, default=None)
    if family is None or not CLASS.fullmatch(name, len(family)):
        return False
    *modules, own = name[len(family) :].split(".")
    return ELSEWHERE.isdisjoint(modules) and own.lstrip("_") not in RUNNING
