"""One list of GPUs out of what several outputs say of them."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import fields, replace

from gpudoctor.facts import Gpu

_UNSET = {field.name: field.default for field in fields(Gpu)}
# Of these an empty list says nothing; of the throttle reasons and the processes it says that there are none.
_NEVER_EMPTY = ("nvlinks", "mig_uuids", "fabric_health", "errors")


def merged(known: list[Gpu], more: Iterable[Gpu]) -> list[Gpu]:
    """Add what `more` says of the GPUs that are known, and win where both say something; `more` is the more specific.

    A GPU is the same by its PCI address, its UUID, or its index where the names agree. One that is not among those
    known is added where none is known of its index; another machine's, of another name, is left out.
    """
    result = list(known)
    for gpu in more:
        place = _place(result, gpu)
        if place is not None:
            # of the only one there is no doubt
            result[place] = _joined(result[place], replace(gpu, unnumbered=False) if len(known) == 1 else gpu)
        elif all(other.index != gpu.index for other in result):
            result.append(gpu)
    return sorted(result, key=lambda gpu: gpu.index)


def with_lost(known: list[Gpu], lost: Iterable[Gpu]) -> list[Gpu]:
    """Add GPUs for which nvidia-smi has no handle; one without an index comes after those that it listed."""
    result = list(known)
    for gpu in lost:
        same = [
            place
            for place, other in enumerate(result)
            if (gpu.pci_address and other.pci_address == gpu.pci_address)
            or (gpu.index >= 0 and other.index == gpu.index)
        ]
        if same:
            errors = [*result[same[0]].errors, *gpu.errors]
            result[same[0]] = replace(result[same[0]], lost=gpu.lost, handle_code=gpu.handle_code)
            result[same[0]] = replace(
                result[same[0]], errors=errors, pci_address=result[same[0]].pci_address or gpu.pci_address
            )
        else:
            free = 1 + max((other.index for other in result), default=-1)
            result.append(gpu if gpu.index >= 0 else replace(gpu, index=free, unnumbered=True))
    return sorted(result, key=lambda gpu: gpu.index)


def _place(known: list[Gpu], gpu: Gpu) -> int | None:
    for place, other in enumerate(known):
        if gpu.pci_address and other.pci_address:
            if gpu.pci_address == other.pci_address:
                return place
        elif gpu.uuid and other.uuid:
            if gpu.uuid == other.uuid:
                return place
        elif gpu.index == other.index and _alike(gpu.name, other.name):
            return place
    return None


def _alike(first: str, second: str) -> bool:
    """Return whether two names may be one: the table cuts them off, and older drivers leave out the maker."""
    short, long = sorted((_bare(first), _bare(second)), key=len)
    return long.startswith(short)


def _bare(name: str) -> str:
    return name.removeprefix("NVIDIA ").removesuffix("...").strip().lower()


def _joined(known: Gpu, more: Gpu) -> Gpu:
    changes: dict[str, Any] = {}
    for name, unset in _UNSET.items():
        value = getattr(more, name)
        if name == "index" or value in (None, "", unset) or (value == [] and name in _NEVER_EMPTY):
            continue
        changes[name] = value
    if len(more.name) < len(known.name):
        changes.pop("name", None)
    if known.unnumbered and not more.unnumbered:
        changes["unnumbered"] = False
    changes["errors"] = list(dict.fromkeys([*known.errors, *more.errors]))
    return replace(known, **changes)
