"""The places in a check's message and fixes, ``<port>``, and what a symptom's groups caught in them."""

from collections.abc import Mapping

from msgspec.structs import replace

from gpudoctor.model import Check, Fix
from gpudoctor.patterns import late_pattern

PLACE = late_pattern(r"<([a-z_]+)>")
OPTIONAL = late_pattern(r"\[([^\[\]]*<[a-z_]+>[^\[\]]*)\]")


def filled_message(check: Check, groups: Mapping[str, str], line: str) -> str:
    """Return what the log shows: a part in brackets stays where all its groups are known.

    Without a message, or with a place that is not known outside of brackets, the line itself says it.
    """
    text = OPTIONAL.sub(lambda part: part[1] if _known(part[1], groups) else "", check.message)
    if not text or not _known(text, groups):
        return f"the log says: {line[:300]}"
    return _filled(text, groups)


def quotes_no_line(check: Check, groups: Mapping[str, str]) -> bool:
    """Return whether groups alone fill a check's message: of another line with the same ones it says the same."""
    text = OPTIONAL.sub("", check.message)
    return bool(text) and _known(text, groups)


def filled_fixes(check: Check, groups: Mapping[str, str]) -> list[Fix]:
    """Return the fixes whose places are all known, filled."""
    return [
        replace(
            fix,
            summary=_filled(fix.summary, groups),
            command=_filled(fix.command, groups),
            filled=tuple(groups[place].strip() for place in sorted(_places(fix.summary + fix.command))),
        )
        for fix in check.fixes
        if _known(fix.summary, groups) and _known(fix.command, groups)
    ]


def _places(text: str) -> set[str]:
    return set(PLACE.findall(text))


def _known(text: str, groups: Mapping[str, str]) -> bool:
    return _places(text) <= set(groups)


def _filled(text: str, groups: Mapping[str, str]) -> str:
    return PLACE.sub(lambda place: groups.get(place[1], place[0]).strip(), text)
