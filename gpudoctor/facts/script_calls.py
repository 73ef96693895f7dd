"""What a script calls, and where it leaves a function, a loop or the program."""

from msgspec import Struct

from gpudoctor.facts.script_conditions import Condition, Loop
from gpudoctor.facts.script_values import UNKNOWN, Place, Thing, Value

COLLECTIVES = frozenset(
    f"torch.distributed.{name}"
    for name in """all_reduce all_gather all_gather_object all_gather_into_tensor all_to_all all_to_all_single barrier
    broadcast broadcast_object_list gather gather_object monitored_barrier new_group reduce reduce_scatter
    reduce_scatter_tensor scatter scatter_object_list all_reduce_coalesced all_gather_coalesced new_subgroups
    """.split()
)
"""Functions that every rank of their group has to call, in the same order (torch.distributed's documentation)."""


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
    ``<yield>`` where a generator hands over under a test, ``<asserted>`` for an assertion that holds where there are
    several ranks, ``<carried>`` for a name that a loop's body computes from itself and goes back through,
    ``<kept>.tensor.__get__`` where a data set takes a sample from a tensor that it holds,
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


__all__ = ["COLLECTIVES", "Argument", "Call", "Exit"]
