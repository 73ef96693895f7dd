"""The one torch that a text without an environment block names with its build: ``2.12.1+cu130``, ``1.7.1+cpu``."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Distribution, Torch
from gpudoctor.importers.collect_env_torch import BUILD, built_for

_BUILD = rf"(?P<version>\d\.\d{{1,2}}\.\d{{1,2}}[\w.]{{0,20}}{BUILD})(?![\w+]|\.\w)"
_NAMED = re.compile(
    rf"\b(?:py)?torch\b['\"*]{{0,3}}(?: version)?(?: is| was| reveals| shows| says)?\W{{1,20}}{_BUILD}",
    re.IGNORECASE,
)
_PRINTED = re.compile(rf"['\"]?{_BUILD}['\"]?(?: (?:True|False))?$")
_ASKED = "torch.__version__"
# What somebody runs, or was told to, is not what is there.
_WANTED = re.compile(r"\binstall\b|\bdownload|https?://|\buninstall|\bupgrad|\bdowngrad", re.IGNORECASE)


def read(lines: Iterable[str], listed: Iterable[Distribution]) -> Torch | None:
    """Read a torch of which the build is told by its version; ``None`` where there is none, or more than one.

    ``>>> torch.__version__`` and below it ``'2.12.1+cu130'``, ``PyTorch: 2.4.0+cu121``, or a list of packages.
    """
    found: dict[str, re.Match[str]] = {}
    last = ""
    for line in lines:
        if "+" in line[:400] and not _WANTED.search(line[:400]):
            for match in _NAMED.finditer(line[:400]):
                found[match["version"]] = match
            printed = _PRINTED.match(line[:80]) if _ASKED in last else None
            if printed is not None:
                found[printed["version"]] = printed
        last = line or last
    installed = next((d.version for d in listed if d.name == "torch"), None)
    if installed is not None:
        whole = re.fullmatch(_BUILD, installed)
        found = {installed: whole} if whole else {}
    if len(found) != 1:
        return None
    [match] = found.values()
    return Torch(
        imported=True,
        version=match["version"],
        cuda=built_for(match),
        hip=match["hip"],
    )
