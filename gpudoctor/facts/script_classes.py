"""The modules that a script defines, and the parameters of its functions."""

from msgspec import Struct

from gpudoctor.facts.script_values import Place


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


__all__ = ["Attribute", "ModuleClass", "Signature"]
