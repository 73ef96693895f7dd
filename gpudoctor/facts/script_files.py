"""What a script writes: which ranks do, and whether to one file."""

import re
from collections.abc import Iterator

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_conditions import Condition
from gpudoctor.facts.script_values import Known, Value
from gpudoctor.patterns import late_pattern

MAIN = late_pattern(
    r"rank|main_process|process_(?:index|id|zero)|is_main|\bmain\b|is_master|master|is_root|is_primary|global_zero"
    r"|is_leader|is_chief|should_save|writer\b",
    re.I,
)
"""What a test names that lets one process through."""
OWN = ("tempfile.", "uuid.", "os.getpid", "socket.gethostname", "platform.node")
"""What gives every process a path of its own."""
NOWHERE = ("os.devnull", "/dev/null")
"""Files that keep nothing."""
DEEPEST = 6


def one_alone(call: Call) -> bool:
    """Return whether a call stands under a test that may keep it to one rank, as far as words tell."""
    return any(condition.by_rank or MAIN.search(condition.text) for condition in call.conditions)


def origins(script: Script, value: Value, depth: int = 0) -> Iterator[Call]:
    """Yield the calls that a value comes from, and those that their arguments come from."""
    for item in value.possible():
        if 0 <= item.made < len(script.calls):
            call = script.calls[item.made]
            yield call
            if depth < DEEPEST:
                yield from origins(script, call.receiver, depth + 1)
                for argument in call.arguments.values():
                    yield from origins(script, argument.value, depth + 1)
        if depth < DEEPEST:
            for nested in item.items:
                yield from origins(script, nested, depth + 1)


def same_for_all(script: Script, value: Value, text: str) -> bool:
    """Return whether a path is surely the same one on every rank of a node."""
    if (
        value.by_rank
        or MAIN.search(text)
        or value.literal == "/dev/null"
        or value.text in NOWHERE
        or text in NOWHERE
    ):
        return False
    if value.known is Known.UNKNOWN and value.text == text and value.made < 0:
        return False  # a parameter that nobody gives
    for call in origins(script, value):
        if call.name == "tempfile.gettempdir":
            continue  # the node's own
        if (
            call.name.startswith(OWN)
            or "temp" in call.name.lower()
            or call.name in ("io.BytesIO", "io.StringIO")
        ):
            return False
        if any(a.value.by_rank or MAIN.search(a.text) for a in call.arguments.values()):
            return False
    return True


def starts_several(script: Script) -> bool:
    """Return whether a script starts several processes of one function itself, with or without a process group."""
    return spawns_ranks(script) or any(call.loops for call in script.named("multiprocessing.Process"))


def spawns_ranks(script: Script) -> bool:
    """Return whether mp.spawn starts several processes that are told apart by their rank alone."""
    return any(c.given("nprocs") and c.value("nprocs").literal != 1 for c in script.named(SPAWN))


SPAWN = "torch.multiprocessing.spawn"


def _ruled_out(script: Script, call: Call) -> bool:
    """Return whether a call stands where an assertion for several ranks does not hold: ``assert not args.search``."""
    for asserted in script.named("<asserted>"):
        test = asserted.arguments["test"]
        bare = test.text.removeprefix("not ")
        said = [Condition(test.place, test.text, test.value)]
        said += [Condition(test.place, bare, negated=True)] if bare != test.text else []
        if any(
            condition.excludes(one) for condition in call.conditions if condition.kind == "if" for one in said
        ):
            return True
    return False


def of_several(script: Script, call: Call) -> bool:
    """Return whether a call surely happens in a program of several ranks that distributes by torch alone."""
    never = call.reached and any(condition.never for condition in call.conditions)
    if never or _looked_at_alone(script, call) or _ruled_out(script, call):
        return False  # of what nobody calls, a default is what it may be given otherwise
    if call.spawned and spawns_ranks(script) and not any(other.name in MAKING for other in script.calls):
        return not any(_single(condition) for condition in call.conditions)  # who makes the group is not read
    if next(script.named("accelerate.Accelerator.prepare", "deepspeed.initialize"), None) is not None:
        if {"lightning", "transformers"} & {*script.frameworks}:
            return False
    elif {*script.frameworks} - {"horovod"} and script.process_group is None:
        return False  # who makes the group does these things too; horovod makes none, and does none of them
    if not call.reached and _shares_out(script, call):
        return not any(_single(condition) or _of_tpus(condition) for condition in call.conditions)
    making = _making(script, call)
    others = any(other.name in MAKING for other in script.calls)
    if not making and (others or not (_sampled(script) or script.launched)):
        return False
    if call.reached and making and not any(other.reached for other in making):
        return False  # what is run makes no ranks; a function that others may call does
    if call.within("epoch") is not None and making and all(other.number > call.number for other in making):
        return False  # a training before the ranks' own: another command of the same program
    making = [other for other in making if other.reached]
    if making and all(other.spawned for other in making) and not call.spawned:
        return False  # the process that starts the ranks, before or after them
    if any(_single(condition) or _of_tpus(condition) for condition in call.conditions) or _in_turn(call):
        return False
    if call.reached:
        return True
    owner = call.scope.partition(".")[0] if "." in call.scope else ""
    for other in script.calls:
        if other.name in MAKING and not other.reached:
            if other.stack[:1] == call.stack[:1]:
                return True
            made_in, _, method = other.scope.partition(".")
            if owner and made_in == owner and not WHOLE_RUN.match(method):
                return True
    return False


WHOLE_RUN = late_pattern(r"_*(?:train|fit|run|main|learn)(?:_|\b)")
"""What a method is called that is a whole run: what it does not come to is another command, such as ``export``."""


def _looked_at_alone(script: Script, call: Call) -> bool:
    """Return whether a call was met by itself, in a function that another one of the program calls: that tells more."""
    return (
        not call.reached
        and len(call.stack) == 1
        and any(other.place == call.place and len(other.stack) > 1 for other in script.named(call.name))
    )


def _making(script: Script, call: Call) -> list[Call]:
    """Return what makes this a program of several ranks, as far as a call may belong to it.

    Its branches may exclude each other: ``if args.use_ddp: ... else: ...``. A worker that mp.spawn starts elsewhere
    runs as the one process where it is called by itself. And of a library of many files, whose parts know nothing of
    each other, only what stands in the program's file or in the call's own counts, unless one run comes to both.
    """
    making = [
        other for other in script.calls if other.name in MAKING and not _never(other) and not _for_one(other)
    ]
    spawned = {other.place for other in making if other.spawned}
    near = {script.path, call.place.path}
    passed = {
        (condition.place, not condition.negated) for condition in call.conditions if not condition.by_rank
    }
    return [
        other
        for other in making
        if (other.spawned or other.place not in spawned)
        and (
            call.place.path == script.path
            or other.place.path == call.place.path
            or (call.reached and other.reached)
            or (call.stack[:1] == other.stack[:1] and len(call.stack) > 1)
        )
        and (other.place.path in near or all(_plain(c) or c in call.conditions for c in other.conditions))
        and not any((c.place, c.negated) in passed and not c.early for c in other.conditions)
        and not other.excluded(call)
    ]


def elsewhere(script: Script) -> bool:
    """Return whether the ranks are made in other files alone, under a test: a library that can, if it is asked to."""
    making = [call for call in script.calls if call.name in MAKING]
    return bool(making) and all(
        call.place.path != script.path and not all(_plain(c) for c in call.conditions) for call in making
    )


SEVERAL = late_pattern(
    r"distribut|(?:\b|_)dist(?:\b|_)|ddp|parallel|world_size|launcher|gpus?\b|device_count|cuda\.is_available"
    r"|num_processes|is_initialized|\bworld\b|> ?1$",
    re.I,
)
"""What a test asks for that holds where there are several ranks."""


def _plain(condition: Condition) -> bool:
    """Return whether a test holds in each run of several ranks, as far as words tell, or asks for the rank."""
    return condition.kind != "if" or condition.by_rank or SEVERAL.search(condition.text) is not None


def _sampled(script: Script) -> bool:
    """Return whether a loader has a DistributedSampler without any test: its ranks are made elsewhere."""
    samplers = [s for s in script.of_kind("sampler") if s.type == "torch.utils.data.DistributedSampler"]
    made = [script.made_by(sampler) for sampler in samplers if sampler.place.path == script.path]
    return any(m is not None and m.reached and all(c.kind == "main" for c in m.conditions) for m in made)


def _shares_out(script: Script, call: Call) -> bool:
    """Return whether the function in which a call stands shares data out among the ranks: each of them runs it."""
    made = [script.made_by(thing) for thing in script.of_kind("sampler") if thing.type == SHARING]
    return any(
        other is not None
        and (other.scope, other.place.path) == (call.scope, call.place.path)
        and other.scope != "<module>"
        and not any(test.impossible for test in other.conditions)
        and not other.excluded(call)
        for other in made
    )


SHARING = "torch.utils.data.DistributedSampler"


def _for_one(call: Call) -> bool:
    """Return whether a process group is made for one process."""
    size = call.value("world_size")
    return size.is_literal and size.literal == 1


FIRST = late_pattern(r"first|rank_zero|wait_for|main_process|sequential", re.I)


def _in_turn(call: Call) -> bool:
    """Return whether a context manager lets one rank go first: ``with torch_distributed_zero_first(rank):``."""
    return any(FIRST.search(name) for name in call.contexts)


ONE = late_pattern(
    r"(?:world_size(?:\(\))?|num_processes)\s*(?:(?P<one><= ?1|== ?1|< ?2)|> ?1|!= ?1|>= ?2)\s*$", re.I
)


def _single(condition: Condition) -> bool:
    """Return whether a test lets through only what runs as one process: ``world_size <= 1``."""
    flag = TOGETHER.fullmatch(condition.text) if condition.kind == "if" else None
    if flag is not None and not condition.value.is_literal:
        return condition.negated is not bool(flag["not"])
    found = ONE.search(condition.text)
    return found is not None and condition.negated is not bool(found["one"])


TOGETHER = late_pattern(
    r"(?P<not>not )?(?:\w+\.)*(?:(?:is|use|using)_)?(?:ddp|distributed)(?:_(?:enabled|run|mode|training))?",
    re.I,
)
"""A flag that holds where there are several ranks."""


TPUS = late_pattern(r"(?:\b|_)(?:tpus?|xla)(?:\b|_)", re.I)


def _of_tpus(condition: Condition) -> bool:
    """Return whether a test lets through only what runs on TPUs, whose library keeps the ranks apart by itself."""
    return condition.kind == "if" and not condition.negated and TPUS.search(condition.text) is not None


def _never(call: Call) -> bool:
    """Return whether a call stands under a test that is known not to hold: ``if world_size > 1`` with 1 handed over."""
    return any(
        c.value.text in ("Gt", "NotEq")
        and len(c.value.items) == 2
        and not c.negated
        and _equal(*c.value.items)
        for c in call.conditions
    )


def _equal(left: Value, right: Value) -> bool:
    return left.is_literal and right.is_literal and left.literal == right.literal


MAKING = frozenset(
    {
        "torch.distributed.init_process_group",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "accelerate.Accelerator.prepare",
        "deepspeed.initialize",
        "horovod.torch.init",
    }
)
"""Calls that only a program of several ranks makes."""

__all__ = [
    "elsewhere",
    "of_several",
    "one_alone",
    "origins",
    "same_for_all",
    "spawns_ranks",
    "starts_several",
]
