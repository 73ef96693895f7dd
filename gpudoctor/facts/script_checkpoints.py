"""What a script saves of its models, and into what it loads it again."""

import re
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Argument, Call
from gpudoctor.facts.script_conditions import Condition
from gpudoctor.facts.script_files import origins
from gpudoctor.facts.script_paths import HOLE, may_be_same, path_form, same_path
from gpudoctor.facts.script_values import UNKNOWN, Known, Thing, Value

PREFIXES = {"ddp": "module.", "dp": "module.", "compiled": "_orig_mod.", "prepared": "module."}
"""What a wrapper puts in front of each key of its state dict."""
TELLS_WRAPPED = (
    "module",
    "wrap",
    "isinstance",
    "hasattr",
    "dist",
    "ddp",
    "parallel",
    "world_size",
    "gpu",
    "device_count",
    "compile",
)
"""What a test names that tells a wrapped model from a bare one."""
AGAIN = ("resume", "checkpoint", "ckpt", "last", "best", "path", "load")


class SavedWrapper(Struct, frozen=True):
    """A state dict of a wrapper that goes into a file."""

    state: Thing
    wrapper: Thing
    save: Call


def contents(value: Value, depth: int = 0) -> Iterator[Value]:
    """Yield a value and what it holds: the entries of mappings and sequences."""
    for item in value.possible():
        yield item
        if item.known in (Known.MAPPING, Known.SEQUENCE) and depth < 4:
            for nested in item.items:
                yield from contents(nested, depth + 1)


def saved_wrappers(script: Script) -> Iterator[SavedWrapper]:
    """Yield each state dict of a wrapper that is saved where nothing tells whether the model is wrapped."""
    states = {t.number: t for t in script.of_kind("state_dict") if t.inner >= 0}
    states = {n: t for n, t in states.items() if script.things[t.inner].kind in PREFIXES}
    if not states:
        return
    entries: dict[str, list[int]] = {}
    seen = set()
    for call in script.calls:
        if call.method == "__setitem__":
            found = [n for n in call.value("value").things if n in states]
            entries.setdefault(call.name.rpartition(".")[0], []).extend(found)
        if call.name != "torch.save" and "save" not in call.method.lower():
            continue
        numbers = [
            number
            for argument in call.arguments.values()
            for number in (
                *(value.thing for value in contents(argument.value)),
                *entries.get(argument.text, ()),
            )
        ]
        for number in numbers:
            made = script.made_by(states[number]) if number in states else None
            wrapped = script.made_by(script.things[states[number].inner]) if number in states else None
            around = wrapped.conditions if wrapped is not None else ()
            if made is None or number in seen:
                continue
            name = made.text.removesuffix(".state_dict")
            if _tells(made, around, name) or _tells(call, around, name):
                continue
            if wrapped is not None and made.excluded(wrapped):
                continue
            seen.add(number)
            state = states[number]
            yield SavedWrapper(state, script.things[state.inner], call)


def _tells(call: Call, around: tuple[Condition, ...], name: str) -> bool:
    """Return whether a test tells a wrapped model from a bare one; one that the wrapper stands under too does not."""
    same = {
        (_plain(c.text), c.negated) for c in around
    }  # the flag under which the model is wrapped: it is the wrapper
    tests = [
        c
        for c in call.conditions
        if c.kind == "if" and not c.by_rank and c not in around and not _includes(c, same)
    ]
    if any(c.kind == "except" and c not in around for c in call.conditions):
        return True  # ``try: model.module.state_dict()``
    return any(word in c.text.lower() for c in tests for word in TELLS_WRAPPED if not _of_another(c, name))


HOLDER = re.compile(r"\b(?:[a-z]\w*\.)+(?=\w)")
"""What stands in front of an attribute's name: ``self.opt.``."""


def _plain(text: str) -> str:
    """Return a test without the names of what holds the flags that it asks for: ``self.opt.gpu_ids`` is ``gpu_ids``."""
    return HOLDER.sub("", text)


def _includes(test: Condition, same: set[tuple[str, bool]]) -> bool:
    """Return whether a test holds only where one of some others does, by its source."""
    text = _plain(test.text)
    if (text, test.negated) in same:
        return True
    return not test.negated and " or " not in text and any((p, False) in same for p in text.split(" and "))


OF_CLASS = re.compile(r"(?:not )?isinstance\(([\w.]+), [\w.]+\)")


def _of_another(test: Condition, name: str) -> bool:
    """Return whether a test asks for the class of something else than the model of a name."""
    asked = OF_CLASS.fullmatch(test.text)
    return asked is not None and asked[1] != name and "arallel" not in test.text and "DDP" not in test.text


def loads(script: Script, saved: SavedWrapper) -> tuple[list[Call], list[Call]]:
    """Return where a file is loaded into a wrapper, and where into the bare model of which a state dict was saved."""
    inner = script.innermost(saved.wrapper)
    wrapped, bare = [], []
    for call in script.methods("load_state_dict"):
        target = script.thing(call.receiver)
        given = call.arguments.get("state_dict")
        if given is None or not _of_file(script, given):
            continue
        if target is None:
            if (
                call.number < saved.wrapper.made
                and call.text == f"{_wrapped_name(script, saved)}.load_state_dict"
            ):
                bare.append(call)
        elif target.kind in PREFIXES:
            wrapped.append(call)
        elif target.kind == "model" and (target.number == inner.number or target.type == inner.type):
            bare.append(call)
    return wrapped, bare


def _wrapped_name(script: Script, saved: SavedWrapper) -> str:
    """Return the source of what a wrapper was given, where nothing more is known of it."""
    made = script.made_by(saved.wrapper)
    given = made.arguments.get("module") or made.arguments.get("model") if made else None
    return given.text if given else ""


def _of_file(script: Script, given: Argument) -> bool:
    """Return whether what is loaded comes from a file of this script's own, as far as its names tell."""
    value = given.value
    if value.known is Known.UNKNOWN and not value.text and value.made < 0:
        return "state" in given.text
    things = [script.things[number] for number in value.things]
    files = [script.made_by(t) for t in things if t.kind == "checkpoint"]
    if value.text.startswith("checkpoint["):
        files = list(script.named("torch.load"))
    files += [call for call in origins(script, value) if call.name == "torch.load"]
    texts = [call.arguments["f"].text.lower() for call in files if call and "f" in call.arguments]
    return any(own_file(text) for text in texts)


def own_file(path: str) -> bool:
    """Return whether a path names what this script saves, as far as its words tell."""
    return path[:1] in "'\"" or ("pretrain" not in path and any(word in path for word in AGAIN))


def stored(saved: Call, given: Value) -> Value:
    """Return what a file holds where it is read: all of it, or one entry; ``None`` where it has none such."""
    whole = saved.value("obj")
    if not given.text.startswith("checkpoint["):
        return whole
    keys = whole.literal if whole.known is Known.MAPPING and isinstance(whole.literal, tuple) else ()
    every = bool(keys) and None not in keys
    missing = Value(Known.LITERAL) if every else UNKNOWN
    return next(
        (v for k, v in zip(keys, whole.items, strict=False) if f"checkpoint[{k!r}]" == given.text), missing
    )


class BareSaved(Struct, frozen=True):
    """What a wrapper is given from a file into which this script writes the keys of the model inside alone."""

    load: Call
    wrapper: Thing
    save: Call
    sure: bool
    """Both paths are the same; else the file that is read is one of this script's own as far as its name tells."""


def bare_into_wrapper(script: Script) -> Iterator[BareSaved]:
    """Yield each wrapper that loads what the script saves of the model inside it, and of the wrapper nowhere."""
    saves = list(script.named("torch.save"))
    for call in script.methods("load_state_dict", *OF_ONE_KEY) if saves else ():
        wrapper = script.things[call.receiver.thing] if call.receiver.known is Known.THING else None
        given = call.value("state_dict")
        thing = script.thing(given, "checkpoint")
        made = given.made if given.text.startswith("checkpoint[") else thing.made if thing is not None else -1
        if (
            wrapper is None
            or wrapper.kind not in OF_ONE_KEY
            or wrapper.inner < 0
            or made < 0
            or _guarded(call)
        ):
            continue
        read = script.calls[made]
        same = [save for save in saves if same_path(script, save, read)]
        kinds = {_side(script, wrapper, stored(save, given)) for save in same}
        if kinds == {"bare"}:
            yield BareSaved(call, wrapper, same[0], sure=True)
        elif not same and not strips(script, PREFIXES[wrapper.kind]):
            likely = [save for save in saves if _may_read(script, save, read)]
            sides = [_side(script, wrapper, stored(save, given)) for save in likely]
            if "bare" in sides and set(sides) <= {"bare", "another"}:
                yield BareSaved(call, wrapper, likely[sides.index("bare")], sure=False)


OF_ONE_KEY = ("ddp", "dp", "compiled")
"""Kinds of wrapper that keep the model under one name."""


def lax(call: Call) -> bool:
    """Return whether keys that do not fit may pass, or are expected to fail."""
    return _guarded(call) or call.value("strict").literal is False


def _guarded(call: Call) -> bool:
    return call.starred or "try" in call.contexts


def _side(script: Script, wrapper: Thing, value: Value) -> str:
    """Return whose keys a value has: those of the bare model, of a wrapper, of another model; empty where unknown."""
    state = script.thing(value, "state_dict")
    if state is None or state.inner < 0:
        return "another" if value.is_literal or value.known in (Known.INDEX, Known.MAPPING) else ""
    inner, saved = script.innermost(wrapper), script.things[state.inner]
    if saved.number == wrapper.inner:
        return "bare"
    return "another" if script.innermost(saved) != inner and saved.type != inner.type else "wrapped"


def _may_read(script: Script, save: Call, read: Call) -> bool:
    """Return whether a file that is read may be one that is saved, as far as the names of both tell."""
    path, other = read.arguments.get("f"), save.arguments.get("f")
    if path is None or other is None:
        return False
    form, saved = path_form(script, path.value), path_form(script, other.value)
    if "pretrain" in f"{path.text} {form}".lower():
        return False
    if HOLE not in form.rpartition("/")[2] and HOLE not in saved.rpartition("/")[2]:
        return form.rpartition("/")[2] == saved.rpartition("/")[2]
    return own_file(path.text.lower()) if form == HOLE else may_be_same(saved, form)


def strips(script: Script, prefix: str) -> bool:
    """Return whether a script takes a wrapper's prefix off itself: ``if "module." in key:`` is no call."""
    if prefix in script.spelled:
        return True
    for call in script.calls:
        if call.method == "consume_prefix_in_state_dict_if_present":
            return True
        if any(argument.value.literal in (prefix, prefix[:-1]) for argument in call.arguments.values()):
            if call.method not in ("getattr", "hasattr"):
                return True
    return False


__all__ = [
    "PREFIXES", "BareSaved", "SavedWrapper", "bare_into_wrapper", "contents", "lax", "loads", "own_file",
    "saved_wrappers", "stored", "strips",
]  # fmt: skip
