"""The one torch that a text without an environment block names with its build: ``2.12.1+cu130``, ``1.7.1+cpu``.

Or with the CUDA beside it, as people write of what they have: ``torch 1.11.0, cuda 10.2``.
"""

import re
from collections.abc import Iterable, Iterator

from gpudoctor.facts import Distribution, Torch
from gpudoctor.importers.collect_env_torch import BUILD, built_for

_BUILD = rf"(?P<version>\d\.\d{{1,2}}\.\d{{1,2}}[\w.]{{0,20}}{BUILD})(?![\w+]|\.\w)"
_NAMED = re.compile(
    rf"\b(?:py)?torch\b['\"*]{{0,3}}(?: version)?(?: is| was| reveals| shows| says)?\W{{1,20}}{_BUILD}",
    re.IGNORECASE,
)
# "torch version is 1.11.0,cuda 10.2", "pytorch: 2.0.1 with cuda 11.7", "PyTorch 1.9.0 (CUDA 10.2)"
_BESIDE = re.compile(
    r"\b(?:py)?torch\b['\"*`]{0,3}(?: version)?(?: is| was|:|=+)? {0,3}v?(?P<release>\d\.\d{1,2}(?:\.\d)?)[`'\"]{0,2}"
    r"(?: ?[,;/(+&-]| with| and| for| built with| compiled with)? {0,2}cuda(?: version)?(?: is|:|=+|-)? {0,2}"
    r"(?P<cuda>\d{1,2}\.\d)(?![\d])",
    re.IGNORECASE,
)
# the same on two lines, one below the other, in either order
_FRONT = r"[-*\u2022\s]{0,4}(?:(?:the|my) )?(?:version (?:of )?)?"
_VERSION_IS = r"(?: version)?[`'\"*]{0,3}(?: is| was)?\s{0,3}[:=]{0,2}\s{0,3}v?"
_TORCH_ALONE = re.compile(
    _FRONT + "(?:py)?torch" + _VERSION_IS + r"(?P<release>\d\.\d{1,2}(?:\.\d)?)[.,;]?$", re.IGNORECASE
)
_CUDA_ALONE = re.compile(_FRONT + "cuda" + _VERSION_IS + r"(?P<cuda>\d{1,2}\.\d)[.,;]?$", re.IGNORECASE)
# https://pytorch.org/get-started/previous-versions/: a CUDA that no wheel of the release is for is the toolkit's, or
# the driver's, and tells nothing of torch.
_WHEELS = {
    "1.7": "9.2 10.1 10.2 11.0", "1.8": "10.1 10.2 11.1", "1.9": "10.2 11.1", "1.10": "10.2 11.1 11.3",
    "1.11": "10.2 11.3 11.5", "1.12": "10.2 11.3 11.6", "1.13": "11.6 11.7", "2.0": "11.7 11.8", "2.1": "11.8 12.1",
    "2.2": "11.8 12.1", "2.3": "11.8 12.1", "2.4": "11.8 12.1 12.4", "2.5": "11.8 12.1 12.4", "2.6": "11.8 12.4 12.6",
    "2.7": "11.8 12.6 12.8", "2.8": "12.6 12.8 12.9", "2.9": "12.6 12.8 13.0",
}  # fmt: skip
# xFormers tells what it was built for, and then what is there:
# "PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.1.2+cpu)"
_YOU_HAVE = re.compile(rf"\bPyTorch \d\S{{0,40}} with CUDA \S{{1,10}} \(you have {_BUILD}\)")
_PRINTED = re.compile(rf"['\"]?{_BUILD}['\"]?(?: (?:True|False))?$")
_ASKED = "torch.__version__"
# What somebody runs, or was told to, is not what is there.
_WANTED = re.compile(r"\binstall\b|\bdownload|https?://|\buninstall|\bupgrad|\bdowngrad", re.IGNORECASE)


# Nor is what a page asks for, what the authors had, or what was tried.
_OF_OTHERS = re.compile(
    r"\b(?:requir|recommend|read ?me|suggest|support|tested|paper|author|your|instruct|try|tried|switch|chang|should"
    r"|need|want|instead|works?\b|worked|compatib)",
    re.IGNORECASE,
)


def read(lines: Iterable[str], listed: Iterable[Distribution]) -> Torch | None:
    """Read a torch of which the build is told by its version; ``None`` where there is none, or more than one.

    ``>>> torch.__version__`` and below it ``'2.12.1+cu130'``, ``PyTorch: 2.4.0+cu121``, or a list of packages.
    """
    found: dict[str, re.Match[str]] = {}
    beside: dict[str, str] = {}
    ran: set[str] = set()
    last = ""
    for line in lines:
        if "+" in line[:400] and not _WANTED.search(line[:400]):
            there = _YOU_HAVE.search(line[:400])
            if there is not None:
                ran.add(there["version"])
            for match in [there] if there is not None else _NAMED.finditer(line[:400]):
                found[match["version"]] = match
            printed = _PRINTED.match(line[:80]) if _ASKED in last else None
            if printed is not None:
                found[printed["version"]] = printed
                ran.add(printed["version"])
        if ("uda" in line[:400].lower() or "orch" in line[:80]) and not (
            _WANTED.search(line[:400]) or _OF_OTHERS.search(line[:400])
        ):
            beside |= dict(
                _beside(line[:400]) or _below(last[:80], line[:80]) or _below(line[:80], last[:80])
            )
        last = line or last
    installed = next((d.version for d in listed if d.name == "torch"), None)
    if installed is not None:
        whole = re.fullmatch(_BUILD, installed)
        found = {installed: whole} if whole else {}
    if not found and installed is None and len(beside) == 1:
        [(version, cuda)] = beside.items()
        return Torch(imported=True, named=True, version=version, cuda=cuda)
    if len(found) != 1:
        return None
    [match] = found.values()
    return Torch(
        imported=True,
        named=match["version"] not in ran,
        version=match["version"],
        cuda=built_for(match),
        hip=match["hip"],
    )


def _beside(line: str) -> list[tuple[str, str]]:
    """Return version and CUDA of the wheels that a line names, as a wheel itself would: ``1.11.0+cu102``."""
    return [wheel for match in _BESIDE.finditer(line) for wheel in _wheel(match["release"], match["cuda"])]


def _below(torch: str, cuda: str) -> list[tuple[str, str]]:
    """Return the wheel that two lines name together: ``torch: 2.0.1`` and ``cuda: 11.8``."""
    version, toolkit = _TORCH_ALONE.match(torch), _CUDA_ALONE.match(cuda)
    return list(_wheel(version["release"], toolkit["cuda"])) if version and toolkit else []


def _wheel(named: str, cuda: str) -> Iterator[tuple[str, str]]:
    release = named if named.count(".") == 2 else f"{named}.0"
    if cuda in _WHEELS.get(release.rpartition(".")[0], "").split():
        yield f"{release}+cu{cuda.replace('.', '')}", cuda
