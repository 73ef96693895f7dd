"""``sinfo`` and ``scontrol show node`` -> the nodes of a Slurm cluster."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gpudoctor.facts import Slurm, SlurmNode

_KEY = re.compile(r"(?:^|\s)(?P<name>NodeName|State|Gres|GresUsed|CfgTRES|AllocTRES)=(?P<value>\S*)")
_REASON = re.compile(r"(?:^|\s)Reason=(?P<reason>.*?)(?:\s*\[[\w.-]{1,64}@[\w:-]{1,32}\])?$")
# "gpu:a100:8(S:0-1),shard:32", "gpu:h100:1(IDX:0)", "gpu:8"; of TRES "gres/gpu=8,gres/gpu:h100=8"
_GPUS = re.compile(r"(?:^|,)gpu(?::[A-Za-z][\w.-]{0,60})?:(?P<number>\d{1,4})(?=[(,]|$)")
_COUNTED = re.compile(r"(?:^|,)gres/gpu=(?P<number>\d{1,4})(?=,|$)")
_COLUMNS = frozenset(
    "NODELIST HOSTNAMES NODES PARTITION AVAIL TIMELIMIT STATE CPUS S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE "
    "AVAIL_FEATURES ACTIVE_FEATURES REASON GRES GRES_USED USER TIMESTAMP JOB_SIZE ROOT OVERSUBS GROUPS "
    "CPUS(A/I/O/T) NODES(A/I/O/T) FREE_MEM CPU_LOAD NODE".split()
)
_REASONS = re.compile(
    r"(?P<reason>\S.*?)\s+(?P<user>\S+)\s+(?:\d{4}-\d\d-\d\dT[\d:]{8}|Unknown)\s+(?:(?P<state>[a-z]\S*)\s+)?(?P<nodes>\S+)$"
)
# What is left of sinfo where somebody cut out the rows: "gpu up 1-00:00:00 2 drain gpu[01,03]", "3 down* c[010,017]".
_CUT_ROW = re.compile(
    r"(?:(?P<partition>[\w.-]{1,40}\*?)\s+(?:up|down|drain|inact)\s+(?:infinite|[\d:-]{4,14})\s+)?(?P<number>\d{1,5})\s+"
    r"(?P<state>(?:alloc(?:ated)?|comp(?:leting)?|down|drain(?:ed|ing)?|drng|fail(?:ed|ing|g)?|idle|inval|maint|mix(?:ed)?|plnd|"
    r"planned|pow(?:er)?_(?:dn|up|down)|reboot\^?|resv|reserved|unk(?:nown)?)[*~#!%$@^+-]?)\s+(?P<nodes>[A-Za-z][\w.,\[\]-]{1,400})$"
)
# slurmctld's own log, with what a control daemon or journald puts in front
_SET = re.compile(
    r"(?:error: Setting node (?P<first>[\w.-]{1,64}) state to (?P<to>[A-Z_+*]{4,40}) with reason: ?(?P<why>.{1,200})|"
    r"\bnodes? (?P<second>[\w.,\[\]-]{1,200}) state set to (?P<state>[A-Z_+*]{4,40})|"
    r"error: Nodes (?P<third>[\w.,\[\]-]{1,200}) not responding(?P<down>, setting DOWN)?|"
    r"\bnode (?P<reasoned>[\w.,\[\]-]{1,200}) reason set to: (?P<reason>.{1,200})|"
    r"\b[Nn]ode (?P<back>[\w.-]{1,64}) (?:returned to service|now responding))"
)
_CONTROLLER = ("state", "not responding", "reason set to", "returned to service")
_RANGE = re.compile(r"(?P<front>[^\[\],]*)\[(?P<numbers>[\d,-]{1,400})\](?P<back>[^\[\],]*)")
_MOST = 2000


def read(lines: Iterable[str]) -> Slurm | None:
    """Read the nodes that the lines show; ``None`` where they show none.

    ``gpu*  up  infinite  2  drain gpu[01,03]``, ``NodeName=gpu01 …`` with ``State=IDLE+DRAIN`` and ``Gres=gpu:a100:8``
    """
    found: dict[str, dict[str, Any]] = {}
    header: list[str] = []
    node: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    cut: list[re.Match[str]] = []
    for line in lines:
        if line.count(" ") > 1:
            if "ode " in line[:300] or "odes " in line[:300]:
                _logged(found, line[:1000])
            if not header and (row := _CUT_ROW.match(line[:1000])):
                cut.append(row)
        if line.startswith("NodeName=") and " " in line:
            name = line[9:].split(maxsplit=1)[0]
            node, header = found.setdefault(name, {}) if len(found) < _MOST else None, []
        elif not line.strip():
            node, header, last = None, [], node
            continue
        elif last is not None and line.startswith("Reason="):
            node = last  # since 23.02 an empty line stands before it
        last = None
        if node is not None and "=" in line:
            _described(node, line[:4000])
        elif columns := _header(line):
            header, node = columns, None
        elif header:
            for name, values in _listed(header, line[:1000]):
                if len(found) < _MOST or name in found:
                    kept = found.setdefault(name, {})
                    kept |= {
                        key: value
                        for key, value in values.items()
                        if len(str(value)) > len(str(kept.get(key, "")))
                    }
    if len(cut) > 1 or any(row["partition"] for row in cut):  # "3 down wind" is prose
        for row in cut[:_MOST]:
            for name in _names(row["nodes"]):
                if len(found) < _MOST:
                    found.setdefault(name, {"state": row["state"]})
    nodes = [SlurmNode(name=name, **values) for name, values in found.items() if values]
    return Slurm(nodes=nodes) if nodes else None


def _logged(found: dict[str, dict[str, Any]], line: str) -> None:
    """Read what slurmctld's log says of nodes; the last word counts."""
    if not any(words in line for words in _CONTROLLER) or (match := _SET.search(line)) is None:
        return
    if match["back"]:
        if match["back"] in found:
            found[match["back"]] = {"state": "IDLE"}
        return
    state = match["to"] or match["state"] or ("DOWN*" if match["down"] else "")
    reason = match["why"] or match["reason"] or ("Not responding" if match["third"] else "")
    for name in _names(match["first"] or match["second"] or match["third"] or match["reasoned"] or ""):
        if len(found) < _MOST or name in found:
            known = found.setdefault(name, {})
            known |= {"state": state} if state else {}
            known |= {"reason": reason.strip()} if reason else {}


def _described(node: dict[str, Any], line: str) -> None:
    """Read a line of ``scontrol show node``; with ``-o`` it is the whole node."""
    if reason := _REASON.search(line):
        node["reason"] = reason["reason"].strip()
        line = line[: reason.start()]
    for match in _KEY.finditer(line):
        name, value = match["name"], match["value"]
        if name == "State":
            node["state"] = value
        elif name in ("Gres", "GresUsed") and value not in ("", "N/A"):
            node["gpus" if name == "Gres" else "gpus_used"] = _gpus(value)
        elif name == "CfgTRES" and (counted := _COUNTED.search(value)):
            node["gpus_counted"] = int(counted["number"])
        elif name == "AllocTRES" and (counted := _COUNTED.search(value)):
            node.setdefault("gpus_used", int(counted["number"]))


def _gpus(gres: str) -> int:
    plain = re.sub(r"\([^()]{0,200}\)", "", gres)
    return sum(int(match["number"]) for match in _GPUS.finditer(plain))


def _header(line: str) -> list[str]:
    words = line.removeprefix("sinfo -R ").split()
    known = bool(words) and all(word in _COLUMNS for word in words)
    named = {"NODELIST", "HOSTNAMES"} & set(words)
    return words if known and named and {"STATE", "GRES", "GRES_USED", "REASON"} & set(words) else []


def _listed(header: list[str], line: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read one row of ``sinfo``: the nodes that it names, and what it says of each."""
    if header[0] == "REASON":
        match = _REASONS.match(line)
        row = (
            {"NODELIST": match["nodes"], "STATE": match["state"] or "", "REASON": match["reason"]}
            if match
            else {}
        )
    else:
        words = line.split(maxsplit=len(header) - 1)
        row = dict(zip(header, words, strict=False)) if len(words) == len(header) else {}
    values: dict[str, Any] = {}
    if state := row.get("STATE"):
        values["state"] = state
    if (reason := row.get("REASON", "").strip()) and reason != "none":
        values["reason"] = reason
    for column, field in (("GRES", "gpus"), ("GRES_USED", "gpus_used")):
        if column in row:
            values[field] = _gpus(row[column])
    for name in _names(row.get("NODELIST") or row.get("HOSTNAMES") or ""):
        yield name, values


def _names(text: str) -> list[str]:
    """Return the names of ``gpu[01,03-05],login1``; a list that is not understood stays as it is."""
    names: list[str] = []
    for part in re.findall(r"[^,\[\]]*\[[^\[\]]*\][^,\[\]]*|[^,\[\]]+", text):
        match = _RANGE.fullmatch(part)
        if match is None:
            names.append(part)
            continue
        for piece in match["numbers"].split(","):
            first, _, last = piece.partition("-")
            if first.isdecimal() and (last or first).isdecimal():
                numbers = range(int(first), min(int(last or first), int(first) + _MOST) + 1)
                names += [f"{match['front']}{number:0{len(first)}d}{match['back']}" for number in numbers]
    return names[:_MOST]
