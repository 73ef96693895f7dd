"""What a training script does, learnt from its source without running it.

A `Script` is one program: what its file does when it is started, followed through the functions, classes and the other
files that were given, in the order in which it happens, for every rank. What is not called from there is followed by
itself.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script_calls import COLLECTIVES, Call, Exit
from gpudoctor.facts.script_classes import ModuleClass, Signature
from gpudoctor.facts.script_values import Place, Thing, Value
from gpudoctor.patterns import late_pattern

WRAPPERS = ("ddp", "dp", "fsdp", "compiled", "prepared")
"""Kinds of thing that hold a model and are called in its place."""

CUTTING = (
    *("detach", "detach_", "item", "tolist", "numpy", "Tensor", "tensor"),
    *(f"{name}_like" for name in ("zeros", "ones", "rand", "randn", "randint", "full", "empty")),
)
"""Methods and functions whose result has no graph behind it."""

UNSAFE_LOADS = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
"""The variable with which torch.load opens any pickle unless it is told otherwise (torch/serialization.py)."""


STARTS = late_pattern(
    r"(?:init|setup|set_up|start|prepare)\w*dist|(?:dist|ddp)\w*(?:init|setup)|launch|spawn", re.I
)
"""What a function is called that makes the ranks, where its file was not read."""


class Script(Struct, frozen=True, kw_only=True):
    """What one program does."""

    path: str
    calls: tuple[Call, ...] = ()
    exits: tuple[Exit, ...] = ()
    things: tuple[Thing, ...] = ()
    classes: tuple[ModuleClass, ...] = ()
    signatures: tuple[Signature, ...] = ()
    """Of the functions of its file at module level, and of its classes' methods, by their qualified names."""
    imports: dict[str, Place] = {}
    """Full names of what its file imports, and where."""
    frameworks: tuple[str, ...] = ()
    """Libraries that do these things for the user: ``lightning``, ``accelerate``, ``transformers``, ``deepspeed``."""
    notebook: bool = False
    spelled: frozenset[str] = frozenset()
    """Prefixes of wrappers' keys (``module.``) that stand written out anywhere in its files, run or not; and
    `UNSAFE_LOADS` where that does, also in the files with which its packages begin."""
    folder: frozenset[str] | None = None
    """Which of ``set_epoch``, ``backward``, ``epochs`` and ``framework`` stand anywhere in the folder that was given
    and holds it; ``None`` where no folder was given, or the program makes no sampler."""
    complete: bool = True
    """Whether the program was followed to its end; ``False`` where that would have taken too long."""
    index: dict[str, list[Call]] = {}
    """The calls by full name, and by ``*.method``; made when it is first asked for, as sixty checks ask."""
    selected: dict[str, list[Call]] = {}
    """Calls that a function of these facts has chosen from all, by its name: several checks ask for the same ones."""
    users: dict[int, list[Call]] = {}
    """By the numbers of objects the calls that are given them, or are their methods; made when first asked for."""
    answers: dict[str, bool] = {}
    """What was asked of the whole program before, by the question: ten checks ask whether it is distributed."""

    def _by(self, key: str) -> list[Call]:
        if not self.index:
            self.index[""] = []
            for call in self.calls:
                self.index.setdefault(call.name, []).append(call)
                if call.method != call.name:
                    self.index.setdefault(f"*.{call.method}", []).append(call)
        return self.index.get(key, [])

    def named(self, *names: str) -> Iterator[Call]:
        """Yield the calls of these full names, in their order."""
        if len(names) == 1:
            return iter(self._by(names[0]))
        return iter(sorted((call for name in names for call in self._by(name)), key=lambda call: call.number))

    def methods(self, method: str, *kinds: str) -> Iterator[Call]:
        """Yield the calls of a method, of objects of these kinds where some are named."""
        for call in self._by(f"*.{method}"):
            if not kinds or any(self.things[number].kind in kinds for number in call.receiver.things):
                yield call

    def of_kind(self, *kinds: str) -> Iterator[Thing]:
        """Yield the objects of these kinds."""
        return (thing for thing in self.things if thing.kind in kinds)

    def thing(self, value: Value, *kinds: str) -> Thing | None:
        """Return the first object that a value may be, of these kinds where some are named."""
        found = (self.things[number] for number in value.things)
        return next((thing for thing in found if not kinds or thing.kind in kinds), None)

    def innermost(self, thing: Thing) -> Thing:
        """Return what a wrapper holds, through all wrappers; a thing that is none is itself."""
        while thing.kind in WRAPPERS and thing.inner >= 0:
            thing = self.things[thing.inner]
        return thing

    def iterations(self, thing: Thing) -> Iterator[Call]:
        """Yield the beginnings of the loops over an object."""
        return (call for call in self.named("<loop>") if thing.number in call.receiver.things)

    def uses(self, thing: Thing) -> Iterator[Call]:
        """Yield the calls that are given an object, or are methods of it."""
        if not self.users:
            self.users[-1] = []
            for call in self.calls:
                given = [argument.value for argument in call.arguments.values()]
                for number in {number for value in (call.receiver, *given) for number in value.things}:
                    self.users.setdefault(number, []).append(call)
        return iter(self.users.get(thing.number, ()))

    def made_by(self, thing: Thing) -> Call | None:
        """Return the call that made an object."""
        return self.calls[thing.made] if thing.made >= 0 else None

    def behind(self, value: Value) -> Iterator[Call]:
        """Yield the calls that a tensor was computed by, nearest first; nothing behind a ``detach`` or its like."""
        waiting: list[Value] = [value]
        seen: set[int] = set()
        while waiting:
            source = waiting.pop(0)
            waiting += source.items
            made = source.made
            if made >= 0 and made not in seen:
                seen.add(made)
                call = self.calls[made]
                yield call
                if call.method not in CUTTING:
                    waiting += [call.receiver, *(argument.value for argument in call.arguments.values())]

    @property
    def process_group(self) -> Call | None:
        """The first call that makes the process group, ``None`` without one."""
        return next(self.named("torch.distributed.init_process_group"), None)

    @property
    def distributed(self) -> bool:
        """Whether it trains with several processes by torch itself; a group that is made for one is none."""
        if "distributed" not in self.answers:
            self.answers["distributed"] = self._distributed()
        return self.answers["distributed"]

    def _distributed(self) -> bool:
        sizes = [c.value("world_size") for c in self.named("torch.distributed.init_process_group")]
        if sizes:
            return any(not (size.is_literal and size.literal == 1) for size in sizes)
        return next(self.of_kind("ddp", "fsdp"), None) is not None or any(
            sampler.type == "torch.utils.data.DistributedSampler" and not self._able_to_share(sampler)
            for sampler in self.of_kind("sampler")
        )

    def _able_to_share(self, sampler: Thing) -> bool:
        """Return whether a share is made in another file and under a test, in a program in which nobody makes ranks.

        So it is in what uses a library that can distribute, and is asked to nowhere here.
        """
        made = self.made_by(sampler)
        asked = made is not None and any(condition.kind == "if" for condition in made.conditions)
        if not asked or sampler.place.path == self.path or self.launched:
            return False
        if "starts" not in self.answers:
            methods = {call.method for call in self.calls}
            self.answers["starts"] = any(STARTS.search(method) for method in methods)
        return not self.answers["starts"]

    @property
    def launched(self) -> bool:
        """Whether it runs under a launcher alone: without any test it reads what one sets, or calls a collective."""
        return any(
            call.reached
            and (call.collective or call.variable in OF_A_RANK)
            and all(condition.kind == "main" for condition in call.conditions)
            for name in ("os.environ.__getitem__", *COLLECTIVES)
            for call in self._by(name)
        )


OF_A_RANK = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK"})
"""Variables that a launcher sets for each rank."""

__all__ = ["UNSAFE_LOADS", "WRAPPERS", "Script"]
