"""Opening this checkpoint runs code that the file names.

## What happens

Nothing that shows: `torch.load(path, weights_only=False)`, `pickle.load`, or any `torch.load` before 2.6 imports and
calls what the file says while it reads. With `weights_only=True` the same file is refused with "Unsupported global".

## Why

A pickle is a small program. A tensor needs a handful of harmless calls; a file can name any other function of any
package just as well, and `os.system` or `builtins.eval` are a few bytes. A file that holds a whole model
(`torch.save(model)`) names the classes of its modules; one with `args` or numpy numbers names those. They are known and
do nothing by themselves; anything else may do what its author likes.

## How to tell

`gpudoctor checkpoint inspect FILE` lists each name with the opcode and the byte, and runs none of it. A name like
`posix.system`, `builtins.exec`, `subprocess.Popen` or `runpy` has no business in a checkpoint. A class of your own code
is what you saved yourself: then the file is as safe as the place that it came from.

## See also

- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): the warning on untrusted files
- [pickle](https://docs.python.org/3/library/pickle.html): the same warning, and why
"""

import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Source
from gpudoctor.facts import CheckpointFile, Foreign

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
    """.split()
)
"""What is only made, and does nothing by that."""
FAMILIES = ("torch.nn.modules.", "torch.nn.parallel.", "torch.optim.", "numpy.dtypes.", "torchvision.models.")
"""Modules all of whose classes are such."""

check = Check(
    severity=Severity.ERROR,
    fixes=[
        Fix(
            "A file from elsewhere: do not open it. Read only tensors and plain values, and let torch refuse the rest",
            'state = torch.load("model.pt", map_location="cpu", weights_only=True)',
            Kind.EDIT,
        ),
        Fix(
            "Your own file: write it anew with tensors and plain values alone",
            'torch.save({"model": model.state_dict(), "args": vars(args), "epoch": int(epoch)}, "model.pt")',
            Kind.EDIT,
        ),
        Fix("Ask for safetensors, which cannot hold code, or write them", "pip install safetensors"),
    ],
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """What the pickle names beyond what torch itself needs; known types are a warning, all else an error."""
    if not file.foreign:
        return
    bad = [foreign for foreign in file.foreign if not known(foreign)]
    shown = sorted(bad or file.foreign, key=lambda foreign: foreign.place)
    names = list(dict.fromkeys(foreign.name for foreign in shown))
    listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    first = shown[0]
    place = f"{first.opcode} at byte {first.place} of {first.entry}"
    if bad:
        said = f"opening this file runs code: {listed} ({place}){unless(file)}"
    else:
        said = f"opening this file imports {listed}: known types, which do nothing ({place})"
    evidence = [f"{f.opcode} {f.name} at byte {f.place} of {f.entry}" for f in shown[:10]]
    look = Fix(
        "See every name, without running any", f"gpudoctor checkpoint inspect -v {shlex.quote(file.path)}"
    )
    yield check.found(
        said,
        severity=Severity.ERROR if bad else Severity.WARNING,
        source=Source.CHECKPOINT,
        evidence=evidence,
        fixes=[*check.fixes, look] if len(shown) > 10 else None,
    )


def unless(file: CheckpointFile) -> str:
    """Say what protects, where something does."""
    torch_own = file.kind in ("torch zip", "torch legacy")
    return "; torch.load(weights_only=True) refuses it" if torch_own else ""


def known(foreign: Foreign) -> bool:
    """Tell whether a name is that of a type that does nothing when it is made; any other may run anything."""
    name = foreign.name
    a_class = name.rpartition(".")[2][:1].isupper()
    return name in HARMLESS or name.startswith("numpy.dtype[") or (name.startswith(FAMILIES) and a_class)
