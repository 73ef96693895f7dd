"""The GPU that somebody says is there, in prose: ``it wont find my gpu (RTX 3060 Ti)``, ``torch 1.11, 2x rtx 3090``."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Gpu

# Behind "NVIDIA" any model counts; without it those that mean nothing else.
_MODEL = re.compile(
    r"(?:(?<!\w)(?P<count>[1-9]\d?) ?[x\u00d7*] ?|\b)(?:"
    r"(?i:NVIDIA |GeForce )*(?P<name>(?i:RTX|GTX) ?(?:A?\d{4})(?: ?(?i:Ti|SUPER))?|(?i:Tesla [PVTMK]\d{1,3})|"
    r"(?i:Quadro|TITAN) (?i:RTX|V|Xp)(?: \d{4})?|[AHah][18]00|H20|[HB][23]00|G[BH][23]00|GB10|A10G|L40[Ss]?|[Vv]100|"
    r"(?i:Jetson )(?:AGX )?(?i:nano|TX[12]|Xavier(?: NX)?|Orin(?: Nano| NX)?|Thor))|"
    r"(?i:NVIDIA) (?P<other>(?!SM|CU|CC)(?:(?:Quadro|Tesla|RTX(?: PRO)?|TITAN) )?[A-Z]{1,2}\d{1,4}[A-Z]?"
    r"|RTX(?: PRO)? \d{4})"
    r")\b"
)
# "Video card: 3060ti", "my GPU is a 4090", "2x 3090": the number alone, where the line speaks of a card or of several.
_NUMBER = re.compile(
    r"(?:(?<!\w)(?P<count>[1-9]\d?) ?[x\u00d7*] ?|\b(?:GPUs?|cards?|graphics)\b[^\d\n]{1,24}?)"
    r"(?P<name>(?:10[5-8]|16[56]|[2-5]0[5-9])0(?: ?(?:Ti|SUPER))?)(?![\w.]| ?(?:[MG]i?B|MHz|%|tokens?|steps?|px)\b)",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:my|our|have|has|machine|with|on|using|find|detect|see|gpus?|cards?)\b", re.IGNORECASE
)
# What somebody should have, wants or compares with is not what is there.
_OTHER = re.compile(
    r"\b(?:recommend|requir|support|minimum|at least|need|buy|bought|upgrad|order|instead|compar|tested|works\b)",
    re.IGNORECASE,
)
# In one machine, and not in one each.
_OF_ONE = re.compile(
    r"\b(?:my|our|this|the|a|one|same|single) (?:\w+ ){0,2}(?:machine|server|workstation|box|rig|pc|node|system)\b"
    r"|\b(?:I|we) have\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"GPU ?#?(?P<index>\d{1,2}) ?[,:=-] ?(?:\w{1,8} )?(?:NVIDIA |GeForce )*"
    r"(?P<name>(?:RTX|GTX) ?A?\d{4}(?: ?Ti| ?SUPER)?|Tesla [PVTMK]\d{1,3}|(?:Quadro|TITAN) (?:RTX|V|Xp?)(?: \d{4})?"
    r"|[AHV][18]00|L40S?|A40|A10G?|T4|P40|K80)\b[^\w]{0,3}(?:\(.{0,40}\))?$",
    re.IGNORECASE,
)
_MOST = 16
_FEW, _SHORT = 6, 50
"""Characters beside a model's name on a line of its own."""


def read(lines: Iterable[str]) -> list[Gpu]:
    """Return the GPUs of the one model that sentences say is there; of several models none."""
    found: dict[str, int] = {}
    for line in lines:
        if "://" in line or _OTHER.search(line[:1000]):
            continue
        for match in _MODEL.finditer(line[:1000]):
            # a line of its own is what a program printed of the device
            alone = len(line) - len(match[0]) < _FEW and len(line) < _SHORT
            if match["count"] or alone or _OWN.search(line[: match.start()]):
                name = _written(match["name"] or match["other"])
                found[name] = max(found.get(name, 1), int(match["count"] or 1))
        for match in _NUMBER.finditer(line[:1000]):
            name = _written(f"{'GTX' if match['name'][0] == '1' else 'RTX'} {match['name']}")
            found[name] = max(found.get(name, 1), int(match["count"] or 1))
    if len(found) != 1:
        return []
    [(name, number)] = found.items()
    return [Gpu(index=index, name=name) for index in range(min(number, _MOST))]


def listed(lines: Iterable[str]) -> list[Gpu]:
    """Return the GPUs that somebody numbers, a line for each: ``gpu0, GTX 1080`` and below it ``gpu1, old TITAN X``."""
    found: dict[int, str] = {}
    for line in lines:
        row = _NUMBERED.match(line[:80]) if line[:3].lower() == "gpu" else None
        if row is not None and len(found) < _MOST:
            found.setdefault(int(row["index"]), _written(row["name"]))
    whole = len(found) > 1 and sorted(found) == list(range(len(found)))
    return [Gpu(index=index, name=name) for index, name in sorted(found.items())] if whole else []


def counted(lines: Iterable[str]) -> list[Gpu]:
    """Return the GPUs of several models that one sentence counts: ``4 GPUs (2x RTX 4090, 2x RTX 3090)``."""
    for line in lines:
        if ("x" not in line and "\u00d7" not in line) or "://" in line or _OTHER.search(line[:400]):
            continue
        found: dict[str, int] = {}
        for match in _MODEL.finditer(line[:400]):
            if match["count"]:
                found.setdefault(_written(match["name"] or match["other"]), int(match["count"]))
        if len(found) > 1 and sum(found.values()) <= _MOST and _OF_ONE.search(line[:400]):
            names = [name for name, number in found.items() for _ in range(number)]
            return [Gpu(index=index, name=name) for index, name in enumerate(names)]
    return []


def _written(name: str) -> str:
    """Return a model's name as NVIDIA writes it: ``rtx3090 TI`` is an ``RTX 3090 Ti``."""
    if name[:6].lower() == "jetson":
        return name.title()
    words = re.sub(r"(?<=TX)(?=A?\d)", " ", name.upper()).replace("TESLA", "Tesla")
    return re.sub(r" ?TI$", " Ti", re.sub(r"(?<=\d)SUPER$", " SUPER", words))
