"""Rename keys of a state dict, and with them the modules for which it keeps a version."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.checkpoint.tree import Unreadable
from gpudoctor.text import listed, shown

EXPRESSION = re.compile(r"[\^$\\()|+{}]")
"""What stands in regular expressions and neither in names nor in globs."""
LONGEST = 2000
"""Characters of a key that a pattern is tried on: what it takes may grow with the square of them."""
PROBE = "weight"
"""Stands for the parameters of a module that has none, to see where its name goes."""


class Rename(Struct, frozen=True):
    """Keys to be renamed: `old` is a glob for the whole key, or a regular expression that is replaced in it."""

    old: str
    new: str


class KeyChange(Struct, frozen=True):
    """One thing that is done to every key."""

    change: Callable[[str], str]
    complaint: Callable[[Sequence[str]], str]
    """What to say when it changes none of these keys."""


def steps(strip: Sequence[str], add: Sequence[str], renames: Sequence[Rename]) -> list[KeyChange]:
    """Return the steps in the order in which they are done; raises `Unreadable` for a broken expression."""
    return [*map(_strip, strip), *map(_add, add), *map(_rename, renames)]


def _strip(prefix: str) -> KeyChange:
    def change(key: str) -> str:
        if key.startswith(prefix) and not prefix.endswith(".") and key[len(prefix) :].startswith("."):
            raise Unreadable(f"the prefix {shown(prefix)} ends before its dot: write {shown(prefix)}.")
        return key.removeprefix(prefix)

    return KeyChange(change, lambda keys: f"no key begins with {shown(prefix)}: the keys are {listed(keys)}")


def _add(prefix: str) -> KeyChange:
    return KeyChange(lambda key: prefix + key, lambda keys: f"no key to put {shown(prefix)} in front of")


def _rename(rename: Rename) -> KeyChange:
    pattern, new = rename.old, rename.new
    said = f"--rename {shown(pattern)}={shown(new)}"
    if not EXPRESSION.search(pattern):
        pattern, new = _glob(pattern, new, said)
    try:
        compiled = re.compile(pattern)
        compiled.sub(new, "")
    except (re.error, IndexError, RecursionError, OverflowError) as error:
        raise Unreadable(f"{said}: {error}") from None

    def change(key: str) -> str:
        if len(key) > LONGEST:
            raise Unreadable(f"a key of {len(key)} characters is too long for --rename: {shown(key)}")
        return compiled.sub(new, key)

    return KeyChange(change, lambda keys: f"{said} changes no key: the keys are {listed(keys)}")


def _glob(old: str, new: str, said: str) -> tuple[str, str]:
    """Return a glob and its replacement as a regular expression; the n-th ``*`` on both sides is the same text."""
    parts = re.split(r"(\*|\?|\[[^]]*\])", old)
    kinds = {"*": "(.*)", "?": "(.)"}
    pattern = "".join(
        kinds.get(part) or (f"({part.replace('[!', '[^', 1)})" if part[:1] == "[" else re.escape(part))
        for part in parts
    )
    stars = [number for number, part in enumerate(parts[1::2], 1) if part == "*"]
    pieces = new.replace("\\", "\\\\").split("*")
    if len(pieces) - 1 > len(stars):
        raise Unreadable(f"{said}: more * on the right than on the left")
    filled = "".join(rf"\g<{number}>{piece}" for number, piece in zip(stars, pieces[1:], strict=False))
    return rf"\A{pattern}\Z", pieces[0] + filled


def renamed_pairs(
    todo: Sequence[KeyChange], groups: Sequence[tuple[str, list[str]]]
) -> list[list[tuple[str, str]]]:
    """Return the keys of each state dict before and after all steps; `groups` are their paths and keys.

    Raises `Unreadable` for a step that changes none, and for two keys that would get one name.
    """
    names = [keys for _, keys in groups]
    for step in todo:
        after = [[step.change(name) for name in group] for group in names]
        if after == names:
            raise Unreadable(step.complaint([name for group in names for name in group]))
        names = after
    pairs = [list(zip(keys, new, strict=True)) for (_, keys), new in zip(groups, names, strict=True)]
    for (path, _), each in zip(groups, pairs, strict=True):
        _refuse_collisions(path, each)
    return pairs


def _refuse_collisions(path: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Raise `Unreadable` where two keys would get one name, or one would get none."""
    seen: dict[str, str] = {}
    for old, new in pairs:
        if not new:
            raise Unreadable(f"the key {shown(old)} would have no name")
        if new in seen:
            where = f" in {shown(path)}" if path else ""
            raise Unreadable(f"{shown(seen[new])} and {shown(old)}{where} would both be called {shown(new)}")
        seen[new] = old


def moved_versions(
    versions: dict[Any, Any], pairs: Sequence[tuple[str, str]], todo: Sequence[KeyChange]
) -> list[tuple[Any, Any]]:
    """Return the versions of modules under the modules' new names, in their order.

    As ``torch.nn.modules.utils.consume_prefix_in_state_dict_if_present`` has it, the module that was wrapped becomes
    the whole, whose name is empty, in the place of the wrapper that is gone. The other way the whole gets a copy.
    """
    moves: dict[str, set[str | None]] = {}
    for old, new in pairs:
        module, _, leaf = old.rpartition(".")
        moves.setdefault(module, set()).add(_module_of(new, leaf))
    result: dict[Any, Any] = {}
    settled: set[Any] = set()
    for name, version in versions.items():
        new_name = _moved(name, moves, todo) if isinstance(name, str) else name
        if not name and new_name:
            result[name] = dict(version) if type(version) is dict else version
        if new_name not in result or (name != new_name and new_name not in settled):
            result[new_name] = version
        if name != new_name:
            settled.add(new_name)
    return list(result.items())


def _moved(name: str, moves: dict[str, set[str | None]], todo: Sequence[KeyChange]) -> str:
    """Return the new name of a module: where all its own parameters go, or where one would go if it had any."""
    known = moves.get(name)
    if known is None:
        key = f"{name}.{PROBE}" if name else PROBE
        for step in todo:
            key = step.change(key)
        known = {_module_of(key, PROBE)}
    new = next(iter(known)) if len(known) == 1 else None
    return name if new is None else new


def _module_of(name: str, leaf: str) -> str | None:
    """Return the module of a parameter, ``None`` where the parameter itself has another name."""
    module, _, last = name.rpartition(".")
    return module if last == leaf else None
