"""Names of hosts and users: which there are, and where they stand."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product

from gpudoctor.patterns import late_pattern
from gpudoctor.redact.identifiers import Span, before
from gpudoctor.redact.paths import split_path
from gpudoctor.redact.word_lists import ALIAS, file_name, generic, public_host

__all__ = ["Names", "Private", "known", "node_list", "stands_alone"]

# More names than that in one bracket expression are not taken apart.
_MOST_NODES = 8192
_LONGEST_LIST = 65536
# Endings that say nothing about a site: clouds and Kubernetes give them to everyone.
_COMMON_ZONES = frozenset(("ec2.internal", "compute.internal", "cluster.local", "svc.cluster.local"))

_BRACKET = late_pattern(r"\[([0-9,-]{1,4096})\]")
_HOST = late_pattern(r"[A-Za-z0-9_](?:[\w.-]{0,251}[A-Za-z0-9_])?\Z", re.ASCII)
_DOTTED = late_pattern(r"(?:\.[A-Za-z][A-Za-z0-9-]{0,62}){1,8}(?![\w-])")
_WORDS = late_pattern(r"[A-Za-z0-9]+|[^\x00-\x7f]+")


def node_list(text: str) -> list[str] | None:
    """Expand a Slurm node list such as `gpu[01-04,07],login`; None if it is none or too long."""
    names: list[str] = []
    for part in re.split(r",(?![^\[\]]*\])", text):
        pieces = _BRACKET.split(part)
        choices: list[list[str]] = []
        for at, piece in enumerate(pieces):
            numbers = [piece] if at % 2 == 0 else _numbers(piece)
            if numbers is None:
                return None
            choices.append(numbers)
        names += ("".join(choice) for choice in islice(product(*choices), _MOST_NODES + 1))
        if len(names) > _MOST_NODES or not all(_HOST.match(name) for name in names):
            return None
    return names


def _numbers(ranges: str) -> list[str] | None:
    found: list[str] = []
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdigit() and last.isdigit() and len(last) < 10 and len(first) < 10):
            return None
        if int(last) - int(first) > _MOST_NODES:
            return None
        found += (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
        if len(found) > _MOST_NODES:
            return None
    return found


@dataclass(frozen=True)
class Private:
    """What is known to be private on this machine, and what only looks so.

    `public` holds versions with the form of an address and the names of fields that may equal a name: it
    decides for whole keys of a dictionary and for whatever is found by its shape.
    """

    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    public: tuple[str, ...] = ()


@dataclass
class Names:
    """The names to look for, by their lower-case form; grows while texts are read."""

    kinds: dict[str, str] = field(default_factory=dict)  # name -> kind of alias
    whole: set[str] = field(default_factory=set)  # generic names of hosts: only where they are the whole text
    node_lists: dict[str, tuple[str, ...]] = field(default_factory=dict)  # list as written -> keys of hosts
    domains: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    # by their first words: how long the names are and where in them the word stands
    _by_word: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def host_key(self, name: str) -> str:
        """Return by what a host is told from others: its first label, where a host of that name is known."""
        name = name.lower().rstrip(".")
        first = name.partition(".")[0]
        return first if first in self.whole or self.kinds.get(first) == "host" else name

    def is_host(self, name: str) -> bool:
        """Return whether a host is known by this name or by its first label."""
        name = name.lower().rstrip(".")
        return self.kinds.get(name) == "host" or self.host_key(name) != name

    def add_host(self, text: str, certain: bool = False) -> list[str]:
        """Learn a host name, an address with or without a port, or a list of nodes; return the hosts' keys.

        A generic name is learnt only where it is certain to be a host's.
        """
        text = re.sub(r"\A[a-z]{1,8}://|:\d{1,5}\Z", "", text.strip())
        if len(text) > _LONGEST_LIST:
            return []
        try:
            self.addresses.add(ipaddress.ip_address(text.strip("[]")).compressed)
            return []
        except ValueError:
            pass
        if "[" in text or "," in text:
            members = node_list(text)
            keys = [key for member in members or () for key in self.add_host(member, certain)]
            if members and keys:
                self.node_lists[text.lower()] = tuple(keys)
                self._add(text, "nodes")
            return keys
        name = text.lower().rstrip(".")
        if not _HOST.match(name) or name.startswith("localhost") or ALIAS.fullmatch(name):
            return []
        if public_host(name) and not certain:
            return []
        first, dot, domain = name.partition(".")
        if not generic(first):
            self._add(first, "host")
        elif certain:
            self.whole.add(first)
        if dot:
            self._add(name, "host")
            while "." in domain and domain not in _COMMON_ZONES and not public_host(domain):
                # co.uk and edu.cn belong to no one
                if max(map(len, domain.split("."))) > 3:
                    self.domains.add(domain)
                    self._add(domain, "host")
                domain = domain.partition(".")[2]
        return [self.host_key(name)]

    def add_site(self, name: str) -> None:
        """Learn the host of a URL: its first label, such as `www`, is no host for that."""
        if "." in name and not name.replace(".", "").isdigit():
            self._add(name.rstrip("."), "host")
        else:
            self.add_host(name)

    def add_user(self, name: str) -> None:
        """Learn a user name."""
        if name and not generic(name) and not ALIAS.fullmatch(name):
            self._add(name, "user")

    def add_repository(self, name: str) -> None:
        """Learn somebody's repository or project, ``owner/name``; both words are private, and so is the owner alone."""
        owner, _, own = name.partition("/")
        self.add_user(owner)
        if not generic(owner) and own:
            self._add(name, "path")

    def add_project(self, name: str) -> None:
        """Learn the name of an account, a job, a queue or a name space."""
        if not generic(name):
            self._add(name, "project")

    def add(self, value: str, kind: str) -> None:
        """Learn a secret or a serial number to be replaced wherever it stands."""
        if 6 <= len(value) <= 256 and any(letter.isdigit() for letter in value):
            self._add(value, kind)

    def _add(self, name: str, kind: str) -> None:
        low = name.lower()
        word = _WORDS.search(low)
        if low in self.kinds or word is None or "\ufdd0" in low or ALIAS.fullmatch(low):
            return
        self.kinds[low] = kind
        shapes = self._by_word.setdefault(word[0], [])
        if (len(low), word.start()) not in shapes:
            shapes.append((len(low), word.start()))
            shapes.sort(reverse=True)
        self._pattern = None

    def find(self, text: str) -> Iterator[Span]:
        """Find the names in a text, the longest first where several begin; a host's domain belongs to it."""
        if not self.kinds:
            return
        if self._pattern is None:
            # Few words are fastest found by a pattern of their own, many by looking up each word of the text.
            few = len(self._by_word) <= 24
            words = "|".join(map(re.escape, self._by_word))
            self._pattern = re.compile(rf"(?:{words})(?-i:(?![A-Za-z0-9]))", re.IGNORECASE) if few else _WORDS
        done = 0
        for match in self._pattern.finditer(text):
            for length, offset in self._by_word.get(match[0].lower(), ()):
                start = match.start() - offset
                end = start + length
                name = text[max(start, 0) : end].lower()
                if (
                    start < done
                    or end > len(text)
                    or name not in self.kinds
                    or not stands_alone(text, start, end)
                ):
                    continue
                kind, key = self.kinds[name], name
                if kind == "host":
                    if name in self.domains:
                        left = before(text, start).lstrip(".-")
                        start = max(start - len(left), done)
                    elif (tail := _DOTTED.match(text, end)) and not file_name("x" + tail[0]):
                        end = tail.end()
                    key = self.host_key(text[start:end])
                yield Span(start, end, kind, key)
                done = end
                break


def known(private: Private) -> tuple[Names, dict[str, tuple[str, str]]]:
    """Sort users and folders into names and folders with their aliases, the longest folder first.

    Folders of the system, `/root` and usual mounts are nobody's. Hosts are left to the caller.
    """
    names, folders = Names(), {}
    for user in private.users:
        names.add_user(user)
    for kind, given in (("path", private.folders), ("home", private.homes)):
        for folder in (entry.rstrip("/\\") for entry in given):
            if ("/" in folder or "\\" in folder) and split_path(folder)[0]:
                folders[folder] = kind, folder
    return names, dict(sorted(folders.items(), key=lambda entry: -len(entry[0])))


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether a name is a word of its own; a short one must not be part of an identifier either.

    Only ASCII letters join: a name may well touch the Chinese or Japanese words around it.
    """
    joined = "_" if end - start < 5 and text[start:end].isalpha() else ""
    return not (
        _join(text[start - 1 : start], text[start], joined)
        or _join(text[end : end + 1], text[end - 1], joined)
    )


def _join(outer: str, inner: str, joined: str) -> bool:
    if not (inner.isascii() and inner.isalnum()):
        return False
    return (outer.isascii() and outer.isalnum()) or outer == joined != ""
