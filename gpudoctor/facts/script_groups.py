"""Whether a program makes a process group: here, or where that is not seen."""

import re
import sys
from collections.abc import Iterable, Iterator

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call


def made_nowhere(script: Script, names: Iterable[str]) -> Iterator[tuple[Call, bool]]:
    """Yield the first call of some names that happens in every run of a main program in which nothing makes a group.

    With it, whether functions of other files were called before it, which are not seen to make none.
    """
    away = any(_may_set_up(name) or OF_RANKS.search(name) for name in script.imports)
    if script.frameworks or not script.complete or away or not _is_a_program(script):
        return
    for call in script.named(*names):
        if not _always(call) or {"process_group", "group", "device_mesh"} & {*call.arguments}:
            continue
        before = [c for c in script.calls[: call.number] if c.reached and c.name not in names]
        unseen = [c.method for c in before if not _of_a_library(c)]
        asked = any(_may_set_up(c.name) for c in before if "." in c.name and c.method != "__init__")
        if not asked and all(map(OF_PARTS.search, unseen)):
            yield call, bool(unseen)
        return


def _is_a_program(script: Script) -> bool:
    """Return whether a file is started itself, and is no part of what another one has begun."""
    return any(call.reached for call in script.methods("backward")) or any(
        test.kind == "main" for call in script.calls for test in call.conditions
    )


def _always(call: Call) -> bool:
    """Return whether a call happens in every run of the program, by what is seen."""
    tests = {test.kind for test in call.conditions}
    return (
        call.reached
        and not call.deferred
        and not call.starred
        and tests <= {"main"}
        and "try" not in call.contexts
    )


def _may_set_up(name: str) -> bool:
    """Return whether what is called or imported under a name may make the process group."""
    if name.partition(".")[0] in KNOWN:
        return name.startswith("torch.") and OF_TORCH.search(name) is not None
    return MAY_SET_UP.search(name.lower()) is not None or name.rpartition(".")[2] in (
        "init",
        "initialize",
        "*",
    )


OF_TORCH = re.compile(r"init_(?:process|device|rpc)|\.testing\.|Join|elastic")
"""What of torch makes a process group, or belongs to a program that has one."""
KNOWN = {
    *sys.stdlib_module_names,
    *"torch torchvision torchaudio numpy scipy pandas matplotlib PIL cv2 tqdm transformers datasets click fire typer "
    "yaml wandb sklearn einops skimage".split(),
}
"""Libraries that make no process group when they are called."""


def _of_a_library(call: Call) -> bool:
    """Return whether a call is of a builtin, the script's own function, an object's method, or a known library."""
    first, dot, _ = call.name.partition(".")
    return not dot or not first or bool(call.receiver.things) or first in KNOWN


OF_RANKS = re.compile(r"rank|slurm|mpi\b|mpi4py|horovod|world|xla", re.I)
"""What a file is called that may make the group when it is imported."""
OF_PARTS = re.compile(r"model|net|data|loader|tokenizer", re.I)
"""How functions are called that make a part of a training, and no process group."""


MAY_SET_UP = re.compile(r"dist|ddp|setup|set_up|init_|launch|env|parallel|prepare|context|engine")
"""Words in the names of functions that may make one."""


__all__ = ["MAY_SET_UP", "made_nowhere"]
