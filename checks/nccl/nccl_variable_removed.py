"""A variable that this NCCL or torch no longer reads.

## What happens

Nothing: what the variable once asked for does not happen any more, and nobody says so. It was copied from an old script,
or torch was upgraded around it.

## Why

| variable | today |
|---|---|
| NCCL_TREE_THRESHOLD, NCCL_LL_THRESHOLD, NCCL_SINGLE_RING_THRESHOLD | NCCL chooses by a model of its own; NCCL_ALGO and NCCL_PROTO force a choice |
| NCCL_RINGS | NCCL_GRAPH_FILE |
| NCCL_IB_CUDA_SUPPORT, NCCL_IB_GDR_LEVEL | NCCL_NET_GDR_LEVEL |
| NCCL_CHECKS_DISABLE | checks are off by default; NCCL_CHECK_MODE=DEBUG_LOCAL turns them on (before 2.29.7 NCCL_CHECK_POINTERS=1) |
| TORCH_NCCL_AVOID_RECORD_STREAMS | what it asked for is always done (pytorch#194701) |
| TORCH_NCCL_ABORT_IN_DESTROY_PG | `destroy_process_group()` and abort are two calls |

gpudoctor looks into the libraries that are installed here: a name that they do not contain is not read.

## How to tell

`NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV` prints "NAME set by environment to VALUE" for what NCCL took; a removed name is not among it.

## See also

- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): what there is today
- [pytorch#194701](https://github.com/pytorch/pytorch/pull/194701): TORCH_NCCL_AVOID_RECORD_STREAMS goes
"""

import shlex
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import (
    HARMLESS,
    REMOVED,
    RENAMED,
    Launch,
    NcclConfiguration,
    Setting,
    Torch,
    Variables,
    settings,
)

# None of NCCL 2.14's strings has them, of which torch 2.0 is; of others the release in which they went is not certain.
BEFORE_TORCH_2 = frozenset(
    "NCCL_CHECKS_DISABLE NCCL_IB_CUDA_SUPPORT NCCL_TREE_THRESHOLD NCCL_LL_THRESHOLD NCCL_SINGLE_RING_THRESHOLD "
    "NCCL_RINGS NCCL_IB_GDR_LEVEL".split()
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for what does no harm",
    fixes=[
        Fix(
            "See what NCCL takes, and how it reads it",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV torchrun --standalone --nproc-per-node=N train.py",
        )
    ],
)


@check.environment
def environment(
    launch: Launch, variables: Variables | None, configuration: NcclConfiguration | None, torch: Torch | None
) -> Iterator[Finding]:
    """A variable of an older NCCL or torch is set, and the installed one does not hold its name."""
    known = settings(launch, configuration)
    old = [known[name] for name in (*REMOVED, *RENAMED) if name in known]
    if not old:
        return
    if torch is not None and torch.hip:  # RCCL's names are its own
        return
    if variables is None:
        gone = [setting for setting in old if setting.name in BEFORE_TORCH_2] if _is_2(torch) else []
        for setting in gone:
            yield _found(setting, known)
        if not gone:
            raise CannotTell("which variables the installed libraries read is not known")
        return
    for setting in old:
        if setting.name not in variables.names and _looked_at(setting.name, variables):
            yield _found(setting, known)


def _is_2(torch: Torch | None) -> bool:
    """Return whether torch is 2.0 or newer, and for CUDA: it comes with NCCL 2.14 or a newer one."""
    version = torch.version if torch is not None and torch.cuda else None
    return (
        version is not None and version.partition(".")[0].isdecimal() and int(version.partition(".")[0]) >= 2
    )


def _looked_at(name: str, variables: Variables) -> bool:
    """Return whether the libraries that once read it were found; torch without CUDA never did."""
    if name.startswith("PYTORCH_"):
        return variables.torch and bool(variables.allocator_options)
    return variables.nccl is not None and (variables.torch or not name.startswith("TORCH_"))


def _found(setting: Setting, known: dict[str, Setting]) -> Finding:
    name, new = setting.name, RENAMED.get(setting.name)
    note = Severity.NOTE if name in HARMLESS else Severity.WARNING
    gone = f"{setting}: the installed {'torch' if name.startswith(('TORCH', 'PYTORCH')) else 'NCCL'} no longer reads it"
    if name in REMOVED or new is None:
        return check.found(
            f"{gone}; {REMOVED[name]}", severity=note, fixes=[Fix(setting.removal(), setting.removal_command)]
        )
    if new in known:
        message = f"{gone}, and {known[new]} is what counts"
        return check.found(
            message, severity=Severity.NOTE, fixes=[Fix(setting.removal(), setting.removal_command)]
        )
    rename = Fix("Use the name of today", f"export {new}={shlex.quote(setting.value)}; unset {name}")
    return check.found(f"{gone}; it is {new} now", severity=note, fixes=[rename])
