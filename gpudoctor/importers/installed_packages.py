"""What is installed, by every list of a text together, and whether torchvision's operators loaded."""

import re

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts import Distributions, Torch, Torchvision
from gpudoctor.facts.distributions import normal_name
from gpudoctor.importers import collect_env, conda_plans, package_lists

# What torchvision's import and its first operator say; the releases may belong together all the same.
_OPERATORS = re.compile(
    r"operator torchvision::\w+ does not exist|No such operator torchvision::\w+"
    r"|torchvision[/\\]_C\S{0,60}: undefined symbol|Could not run 'torchvision::\w+' with arguments"
    r"|Couldn't load custom C\+\+ ops"
)


def read(pieces: list[str], found: dict[str, Struct | str | None]) -> dict[str, Struct | str | None]:
    """Read the lists of a text beside those of its block, `found`; empty where they add nothing."""
    known = found.get("distributions")
    own = list(known.installed) if isinstance(known, Distributions) else []
    names = {normal_name(d.name) for d in own}
    listed = package_lists.read(pieces)
    if not listed and not own:
        listed = package_lists.typed(pieces) or conda_plans.read(pieces)[0]
    more = [d for d in listed if normal_name(d.name) not in names]
    if not more:
        return {}
    torch = found.get("torch")
    both = Distributions(installed=own + more)
    version = torch.version if isinstance(torch, Torch) else None
    vision = found.get("torchvision") or collect_env.torchvision(both, version)
    return {"distributions": both, "torchvision": _with_operators(vision, pieces)}


def _with_operators(vision: Struct | str | None, pieces: list[str]) -> Struct | str | None:
    """Add that the operators did not load, where the text has torchvision's own words for it."""
    line = next((line for line in pieces if "orch" in line and _OPERATORS.search(line[:1000])), None)
    if line is None or not isinstance(vision, Torchvision):
        return vision
    return replace(vision, operators_load=False, operators_error=line[:400])
