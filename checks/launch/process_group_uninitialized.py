"""torch.distributed is used in a process that has no process group.

## What happens

"Default process group has not been initialized, please make sure to call init_process_group." It is raised by
`get_rank`, `barrier` and every collective, by DistributedDataParallel, DistributedSampler and SyncBatchNorm.

## Why

- The script was started by plain `python`, so it left `init_process_group` out, and a later line needs it.
- It was called in the parent of `mp.spawn`, not in the function that each process runs.
- A model with SyncBatchNorm, or a DistributedSampler, in a run with one process.
- The call comes after `destroy_process_group`, in a `finally:` or at exit. An exception further up is then the cause.
- A subgroup (tensor or data parallel) is asked for before the library made it.

## How to tell

The last frame in your own file shows the call. `env | grep -E '^(RANK|WORLD_SIZE)='` shows whether a launcher ran.

## See also

- [Initialization](https://docs.pytorch.org/docs/stable/distributed.html#initialization): init_process_group comes before everything else
- [mmsegmentation#354](https://github.com/open-mmlab/mmsegmentation/issues/354): SyncBatchNorm in one process
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import NO_GRADIENTS, Call, Condition, Known, Script, joined, made_nowhere

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where the group is made only under a condition",
    symptoms=[
        r"Default process group (?:has not been|is not) initialized",
        r"Process group (?P<group>\d+) is not initialized in the world group map",
        r"(?:RuntimeError: The given group does not exist|(?:Runtime|Value)Error: Invalid process group specified)",
        r"AssertionError: Process group cannot be None",
        r"DeviceMesh process groups not initialized",
        r"Group <.{1,120}> is not registered, please create group with torch\.distributed\.new_group",
        r"AssertionError: (?:DistBarrier requires an initialized process group|torch\.distributed must be initialized)",
        r"Could not resolve the process group registered under the name (?P<group>\S{1,80})",
        r"DeepSpeed backend not set, please initialize it using init_process_group",
        r"AssertionError: .{0,80}(?P<group>parallel group) is not initialized",  # Megatron, vLLM
        r"[Nn]eed to initialize default process group using .?init_process_group",
        r"AssertionError: .{0,80}(?P<group>parallel group(?:-gloo)?(?: with [\w ]{1,40})?) is not initialized",
        r"(?:Error|Exception): .{0,160}\btorch[.-]distributed (?:to be|must be|is not) initialized",
        r"Distributed backend is not initialized\. Please set dist_init_required",  # DeepSpeed
        r"Distributed environment is not initialized but comm operator",
        r"The collective group '(?P<group>[^'\n]{1,80})' is not initialized in the process",  # Ray
        r"[Mm]ake sure you init torch distributed in your script",  # transformers
        r"AssertionError: torch\.distributed (?:is not|has not been|must be) initialized",
    ],
    message="torch.distributed was used before init_process_group ran in this process, or after the group was destroyed",
    fixes=[
        Fix(
            "Start it as a distributed job, with one process or many; a script that nowhere calls init_process_group needs that too",
            "torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix(
            "Make the group first, in every process",
            "# under mp.spawn, which sets no variables, with rank= and world_size= too\n"
            'dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")',
            Kind.EDIT,
        ),
        Fix(
            "Ask where the script must also run alone",
            "if dist.is_available() and dist.is_initialized():\n    dist.barrier()",
            Kind.EDIT,
            proof="dist.is_initialized():",
        ),
        Fix(
            "In a run with one process, use plain batch normalisation",
            "bn = nn.BatchNorm2d(channels) if world_size == 1 else nn.SyncBatchNorm(channels)",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A collective in a program that makes no process group, or makes it only where torchrun started it."""
    found = list(_before_or_after(script)) or list(_in_the_next_round(script)) or list(_trained_after(script))
    found = found or list(_asked_for_the_setup(script))
    yield from found or list(_made_nowhere(script)) or _asked_without_one(script)
    made = script.process_group or next(script.named("deepspeed.init_distributed"), None)
    if made is None or not made.reached or "try" in made.contexts:
        return
    if len(list(script.named(made.name))) > 1:
        return  # it may be made on the other branch, too
    under = [
        c
        for c in made.conditions
        if c.kind == "if" and not c.early and "is_initialized" not in c.text and not c.by_rank
    ]
    if not under:
        return
    for call in script.calls[made.number :]:
        asks = call.name in ("torch.distributed.get_rank", "torch.distributed.get_world_size") or (
            call.name == "torch.utils.data.DistributedSampler"
            and not (call.given("num_replicas") and call.given("rank"))
        )
        numbered = "-1" in under[0].text and any(c.by_rank for c in call.conditions)  # -1 is no rank
        if (call.collective or asks) and call.reached and not numbered and not _guarded(call):
            yield check.found(
                f"the process group is made only {_where(under[0])}, line {made.place}, and {call.text} is called "
                "whether it was or not",
                severity=Severity.WARNING,
                location=call.place,
            )
            return


def _where(test: Condition) -> str:
    return f"where {test.text} does not hold" if test.negated else f"if {test.text}"


def _checks_input(condition: Condition) -> bool:
    """Return whether an early exit is one for a file or folder that is missing."""
    return condition.early and "os.path." in condition.text


def _guarded(call: Call) -> bool:
    """Return whether a call stands under any test but one for the rank, or may fail."""
    others = any(c.by_rank and c.rank != 0 for c in call.conditions)  # without a group there is rank 0 alone
    return (
        others
        or "try" in call.contexts
        or any("is_initialized" in c.text for c in call.conditions)
        or any(
            c.kind not in ("main", "while") and not c.by_rank and not _checks_input(c)
            for c in call.conditions
        )
    )


NEEDING = ("torch.distributed.get_rank", "torch.distributed.get_world_size", "torch.distributed.barrier")


def _before_or_after(script: Script) -> Iterator[Finding]:
    """Report what asks for the group before the line that makes it, or after the one that destroys it."""
    made = script.process_group
    if made is None or not made.reached or "try" in made.contexts:
        return
    gone = list(script.named("torch.distributed.destroy_process_group"))
    last = gone[-1] if gone and not gone[-1].given("group") else None
    for call in script.calls:
        needs = (call.collective or call.name in NEEDING) and call.method != "new_group"
        if not needs or not call.reached or _under_a_test(call, made):
            continue
        if made.spawned and not call.spawned and all(c.spawned for c in script.named(made.name)):
            said = f"{call.text} is called in the process that starts the ranks, which has joined no process group"
            yield check.found(said, severity=Severity.ERROR, location=call.place)
            return
        if call.spawned != made.spawned or call.deferred != made.deferred:
            continue
        if last is not None and call.number > last.number and last.scope == made.scope != call.scope:
            continue  # a context manager may hold both: it destroys the group when the block is over
        if call.number < made.number:
            said = (
                f"{call.text} is called here, and the process group is made only later, in line {made.place}"
            )
        elif (
            last is not None and call.number > last.number and not _under_a_test(last, made) and last.reached
        ):
            said = f"{call.text} is called here, and the process group was destroyed before, in line {last.place}"
        else:
            continue
        yield check.found(said, severity=Severity.ERROR, location=call.place)
        return


def _wrapped(script: Script, call: Call) -> bool:
    """Return whether a call is a forward pass of a DistributedDataParallel, whose backward sums over the group."""
    return call.method == "__call__" and script.thing(call.receiver, "ddp") is not None


def _in_the_next_round(script: Script) -> Iterator[Finding]:
    """Report a loop that destroys the group in one round and asks for it in the next, with nothing that makes it anew."""
    made = script.process_group
    for gone in script.named("torch.distributed.destroy_process_group"):
        loop = gone.loops[len(made.loops)] if made is not None and len(gone.loops) > len(made.loops) else None
        if (
            made is None
            or loop is None
            or not gone.reached
            or gone.given("group")
            or made.loops != gone.loops[: len(made.loops)]
        ):
            continue
        anew = any(loop in other.loops for other in script.named(made.name))
        left = any(loop in way.loops and way.number >= gone.number for way in script.exits)
        asked = [
            c
            for c in script.calls
            if loop in c.loops and c.reached and (c.collective or c.name in NEEDING or _wrapped(script, c))
        ]
        if asked and not anew and not left and "try" not in gone.contexts:
            yield check.found(
                f"the process group is destroyed in a loop (line {gone.place}), and {asked[0].text} is called in its next "
                "round, where there is none any more",
                severity=Severity.ERROR,
                location=gone.place,
            )
            return


def _trained_after(script: Script) -> Iterator[Finding]:
    """Report a training by DistributedDataParallel below the line that destroyed its group."""
    made = script.process_group
    gone = [
        c
        for c in script.named("torch.distributed.destroy_process_group")
        if c.reached and not c.given("group")
    ]
    if made is None or not gone or not made.reached or made.number > gone[-1].number:
        return
    last, texts = gone[-1], {test.text for test in made.conditions}
    tests = [test for test in last.conditions if test.kind != "main" and test.text not in texts]
    if last.loops or "try" in last.contexts or tests:
        return
    held = last.scope == made.scope != "<module>"  # a context manager may hold both
    for call in script.methods("__call__", "ddp"):
        if call.number < last.number or not call.reached or call.spawned != last.spawned:
            continue
        if held and call.stack[: len(last.stack)] != last.stack:
            continue
        trained = not NO_GRADIENTS & {*call.contexts}
        if trained or (_after_training(script, call, last) and any(w is call for w in joined(script))):
            does = "is trained" if trained else "broadcasts the buffers of its model"
            yield check.found(
                f"the process group is destroyed here, and {call.text} (line {call.place}), a DistributedDataParallel, {does} "
                "after that",
                severity=Severity.ERROR if call.receiver.known is Known.THING else Severity.WARNING,
                location=last.place,
            )
            return


def _after_training(script: Script, call: Call, gone: Call) -> bool:
    """Return whether a wrapper's last forward pass was one of training: a pass without gradients broadcasts after such alone."""
    before = [c for c in script.calls[: gone.number] if c.receiver.things == call.receiver.things]
    passes = [c for c in before if c.method == "__call__"]
    return bool(passes) and not NO_GRADIENTS & {*passes[-1].contexts}


def _asked_for_the_setup(script: Script) -> Iterator[Finding]:
    """Report a rank that is asked of the group and then given to the function, of another file, that makes the group."""
    if script.process_group is not None or script.frameworks:
        return
    for asked in script.named(*NEEDING):
        for call in script.calls[asked.number + 1 :]:
            if call.method.lower() not in SETTING_UP or call.scope != asked.scope:
                continue
            if any(argument.value.text == asked.method for argument in call.arguments.values()):
                yield check.found(
                    f"{asked.text} asks the process group for the rank, and only {call.text}() in line {call.place} is "
                    "to make that group",
                    severity=Severity.ERROR,
                    location=asked.place,
                )
                return


SETTING_UP = frozenset(
    "setup ddp_setup setup_ddp dist_setup setup_dist setup_distributed distributed_setup init_process init_processes init_dist "
    "init_ddp ddp_init init_distributed setup_process_group init_process_group".split()
)
"""What functions are called that make a process group of the rank and the size that they are given."""


def _made_nowhere(script: Script) -> Iterator[Finding]:
    """Report a DistributedSampler that asks for the group in a program that nothing starts as a distributed one."""
    named = (call.name.lower() for call in script.calls if not call.name.startswith("torch.utils."))
    if script.frameworks or any(word in name for name in named for word in STARTING):
        return
    for call in script.named("torch.utils.data.DistributedSampler"):
        by_option = any("local_rank" in test.text for test in call.conditions)
        main = call.scope == "<module>" or any(test.kind == "main" for test in call.conditions)
        if call.reached and by_option and main and not (call.given("num_replicas") and call.given("rank")):
            yield check.found(
                f"{call.text} asks the process group for rank and world size, and nothing in this script makes one",
                severity=Severity.WARNING,
                location=call.place,
            )
            return


def _asked_without_one(script: Script) -> Iterator[Finding]:
    """Report a collective, or a question for the rank, in a main program in which nothing makes a group, seen or unseen."""
    if next(script.named(*WRAPPERS), None) is not None:
        return  # which ask for the group before all else
    names = {call.name for call in script.calls if call.collective or call.name in NEEDING}
    for call, unseen in made_nowhere(script, {name for name in names if name.count(".") == 2}):
        yield check.found(
            f"{call.text} needs the process group, and nothing in this script makes one: torchrun makes none either",
            severity=Severity.WARNING if unseen else Severity.ERROR,
            location=call.place,
        )


WRAPPERS = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_shard",
)
STARTING = (
    "dist",
    "init_process",
    "launch",
    "setup",
    "ddp",
    "parallel",
    "accelerat",
    "horovod",
    "engine",
    "trainer",
)
"""Words in the names of what may make the process group where that is not seen."""


def _under_a_test(call: Call, made: Call) -> bool:
    """Return whether a call stands under a test, or in a loop or ``try``, that the making of the group does not."""
    tests = [
        c for c in call.conditions if c.kind != "main" and c not in made.conditions and not _checks_input(c)
    ]
    return bool(tests) or call.loops != made.loops or "try" in call.contexts
