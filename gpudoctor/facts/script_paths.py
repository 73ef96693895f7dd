"""The paths of files in a script, as far as they are written out, and whether two may name one file."""

import re

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_values import Known, Value

HOLE = "{}"
"""What stands in a path's form for each part that is not known."""
DEEPEST = 6
LETTERS = 3
"""How many letters of a file's name have to be written out before another path is compared with it."""


def path_form(script: Script, value: Value, depth: int = 0, *, defaults: bool = False) -> str:
    """Return a path with `HOLE` for each part that is not known; an option is what its default says, where asked."""
    if defaults and value.known is Known.ARGUMENT and isinstance(value.literal, str) and value.literal:
        return value.literal.removeprefix("./")
    if value.is_literal or depth > DEEPEST:
        return value.literal.removeprefix("./") if isinstance(value.literal, str) else HOLE
    if HOLE in value.text and value.known is Known.UNKNOWN:
        parts = value.text.split(HOLE)
        inside = [path_form(script, item, depth + 1, defaults=defaults) for item in value.items]
        inside += [HOLE] * (len(parts) - 1 - len(inside))
        return "".join(a + b for a, b in zip(parts, [*inside, ""], strict=False)).removeprefix("./")
    if value.text == "Div" and len(value.items) == 2:
        return "/".join(
            path_form(script, item, depth + 1, defaults=defaults).rstrip("/") for item in value.items
        )
    made = script.calls[value.made] if 0 <= value.made < len(script.calls) else None
    if made is not None and made.name in ("os.path.join", "pathlib.Path", "str", "os.path.abspath"):
        given = [argument.value for argument in made.arguments.values()]
        return (
            "/".join(path_form(script, part, depth + 1, defaults=defaults).rstrip("/") for part in given)
            or HOLE
        )
    return HOLE


def same_path(script: Script, saved: Call, read: Call) -> bool:
    """Return whether a file that is read is surely the one that is saved, by what is known of both paths."""
    one, other = saved.arguments.get("f"), read.arguments.get("f")
    if one is None or other is None:
        return False
    if one.text == other.text and (one.value.is_literal or "." in one.text or one.text.isupper()):
        return True
    if one.value.known is other.value.known is Known.ARGUMENT:
        return one.value.text == other.value.text
    form = path_form(script, one.value)
    return HOLE not in form and form == path_form(script, other.value)


def removed(script: Script, saved: Call) -> bool:
    """Return whether a script itself removes the file that it saves: nobody else will load it."""
    path = saved.arguments.get("f")
    taking = [a.text for call in script.named("os.remove", "os.unlink") for a in call.arguments.values()]
    taking += [call.text.removesuffix(".unlink") for call in script.methods("unlink")]
    return path is not None and path.text in taking


def may_be_same(saved: str, read: str) -> bool:
    """Return whether two paths, as their forms say, may be those of one file: ``net_{}.pt`` and ``net_12.pt``."""
    return any(_fits(*pair) for pair in ((saved, read), (read, saved)))


def _fits(form: str, path: str) -> bool:
    name = form.rpartition("/")[2].rpartition(".")[0].replace(HOLE, "")
    if sum(letter.isalpha() for letter in name) < LETTERS:
        return False
    return re.fullmatch(".+".join(map(re.escape, form.split(HOLE))), path.replace(HOLE, "0")) is not None


__all__ = ["HOLE", "may_be_same", "path_form", "removed", "same_path"]
