"""``lsmod | grep nvidia`` without an answer -> NVIDIA's kernel module is not loaded."""

import re
from collections.abc import Iterable

_ASKED = re.compile(
    r"(?P<prompt>[^$#%>]{0,80}[$#%>] ?)(?:sudo )?lsmod ?\| ?grep (?:-i )?['\"^]{0,2}nvidia['\"]?$"
)


def unloaded(lines: Iterable[str]) -> bool:
    """Return whether the shell shows its prompt again right below the command: it printed nothing.

    ``$ lsmod | grep nvidia`` and below it ``$ lspci | grep NVIDIA``
    """
    prompt = ""
    for line in lines:
        if prompt and line.startswith(prompt.rstrip()):
            return True
        match = _ASKED.match(line[:200]) if "lsmod" in line[:120] else None
        prompt = match["prompt"] if match is not None else ""
    return False
