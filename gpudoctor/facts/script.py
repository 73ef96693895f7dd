"""What a training script does, learnt from its source without running it.

A `Script` is one program: what its file does when it is started, followed through the functions, classes and the other
files that were given, in the order in which it happens, for every rank. What is not called from there is followed by
itself.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script_values import CHANGES, UNKNOWN, Known, Place, Thing, Value

COLLECTIVES = frozenset(
    f"torch.distributed.{name}"
    for name in """all_reduce all_gather all_gather_object all_gather_into_tensor all_to_all all_to_all_single barrier
    broadcast broadcast_object_list gather gather_object monitored_barrier new_group reduce reduce_scatter
    reduce_scatter_tensor scatter scatter_object_list all_reduce_coalesced all_gather_coalesced new_subgroups
    """.split()
)
"""Functions that every rank of their group has to call, in the same order (torch.distributed's documentation)."""
WRAPPERS = ("ddp", "dp", "fsdp", "compiled", "prepared")
"""Kinds of thing that hold a model and are called in its place."""

EQUALS = re.compile(r"(?P<what>[\w.]+) == (?P<quote>['\"])(?P<text>\w*)(?P=quote)")
"""A test for one text, such as ``args.device == "cpu"``."""
HOLDS = re.compile(r"(?P<quote>['\"])(?P<text>\w+)(?P=quote) in (?P<what>[\w.]+)")
"""A test for a part of a text, such as ``"cuda" in args.device``."""


CUTTING = (
    *("detach", "detach_", "item", "tolist", "numpy", "Tensor", "tensor"),
    *(f"{name}_like" for name in ("zeros", "ones", "rand", "randn", "randint", "full", "empty")),
)
"""Methods and functions whose result has no graph behind it."""


UNSAFE_LOADS = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
"""The variable with which torch.load opens any pickle unless it is told otherwise (torch/serialization.py)."""


class Condition(Struct, frozen=True):
    """A test under which something stands, or an exit above it that some may have taken."""

    place: Place
    text: str
    """Its source, as it is written; it holds, or does not where `negated`."""
    value: Value = UNKNOWN
    negated: bool = False
    early: bool = False
    """It stands after an ``if`` whose body leaves: what follows happens where that was not taken."""
    loops: int = 0
    """How many loops stand around it."""
    kind: str = "if"
    """``if``, ``while``, ``except``, ``main`` (``if __name__ == "__main__"``), ``type_checking`` or ``match``."""

    @property
    def by_rank(self) -> bool:
        """Whether it may hold on some ranks and not on others because it asks for the rank."""
        return self.value.by_rank

    @property
    def rank(self) -> int | None:
        """The one rank for which what stands under it happens: 0 under ``if rank == 0:``."""
        return self.value.all_but if self.negated else self.value.sole

    @property
    def from_data(self) -> bool:
        """Whether it may hold on some ranks and not on others because it asks for what this rank computed."""
        return self.value.from_data and not self.value.by_rank

    @property
    def impossible(self) -> bool:
        """Whether it is known not to hold here: a function was told the number, or flag, that it asks for."""
        value = self.value
        if value.is_literal:
            return bool(value.literal) is self.negated
        if value.text not in ("Eq", "NotEq") or len(value.items) != 2:
            return False
        left, right = value.items
        if not (left.is_literal and right.is_literal) or CHANGES in (left.text, right.text):
            return False
        return (left.literal == right.literal) is ((value.text == "Eq") is self.negated)

    def _opposite_part(self, other: "Condition") -> bool:
        """Return whether a part of this test, which holds with all of them, is the opposite of one of the other's."""
        texts = [_bare(test.text) for test in (self, other)]
        if any(" or " in text for text in texts):
            return False
        own, others = ({_bare(part) for part in text.split(" and ")} for text in texts)
        return any(f"not {part}" in others for part in own) or any(f"not {part}" in own for part in others)

    def follows_from(self, other: "Condition") -> bool:
        """Return whether it surely holds with another test: ``not (many and not ddp)`` where ``ddp`` holds."""
        if not self.negated or self.by_rank is False or " or " in self.text or other.text == self.text:
            return False
        parts = {_bare(part) for part in self.text.split(" and ")}
        return (
            len(parts) > 1 and (_bare(other.text) if other.negated else f"not {_bare(other.text)}") in parts
        )

    def _same(self, other: "Condition") -> bool:
        """Return whether both ask for one value by two names: ``multi``, and ``self.multi`` that was given it."""
        names = [test.text.rpartition(".")[2] for test in (self, other)]
        return (
            names[0] == names[1]
            and names[0].isidentifier()
            and self.value == other.value
            and (self.value.made >= 0 or self.value.text.rpartition(".")[2] == names[0])
        )

    def excludes(self, other: "Condition") -> bool:
        """Whether both cannot hold: the same test and its opposite, or ``device == "cpu"`` and ``"cuda" in device``."""
        if self.text == other.text or self._same(other):
            return self.negated != other.negated
        if self.negated or other.negated:
            return False
        if " and " in self.text or " and " in other.text:
            return self._opposite_part(other)
        own, others = EQUALS.fullmatch(self.text), EQUALS.fullmatch(other.text)
        if own and others:
            return own["what"] == others["what"] and own["text"] != others["text"]
        equal, held = (own, HOLDS.fullmatch(other.text)) if own else (others, HOLDS.fullmatch(self.text))
        return (
            equal is not None
            and held is not None
            and held["what"] == equal["what"]
            and held["text"] not in equal["text"]
        )


def _bare(test: str) -> str:
    """Return a part of a test without the parentheses around it."""
    test = test.strip()
    return test[1:-1] if test.startswith("(") and test.endswith(")") else test


class Loop(Struct, frozen=True):
    """A loop around something."""

    place: Place
    kind: str
    """``epoch`` (over epochs), ``batch`` (over a loader), ``while`` or ``for``."""
    over: Value = UNKNOWN
    target: str = ""
    """The name of its variable, the first where there are several."""
    scope: str = ""
    """The function that it stands in."""


class Argument(Struct, frozen=True):
    """An argument of a call."""

    value: Value
    place: Place
    text: str = ""


class Call(Struct, frozen=True, kw_only=True):
    """Something that the script calls, in the order in which it happens."""

    number: int
    name: str
    """Full name: ``torch.distributed.barrier``; of a method the type of its object and the method,
    ``torch.optim.SGD.step``; where the object is not known ``.step``. ``X.__call__`` where an object is called,
    ``os.environ.__setitem__`` for an assignment to a subscript, ``NAME.attribute.__set__`` to an attribute,
    ``<augmented>`` for ``x += ...``, ``<part>`` for a slice of a list that was shuffled, ``<every nth>`` for one
    that takes every n-th item from the local rank on, ``<discarded>`` for a
    computation whose result goes nowhere, ``<loop>`` where a loop's body begins, its `receiver` what is iterated, and
    ``<yield>`` where a generator hands over under a test,
    ``NAME.__unbound__`` where a name is used that was assigned under a rank condition alone; ``X.attribute.__get__``
    where a wrapper's own attribute is read, ``<entry>.attribute.__get__`` where one of what a loaded file holds is."""
    place: Place
    method: str = ""
    """The last part of its name."""
    text: str = ""
    """The source of the function that is called, as it is written."""
    arguments: dict[str, Argument] = {}
    """By keyword; those given by position too where the function is known, else by their number: ``"0"``."""
    starred: bool = False
    """It has ``*args`` or ``**kwargs``: more arguments than `arguments` may be given."""
    receiver: Value = UNKNOWN
    """The object whose method it is."""
    result: Value = UNKNOWN
    used: bool = True
    """Whether its result goes anywhere; ``False`` for a statement of its own."""
    scope: str = "<module>"
    """The qualified name of the function in which it is written."""
    stack: tuple[Place, ...] = ()
    """The calls that lead to it from where the program starts, outermost first."""
    conditions: tuple[Condition, ...] = ()
    """Under what it stands, outermost first, also in the functions of `stack`."""
    loops: tuple[Loop, ...] = ()
    contexts: tuple[str, ...] = ()
    """The full names of what was called in the ``with`` statements around it."""
    reached: bool = True
    """Whether the program comes here; ``False`` for functions that are only defined."""
    spawned: bool = False
    """It happens in a process that the script starts: mp.spawn or Process."""
    deferred: bool = False
    """It happens in a function that was handed to somebody else, who calls it: nobody knows when."""

    @property
    def collective(self) -> bool:
        """Whether every rank of the group has to take part."""
        return self.name in COLLECTIVES

    def value(self, name: str) -> Value:
        """Return an argument's value, unknown where it is not given."""
        given = self.arguments.get(name)
        return given.value if given else UNKNOWN

    def given(self, name: str) -> bool:
        """Return whether an argument is given, or may be by ``**kwargs``."""
        return name in self.arguments or self.starred

    def takes(self, thing: Thing) -> bool:
        """Return whether an object may be one of its arguments."""
        return any(thing.number in argument.value.things for argument in self.arguments.values())

    @property
    def variable(self) -> str:
        """The environment variable that it reads or sets, empty where that is none or not known."""
        key = self.value("key").literal if self.name.startswith("os.") else ""
        return key if isinstance(key, str) else ""

    @property
    def each_time(self) -> bool:
        """Whether it happens every time that the innermost loop around it goes round."""
        return all(condition.loops < len(self.loops) for condition in self.conditions)

    @property
    def contradictory(self) -> bool:
        """Whether two of its tests exclude each other: ``train(0)`` under ``else``, and in it the same test again."""
        return self.excluded(self)

    def excluded(self, other: "Call") -> bool:
        """Return whether what it stands under cannot hold together with what another call stands under."""
        tests = [c for c in other.conditions if c.kind == "if"]
        return any(one.excludes(test) for one in self.conditions if one.kind == "if" for test in tests)

    def of_class(self, name: str, method: str = "") -> bool:
        """Return whether it stands in a method of one of the script's classes, or in the one of that name."""
        path, _, plain = name.rpartition("::")
        inside = self.scope == f"{plain}.{method}" if method else self.scope.startswith(f"{plain}.")
        return inside and (not path or path == self.place.path)

    @property
    def rank_conditions(self) -> tuple[Condition, ...]:
        """The conditions of which only some ranks pass because they ask for the rank."""
        found = tuple(condition for condition in self.conditions if condition.by_rank)
        return tuple(c for c in found if not any(map(c.follows_from, self.conditions))) if found else ()

    def apart(self, *makers: "Call") -> tuple[Condition, ...]:
        """The rank conditions that are left where what these calls made is used."""
        found = self.rank_conditions
        if not found or not makers:
            return found
        return tuple(c for c in found if not all(any(map(c.follows_from, m.conditions)) for m in makers))

    def within(self, kind: str) -> Loop | None:
        """Return the innermost loop of a kind around it."""
        return next((loop for loop in reversed(self.loops) if loop.kind == kind), None)


class Signature(Struct, frozen=True, kw_only=True):
    """The parameters of a function of the script."""

    name: str
    place: Place
    parameters: tuple[str, ...] = ()
    """Names of those that may be given by position, ``self`` left out."""
    required: int = 0
    """How many of them have no default."""
    variadic: bool = False
    """It takes ``*args``."""


class Exit(Struct, frozen=True, kw_only=True):
    """A place where a function, a loop or the program may be left."""

    number: int
    """The number of calls that happened before it."""
    kind: str
    """``break``, ``continue``, ``return``, ``raise`` or ``exit``."""
    place: Place
    scope: str = "<module>"
    conditions: tuple[Condition, ...] = ()
    loops: tuple[Loop, ...] = ()
    value: Value = UNKNOWN
    """Of a ``return``: what is returned."""


class Attribute(Struct, frozen=True, kw_only=True):
    """A part of a module: what ``__init__`` assigns to an attribute of ``self``."""

    name: str
    type: str
    """The full name of what makes it; empty where that is not known."""
    place: Place
    module: bool = False
    """Whether it is an nn.Module, so that its parameters are the model's."""
    kept: bool = False
    """Whether its new value is made of its old one: ``self.steps = self.steps + 1``."""


class ModuleClass(Struct, frozen=True, kw_only=True):
    """A class of the script that is an nn.Module."""

    name: str
    """As things have it as their type: with its file, where that is another one than the program begins with."""
    place: Place
    bases: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    methods: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()
    """Attributes of ``self`` that are read in any method but ``__init__``."""
    used_in_forward: frozenset[str] = frozenset()
    """Attributes of ``self`` that ``forward`` reads, or methods that it calls do."""
    dynamic: bool = False
    """Attributes are reached by other ways: getattr, self.children(), modules(), __dict__, a base class's forward."""
    written_in_forward: tuple[Attribute, ...] = ()
    """Attributes of ``self`` that ``forward`` assigns to."""

    @property
    def own_name(self) -> str:
        """Its name as it is written, with which the scopes of its methods begin."""
        return self.name.rpartition("::")[2]


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
        for call in self.calls:
            if thing.number in call.receiver.things or call.takes(thing):
                yield call

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
        sizes = [c.value("world_size") for c in self.named("torch.distributed.init_process_group")]
        if sizes:
            return any(not (size.is_literal and size.literal == 1) for size in sizes)
        return next(self.of_kind("ddp", "fsdp"), None) is not None or any(
            sampler.type == "torch.utils.data.DistributedSampler" for sampler in self.of_kind("sampler")
        )

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

__all__ = [
    "COLLECTIVES", "UNSAFE_LOADS", "WRAPPERS", "Argument", "Attribute", "Call", "Condition", "Exit", "Known", "Loop",
    "ModuleClass", "Script", "Signature",
]  # fmt: skip
