"""The head that NCCL prints with NCCL_DEBUG=INFO -> the interfaces that it took."""

import re
from collections.abc import Iterable

from gpudoctor.facts import NcclStart

# "host:process:thread [device] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>"; until 2.8 "Using [0]eth0:…", until 2.4
# "NET : Using interface lo:127.0.0.1<0>"
_TAKEN = re.compile(
    r"(?:(?:^|\s)(?P<host>[\w.-]{1,80}):\d{1,8}:\d{1,8} (?:\[\d{1,3}\] )?|^)(?:NCCL )?INFO "
    r"(?:Bootstrap ?: ?Using|NET/Socket ?: ?Using|NET ?: ?Using interface)(?: (?P<interfaces>\S.{0,600})|$)"
)
_INTERFACE = re.compile(
    r"(?:\[\d{1,2}\])?(?P<name>[A-Za-z][\w.@-]{0,30}):(?P<address>[0-9A-Fa-f.:%\w-]{2,60})<\d{1,5}>"
)
# What starts the ranks says for how many machines.
_NODES = re.compile(r"--n(?:nodes?|um[_-](?:nodes|machines))[= ](?P<nodes>\d{1,5})\b")
_STARTS = re.compile(r"torchrun|distributed[./](?:launch|run)|accelerate|deepspeed|horovodrun")
_MOST = 256
_NO_LIST: list[str] = []


def read(lines: Iterable[str]) -> NcclStart | None:
    """Read which interfaces NCCL took on each host; ``None`` where the text does not say so of any.

    ``node1:98:98 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>``
    """
    taken: dict[str, list[str]] = {}
    told, open_list = 0, _NO_LIST
    for line in lines:
        if open_list is not _NO_LIST and line.startswith("[") and (one := _INTERFACE.match(line[:200])):
            _add(open_list, one)  # each on a line of its own, as people set it out
            continue
        open_list = _NO_LIST
        if (nodes := _NODES.search(line[:2000]) if "--n" in line else None) and _STARTS.search(line):
            told = max(told, int(nodes["nodes"]))
        if "INFO " not in line or "Using" not in line or not (match := _TAKEN.search(line[:2000])):
            continue
        host = match["host"] or ""
        if host in taken or len(taken) < _MOST:
            open_list = taken.setdefault(host, [])
            for one in _INTERFACE.finditer(match["interfaces"] or ""):
                _add(open_list, one)
    taken = {host: interfaces for host, interfaces in taken.items() if interfaces}
    return NcclStart(taken=taken, nodes=told or None) if taken else None


def _add(known: list[str], one: re.Match[str]) -> None:
    name = f"{one['name']}:{one['address']}"
    if name not in known and len(known) < 32:
        known.append(name)
