"""Texts and trees in which stable aliases stand for what is private.

The same thing has the same alias all over a report (`host-1`, `ip-2`, `path-1/train.py`), so two ranks on one
machine still look like two ranks on one machine.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from gpudoctor.patterns import late_pattern
from gpudoctor.redact import identifiers, secrets
from gpudoctor.redact.aliases import Aliases
from gpudoctor.redact.identifiers import Span
from gpudoctor.redact.name_forms import names_told, names_under
from gpudoctor.redact.names import Private, known
from gpudoctor.redact.paths import AFTER_FOLDER, home_owner, owner_place, paths, split_path, windows_paths
from gpudoctor.redact.word_lists import COLOUR, HIDDEN, aliases, generic, public_host, secret_key

__all__ = ["Redactor"]

T = TypeVar("T")
Tree = dict[object, object] | list[object] | tuple[object, ...] | str | float | bool | None

_RESERVED = late_pattern("[\ufdd0-\ufdd3]")
_PATH_ENDS = late_pattern(r"[\s\"'<>|:;,()\[\]{}`\\]")
_HOME = late_pattern(r"/(?:home|Users)/+(?=[^/])|[A-Za-z]:[\\/]+(?i:users)[\\/]+")
_BY_SHAPE = frozenset(("email", "gpu-uuid", "mac", "token"))
_ROUNDS = 6


class Redactor:
    """Redacts the texts and trees of one report; what it has learnt from one it knows in the next."""

    def __init__(self, private: Private) -> None:
        self._public = set(private.public)
        self._names, self._folders = known(private)
        self._spaced = [folder for folder in self._folders if _PATH_ENDS.search(folder)]
        hosts = [key for host in private.hosts for key in self._names.add_host(host, certain=True)]
        self._aliases = Aliases(hosts, self._names.node_lists)
        self._read: set[tuple[str, str]] = set()
        self._told: set[tuple[str, str]] = set()
        self._redacted_paths: dict[str, str] = {}
        self._gpus: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Redact one text, be it a word or a log."""
        return self.tree(text)

    def tree(self, value: T) -> T:
        """Redact all strings in nested dictionaries, lists and tuples, the keys included.

        Everything is read before anything is replaced, so a name that the last entry gives away is gone from
        the first. What is stored under a name such as `api_key` is hidden whatever it looks like.
        """
        for again in range(_ROUNDS):
            told = len(self._told)
            for entry in _strings(value):
                if entry not in self._read:
                    self._read.add(entry)
                    self._learn(*entry)
            # what has been replaced can show what stood beside it in a new light; that is rare
            if again and told == len(self._told):
                break
            value = cast(T, self._tree(cast(Tree, value), False))
        return value

    # --- learning -------------------------------------------------------------------------------------------

    def _learn(self, key: str, text: str) -> None:
        if key:
            names_under(key, text, self._tell)
            if secret_key(key) and any(letter.isalpha() for letter in text):
                self._tell("hidden", text)
            if identifiers.version_of(key):
                self._public.update(text[span.start : span.end] for span in identifiers.ip4(text))
        if len(text) < 3:
            return
        for match in aliases(text):
            self._aliases.reserve(match[0])
        for span in identifiers.gpu_uuids(text):
            if len(span.key) >= 36:
                self._gpus.setdefault(span.key[:8], span.key)
        names_told(text, self._tell)
        for start, end in (*windows_paths(text), *paths(text)):
            if owner := home_owner(text[start:end]):
                self._tell("user", owner)
        for span in (*secrets.secrets(text), *secrets.logins(text)):
            if any(letter.isalpha() for letter in span.key):
                self._tell("hidden", span.key)

    def _tell(self, kind: str, name: str) -> None:
        if (kind, name) in self._told:
            return
        self._told.add((kind, name))
        if kind == "host":
            self._names.add_host(name)
        elif kind == "site":
            self._names.add_site(name)
        elif kind == "user":
            self._names.add_user(name)
        elif kind == "repository":
            self._names.add_repository(name)
        elif kind == "project":
            self._names.add_project(name)
        elif kind == "serial" or len(name) >= 12:
            self._names.add(name, kind)

    # --- replacing ------------------------------------------------------------------------------------------

    def _tree(self, value: Tree, secret: bool) -> object:
        if isinstance(value, str):
            return self._hide(value) if secret else self._redact(value)
        if isinstance(value, dict):
            named = value.get("name", value.get("key"))
            hide_value = isinstance(named, str) and secret_key(named)
            redacted: dict[object, object] = {}
            for key, entry in value.items():
                hide = (isinstance(key, str) and secret_key(key)) or (hide_value and key == "value")
                redacted[self._key(key, redacted)] = self._tree(cast(Tree, entry), secret or hide)
            return redacted
        if isinstance(value, (list, tuple)):
            return type(value)([self._tree(cast(Tree, entry), secret) for entry in value])
        return value

    def _key(self, key: object, taken: dict[object, object]) -> object:
        if not isinstance(key, str) or key in self._public or generic(key):
            return key
        redacted = self._redact(key)
        # two names of one host as keys: neither entry may be lost
        number, unique = 2, redacted
        while unique in taken:
            unique, number = f"{redacted} ({number})", number + 1
        return unique

    def _hide(self, value: str) -> str:
        if not value or value == HIDDEN:
            return value
        self._aliases.count("hidden", value)
        return HIDDEN

    def _redact(self, text: str) -> str:
        if not text or (text in self._public and text.lower() not in self._names.kinds):
            return text
        text = _RESERVED.sub("\ufffd", text)
        if text.strip().lower() in self._names.whole:
            mark = self._aliases.mark("host", text.strip().lower())
            return self._aliases.render(text.replace(text.strip(), mark))
        text = self._replace(text, secrets.pem_blocks(text))
        # A replacement can free what stood next to it: once more over the lines that changed, till none does.
        lines = text.split("\n")
        todo = list(range(len(lines)))
        for _ in range(_ROUNDS):
            passed = self._aliases.render(self._pass("\n".join(lines[at] for at in todo))).split("\n")
            changed = [(at, line) for at, line in zip(todo, passed, strict=True) if lines[at] != line]
            for at, line in changed:
                lines[at] = line
            todo = [at for at, _ in changed]
            if not todo:
                break
        return "\n".join(lines)

    def _pass(self, text: str) -> str:
        text = self._replace(text, (Span(*match.span(), "", match[0]) for match in aliases(text)))
        if "\x1b" in text:
            text = COLOUR.sub(
                lambda match: "\ufdd2" + self._aliases.mark("", match[0])[1:-1] + "\ufdd3", text
            )
        for find in (secrets.secrets, secrets.logins, secrets.tokens):
            text = self._replace(text, find(text))
        text = self._urls(text)
        for find in (identifiers.emails, self._gpu_uuids):
            text = self._replace(text, find(text))
        text = self._paths(text)
        text = self._replace(text, identifiers.hardware_addresses(text))
        text = self._replace(text, self._ip4(text))
        text = self._replace(text, identifiers.ip6(text))
        return self._replace(text, self._names.find(text))

    def _gpu_uuids(self, text: str) -> Iterator[Span]:
        # CUDA takes the first digits of a UUID for the whole
        return (span._replace(key=self._gpus.get(span.key, span.key)) for span in identifiers.gpu_uuids(text))

    def _ip4(self, text: str) -> Iterator[Span]:
        return identifiers.ip4(text, self._public - self._names.addresses)

    def _replace(self, text: str, spans: Iterable[Span]) -> str:
        pieces: list[str] = []
        done = 0
        for start, end, kind, key in spans:
            if kind in _BY_SHAPE and text[start:end] in self._public:
                continue
            pieces += text[done:start], self._aliases.mark(kind, key)
            done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _urls(self, text: str) -> str:
        pieces: list[str] = []
        done = 0
        for match in identifiers.urls(text):
            host, rest = match["host"], match["rest"] or ""
            start = match.start("host")
            if match.start() + 3 < start:
                self._aliases.count("hidden", text[match.start() + 3 : start])
            pieces.append(text[done : match.start() + 3])
            done = start
            if self._names.is_host(host):
                folder, slash, last = rest.partition("?")[0].rpartition("/")
                pieces += self._aliases.mark("host", self._names.host_key(host)), match["port"] or ""
                if last.endswith(".git"):  # a repository, whose owner is the folder
                    folder, slash, last = rest, "", ""
                pieces += (("/" + self._aliases.mark("path", folder)) if folder else ""), slash, last
                done = match.end()
            elif public_host(host):
                pieces.append(self._aliases.mark("", host))
                done = match.end("host")
        return "".join((*pieces, text[done:])) if pieces else text

    def _paths(self, text: str) -> str:
        text = self._known_folders(text, self._spaced)
        for find in (windows_paths, paths):
            pieces: list[str] = []
            done = 0
            for start, end in find(text):
                path = text[start:end]
                if path not in self._redacted_paths:
                    self._redacted_paths[path] = self._path(path)
                pieces += text[done:start], self._redacted_paths[path]
                done = end
            text = "".join((*pieces, text[done:])) if pieces else text
        return self._known_folders(text, self._folders)

    def _known_folders(self, text: str, folders: Iterable[str]) -> str:
        for folder in folders:
            if folder in text:
                parts = re.split(re.escape(folder) + AFTER_FOLDER.pattern, text)
                text = self._aliases.mark(*self._folders[folder]).join(parts)
        return text

    def _path(self, path: str) -> str:
        flat = re.sub(r"//+", "/", path)
        for folder, mark in self._folders.items():
            if flat.startswith(folder) and flat[len(folder) : len(folder) + 1] in ("", "/", "\\"):
                inner, rest = split_path(flat) if mark[0] == "home" else ("", "")
                if len(inner) > len(folder):  # what lies in a home folder is named by its owner
                    return self._aliases.mark("path", inner) + rest
                return self._aliases.mark(*mark) + flat[len(folder) :]
        if path in self._public:
            return path
        folder, rest = split_path(path)
        # A home folder itself is told by its owner, whose name may be replaced by now; what lies in it is private.
        if folder and not (_HOME.match(path) and folder.count("/") <= 2):
            return self._aliases.mark("path", folder) + rest
        if where := owner_place(path):
            owner = self._aliases.mark("user", path[slice(*where)].lower())
            return path[: where[0]] + owner + path[where[1] :]
        return path


def _strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        name = value.get("name", value.get("key"))
        for inner, entry in value.items():
            if isinstance(inner, str):
                yield "", inner
            # {"name": "USER", "value": ...} says the same as {"USER": ...}
            under = name if inner in ("value", "version") and isinstance(name, str) else inner
            yield from _strings(entry, under if isinstance(under, str) else key)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _strings(entry, key)
