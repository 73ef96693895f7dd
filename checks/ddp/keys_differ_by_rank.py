"""The ranks have different entries in a dictionary that they sum up together.

## What happens

OpenMMLab (mmdet, mmengine, mmseg) says "loss log variables are different across GPUs!", and each rank its own "len(log_vars):
3 keys: ...". Elsewhere the ranks sum entry after entry without looking: one of them waits without end, or two entries of one
size are added up that do not belong together, and the log shows wrong numbers.

## Why

A loop of `all_reduce` over a dictionary needs the same keys in the same order on all ranks. They differ where a batch
decides: no object in the images of one rank, so a branch adds no loss; a metric that is logged for some samples only; a
task that is drawn at random.

## How to tell

`print(rank, sorted(losses))` in the step that fails, on all ranks; the missing key names the branch.

`gpudoctor lint train.py` finds entries that a rank or its batch alone adds before all entries are reduced.

## See also

- [mmdetection#7116](https://github.com/open-mmlab/mmdetection/issues/7116): the message, in a training that keeps images without objects
- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): one tensor, reduced over all ranks
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Known, Script, wrapped_classes

HEAD = r"loss log variables are different across GPUs"
KEYS = r"rank (?P<rank>\d+) len\(log_vars\): (?P<count>\d+) keys: (?P<keys>[\w.,/ -]{1,300})"

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning where the data decides",
    symptoms=[Symptom(HEAD, near=KEYS), Symptom(HEAD, unless=KEYS)],
    message="the ranks have different losses to sum up[: rank <rank> has <count>, namely <keys>]",
    fixes=[
        Fix(
            "Return every loss in every step; where a branch has nothing to do, 0 times its parameters, for which DDP waits",
            "nothing = sum(p.sum() for p in self.mask_head.parameters()) * 0\n"
            'losses["mask"] = mask_loss(masks) if len(masks) else nothing',
            Kind.EDIT,
        ),
        Fix(
            "What is only logged: gather the dictionaries, and average what is there",
            "parts = [None] * dist.get_world_size()\ndist.all_gather_object(parts, metrics)\n"
            "keys = sorted({key for part in parts for key in part})\n"
            "means = {key: statistics.mean(part[key] for part in parts if key in part) for key in keys}",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Entries that some ranks alone add to a dictionary, and a loop over it with a collective for each entry."""
    yield from of_forward(script)
    yield from handed_over(script)
    added: dict[tuple[str, str], Call] = {}
    for call in script.methods("__setitem__"):
        condition = next((c for c in call.conditions if c.by_rank or (c.from_data and c.kind == "if")), None)
        if condition is not None and call.value("key").is_literal:
            added.setdefault((call.scope, call.name.rpartition(".")[0]), call)
    if not added:
        return
    loops = {call.loops[-1].place: call for call in script.named("<loop>") if call.loops}
    said = set()
    for call in script.calls:
        if not call.collective or call.given("group") or not call.loops or call.rank_conditions:
            continue
        loop = loops.get(call.loops[-1].place)
        for (scope, name), entry in added.items():
            if loop is None or scope != loop.scope or name in said or loop.number < entry.number:
                continue
            if re.search(rf"(?<![\w.]){re.escape(name)}\b{ALL}", loop.text):
                said.add(name)
                yield differing(entry, name, call)


ALL = r"(?!\s*[\[(]|\.(?!(?:items|keys|values|copy)\())"
"""What does not stand behind a dictionary's name where a loop goes through all of it: ``range(state["epoch"], last)``."""


def handed_over(script: Script) -> Iterator[Finding]:
    """Report a dictionary that has other entries on some ranks and goes to a function that reduces all of them."""
    gone = [call for method in ("items", "keys", "values") for call in script.methods(method)]
    gone = [*gone, *script.named("<loop>", "sorted", "list", "tuple")]
    for call in sorted(gone, key=lambda call: call.number):
        given = next(iter(call.arguments.values()), None)
        over = (
            given.value if given is not None and call.name in ("sorted", "list", "tuple") else call.receiver
        )
        if over.known is not Known.CHOICE:
            continue
        keys = [set(v.literal) for v in over.possible() if v.known is Known.MAPPING and v.literal]
        uneven = over.by_rank or over.from_data
        if not uneven or len(keys) < 2 or call.rank_conditions:
            continue
        some = set.union(*keys) - set.intersection(*keys)
        entry = next(
            (c for c in script.methods("__setitem__") if c.value("key").literal in some and _parted(c)), None
        )
        reduced = next((c for c in script.calls[call.number :] if _reduces(c, call)), None)
        if entry is not None and reduced is not None and entry.scope != call.scope:
            yield differing(entry, entry.name.rpartition(".")[0], reduced)
            return


def _parted(entry: Call) -> bool:
    """Return whether some ranks alone come to an entry, by their rank or their data."""
    return any(c.by_rank or (c.from_data and c.kind == "if") for c in entry.conditions)


def _reduces(call: Call, gone: Call) -> bool:
    """Return whether a collective is about the tensors of a dictionary that its function has gone through."""
    tensors = call.collective and "object" not in call.method and call.method not in ("barrier", "new_group")
    return tensors and call.scope == gone.scope and call.stack == gone.stack and not call.given("group")


def differing(entry: Call, name: str, collective: Call) -> Finding:
    """Report an entry that not every rank has, where every rank calls a collective for each of its entries."""
    condition = next(c for c in entry.conditions if c.by_rank or c.from_data)
    key = entry.arguments["key"].text
    return check.found(
        f"{name} has {key} only where `{condition.text}` holds, which differs from rank to rank, and {collective.text}() "
        f"is called for each of its entries (line {collective.place}): the ranks' calls do not meet",
        severity=Severity.ERROR if condition.by_rank else Severity.WARNING,
        location=entry.place,
    )


ON_DATA = re.compile(r"\b(len|any|all)\(|\.(numel|any|all|sum|nonzero|max)\(")
"""What a test of this rank's batch looks like where its tensors are parameters of forward."""


def of_forward(script: Script) -> Iterator[Finding]:
    """Report a loss that the forward of a model under DDP returns for some batches alone."""
    scopes = {f"{item.own_name}.forward" for item in wrapped_classes(script, "ddp", "fsdp")}
    for call in script.calls:
        if call.method != "__setitem__" or call.scope not in scopes or not call.value("key").is_literal:
            continue
        condition = next((c for c in call.conditions if c.kind == "if" and ON_DATA.search(c.text)), None)
        if condition is not None and not condition.negated and "loss" in call.name.lower():
            yield check.found(
                f"{call.arguments['key'].text} is there only where `{condition.text}` holds, which each rank's batch decides: the "
                "ranks have different losses to reduce, and DDP waits for gradients of what was left out",
                severity=Severity.WARNING,
                location=call.place,
            )
