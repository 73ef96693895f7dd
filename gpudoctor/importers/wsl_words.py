"""What only a text from WSL has: its kernel's name, ``wsl --version``, the box that WSL's issue form lets one tick."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Host

_WSL = re.compile(
    r"\d-microsoft-standard(?:-WSL2|\b)|^[-*] \[[xX]\] WSL 2$|^WSL version: \d\.\d{1,2}\.\d|\bwsl\.exe --version\b"
    # what somebody cannot do there: "in WSL2 it works" is of another system
    r"|\b(?:n[o']t|never|cannot|fails?|no) .{0,60}\b(?:in|inside|under|within|from) (?:the |my )?WSL ?2?\b(?! ?[:/])"
)


def read(lines: Iterable[str]) -> Host | None:
    """Return a machine of which nothing but that is known; ``None`` where no line shows it.

    ``Linux version 5.15.153.1-microsoft-standard-WSL2 (root@…)``, ``- [X] WSL 2``
    """
    shown = any(("icrosoft" in line or "WSL" in line) and _WSL.search(line[:400]) for line in lines)
    return Host(system="Linux", wsl=True) if shown else None
