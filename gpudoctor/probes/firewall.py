"""Read the rules for packets that come in and that go out, where this process may: iptables' and nftables'."""

import json
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpudoctor.facts import Filter, Firewall, Rule
from gpudoctor.facts.firewall import LOOPBACK

deadline = 15.0
SECONDS = 4
"""For each command."""
COMMANDS = (
    ["iptables", "-S"], ["iptables-legacy", "-S"], ["ip6tables", "-S"], ["ip6tables-legacy", "-S"],
    ["nft", "-j", "list", "ruleset"],
)  # fmt: skip
MATCHES = frozenset({"tcp", "conntrack", "state", "multiport", "comment"})
"""Matches that are read here."""
NFT_INTERFACES = ("iifname", "iif", "oifname", "oif")
HOOKS = ("input", "output")
NFT_FAMILIES = {"ip": 4, "ip6": 6, "inet": None}
SILENT = frozenset({"-p", "--comment", "--reject-with"})
"""Options that ask for nothing more."""
NOTHING = frozenset({"LOG", "NFLOG", "MARK", "CONNMARK", "TRACE", "COUNTER", "TCPMSS", "NOTRACK", "CT"})
"""Targets after which the next rule is asked."""


def probe(root: Path = Path("/")) -> Firewall:
    """Ask each tool that is there; none of them changes anything."""
    filters: list[Filter] = []
    read = False
    for command in COMMANDS:
        answer = _ask(command, root)
        if answer is None:
            continue
        read = True
        filters += from_nft(answer) if command[0] == "nft" else from_iptables(answer, command[0])
    return Firewall(
        filters=[f for f in filters if f.chains or f.policy != "accept"] if read else None,
        loopback=read,
        ufw=_ufw(root),
        firewalld=_service(root / "sys/fs/cgroup/system.slice/firewalld.service/cgroup.procs"),
    )


def _ask(command: list[str], root: Path) -> str | None:
    """Run a command that lists rules; ``None``: it is not there, may not, or would load a part of the kernel."""
    path = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    kind = "nft" if "nft" in os.path.realpath(path or "") else command[0].removesuffix("-legacy")
    if path is None or not _loaded(kind, root):
        return None
    try:
        done = subprocess.run(
            [path, *command[1:]], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _loaded(kind: str, root: Path) -> bool:
    """Return whether the kernel has this filter already: listing rules would load it."""
    if kind != "nft":
        return (root / f"proc/net/{kind.removesuffix('tables')}_tables_names").exists()
    modules = root / "lib/modules" / platform.release()
    built_in = _text(modules / "modules.builtin") or ""
    return (root / "sys/module/nf_tables").exists() or "/nf_tables.ko" in built_in or not modules.exists()


def from_iptables(text: str, source: str) -> list[Filter]:
    """Return the filter table that ``iptables -S`` prints."""
    policies: dict[str, str] = {}
    chains: dict[str, list[Rule]] = {}
    for line in text.splitlines():
        words = shlex.split(line)
        if words[:1] == ["-P"]:
            policies[words[1]] = words[2].lower()
        elif words[:1] == ["-A"]:
            rule = _iptables_rule(words[2:])
            if rule is not None:
                chains.setdefault(words[1], []).append(rule)
    # what neither enters, such as docker's chains for forwarding, is left out
    return [
        Filter(
            source=source,
            family=6 if source.startswith("ip6") else 4,
            policy=policies.get(start, "accept"),
            start=start,
            outgoing=start == "OUTPUT",
            chains=_reached(chains, start),
        )
        for start in ("INPUT", "OUTPUT")
    ]


def _iptables_rule(words: list[str]) -> Rule | None:
    """Read one rule; ``None``: a new TCP connection never meets it, or nothing comes of it."""
    target, interface, conditional, not_loopback = "", "", False, False
    ports: list[tuple[int, int]] = []
    for option, value in _options(words):
        if option in ("-j", "-g"):
            target = value
        elif option == "-p" and value not in ("tcp", "all"):
            return None
        elif option in ("--dport", "--dports"):
            ports = [_range(part) for part in value.split(",")]
        elif option in ("-i", "-o"):
            interface = value
        elif option in ("!-i", "!-o") and value == LOOPBACK:
            not_loopback = True
        elif option in ("--ctstate", "--state"):
            if "NEW" not in value.split(","):
                return None
        elif not (option in SILENT or (option == "-m" and value in MATCHES)):
            conditional = True
    if not target or target in NOTHING:
        return None
    low = target.lower() if target in ("ACCEPT", "DROP", "REJECT", "RETURN") else target
    return Rule(
        target=low, ports=ports, interface=interface, not_loopback=not_loopback, conditional=conditional
    )


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield a rule's options with their first values; one that is turned around has a ``!`` in front."""
    turned = ""
    for at, word in enumerate(words):
        if word == "!":
            turned = "!"
        elif word.startswith("-"):
            value = words[at + 1] if at + 1 < len(words) and not words[at + 1].startswith("-") else ""
            yield turned + word, value
            turned = ""


def from_nft(text: str) -> list[Filter]:
    """Return the base chains at the hooks ``input`` and ``output`` of ``nft -j list ruleset``."""
    try:
        told = json.loads(text).get("nftables", [])
    except ValueError:
        return []
    chains: dict[tuple[str, str], dict[str, list[Rule]]] = {}
    apart: set[tuple[str, str]] = set()
    bases = []
    for one in told:
        if "chain" in one and one["chain"].get("hook") in HOOKS and one["chain"].get("type") == "filter":
            bases.append(one["chain"])
        elif "rule" in one:
            body = one["rule"]
            if _by_family(body.get("expr", [])):
                apart.add((body["family"], body["table"]))
            rule = _nft_rule(body.get("expr", []))
            if rule is not None:
                table = chains.setdefault((body["family"], body["table"]), {})
                table.setdefault(body["chain"], []).append(rule)
    return [
        Filter(
            source="nft",
            # Rules for one family alone are read for IPv4.
            family=4 if (base["family"], base["table"]) in apart else NFT_FAMILIES[base["family"]],
            name=f"{base['family']} {base['table']}",
            policy=base.get("policy", "accept"),
            start=base["name"],
            outgoing=base["hook"] == "output",
            chains=_reached(chains.get((base["family"], base["table"]), {}), base["name"]),
        )
        for base in bases
        if base["family"] in NFT_FAMILIES
    ]


def _by_family(parts: list[dict[str, Any]]) -> bool:
    """Return whether a rule asks if a packet is IPv4 or IPv6."""
    left = [part["match"].get("left", {}) for part in parts if "match" in part]
    return any(one.get("meta", {}).get("key") in ("nfproto", "protocol") for one in left)


def _nft_rule(parts: list[dict[str, Any]]) -> Rule | None:
    target, ports, interface, conditional, not_loopback = "", [], "", False, False
    for part in parts:
        if "match" in part:
            kind, value = _matched(part["match"])
            if kind == "never":
                return None
            if kind == "ports":
                ports = value
            elif kind == "interface":
                interface = value
            not_loopback = not_loopback or kind == "not loopback"
            conditional = conditional or kind == "other"
        elif "jump" in part or "goto" in part:
            target = str({**part.get("goto", {}), **part.get("jump", {})}.get("target", ""))
        elif part.keys() & {"accept", "drop", "reject", "return"}:
            target = next(iter(part))
        elif not part.keys() & {"counter", "log", "comment"}:
            conditional = True
    if not target:
        return None
    return Rule(
        target=target, ports=ports, interface=interface, not_loopback=not_loopback, conditional=conditional
    )


def _matched(match: dict[str, Any]) -> tuple[str, Any]:
    """Return what a match asks for: ports, an interface, what new connections never or always are, or more."""
    left, right, same = match.get("left", {}), match.get("right"), match.get("op") in ("==", "in")
    payload, meta = left.get("payload", {}), left.get("meta", {}).get("key", "")
    if payload.get("field") == "dport" and same:
        return ("ports", _nft_ports(right)) if payload.get("protocol") in ("tcp", "th") else ("never", None)
    if meta in NFT_INTERFACES and same and isinstance(right, str) and "*" not in right:
        return "interface", right
    if meta in NFT_INTERFACES and match.get("op") == "!=" and right == LOOPBACK:
        return "not loopback", None
    if meta in ("l4proto", "nfproto") or payload.get("field") in ("protocol", "nexthdr"):
        values = right.get("set", []) if isinstance(right, dict) else [right]
        fits = bool({"tcp", "ipv4", 6} & set(values)) is same
        return ("always" if fits else "never"), None
    if left.get("ct", {}).get("key") == "state":
        values = (
            right if isinstance(right, list) else right.get("set", []) if isinstance(right, dict) else [right]
        )
        return ("always" if ("new" in values) is same else "never"), None
    return "other", None


def _nft_ports(right: Any) -> list[tuple[int, int]]:
    parts = right.get("set", [right]) if isinstance(right, dict) else [right]
    ranges = [part["range"] if isinstance(part, dict) and "range" in part else [part, part] for part in parts]
    return [(first, last) for first, last in ranges if isinstance(first, int) and isinstance(last, int)]


def _range(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    return int(first or 0), int(last or (65535 if colon else first))


def _reached(chains: dict[str, list[Rule]], start: str) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    left = [start]
    while left:
        chain = left.pop()
        if chain in chains and chain not in found:
            found[chain] = chains[chain]
            left += [rule.target for rule in chains[chain]]
    return found


def _ufw(root: Path) -> bool | None:
    text = _text(root / "etc/ufw/ufw.conf")
    lines: Iterable[str] = text.splitlines() if text else []
    return next(
        (line.split("=", 1)[1].strip() == "yes" for line in lines if line.startswith("ENABLED=")), None
    )


def _service(path: Path) -> bool | None:
    text = _text(path)
    return None if text is None else bool(text.strip())


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
