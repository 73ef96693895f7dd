"""Network interfaces of which a text does not show the addresses."""

from msgspec import Struct

from gpudoctor.facts.interfaces import Interface


class Links(Struct, frozen=True, kw_only=True):
    """What ``ip link`` shows; no probe asks for it, since those learn the addresses too."""

    all: list[Interface] = []
    """Their addresses are not known."""

    def named(self, name: str) -> Interface | None:
        """Return the interface of this name, or ``None``."""
        return next((one for one in self.all if one.name == name), None)
