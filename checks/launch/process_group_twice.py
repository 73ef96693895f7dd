"""init_process_group is called twice in one process.

## What happens

"trying to initialize the default process group twice!", from the second call. Megatron and vLLM say "tensor model
parallel group is already initialized", accelerate "AcceleratorState has already been initialized".

## Why

- The script calls `init_process_group`, and so does a library: `Accelerator()`, the Trainer, Lightning,
  `deepspeed.initialize`, MMCV's `init_dist`.
- The file that calls it runs twice: a notebook cell, an import of the main script, a test that leaves the group.
- A retry: the first call failed halfway. Look further up for the error of the first one.

## How to tell

`grep -rnE 'init_process_group|init_distributed|Accelerator[(]|PartialState' .` finds the callers; the traceback has the
second one.

## See also

- [DeepSpeed#2117](https://github.com/deepspeedai/DeepSpeed/issues/2117), and
  [accelerate#536](https://github.com/huggingface/accelerate/issues/536): a library had made the group
- [is_initialized](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.is_initialized): whether there is one already
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Loop, Place, Script

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"trying to initialize the default process group twice",
        r"AssertionError: (?!ZeRO parameter).{0,80}parallel group is already initialized",
        r"(?:Accelerator|Partial)State has already been initialized and cannot be changed",
    ],
    message="the process group was there already when this process asked for it again: two places of the program make it",
    fixes=[
        Fix(
            "Call it only where no library has",
            'if not dist.is_initialized():\n    dist.init_process_group("nccl")',
            Kind.EDIT,
            proof="if not dist.is_initialized():",
        ),
        Fix(
            "With accelerate, the Trainer, Lightning or DeepSpeed: leave your own call out",
            "accelerator = Accelerator()  # makes the process group",
            Kind.EDIT,
        ),
        Fix(
            "Call it in a function, not when the file is imported",
            'if __name__ == "__main__":\n    main()',
            Kind.EDIT,
        ),
        Fix("Between two runs in one process, end the first", "dist.destroy_process_group()", Kind.EDIT),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Two calls of init_process_group on one way through the program, with none to destroy it between them."""
    before: Call | None = None
    destroyed = list(script.named("torch.distributed.destroy_process_group"))
    for call in script.named(
        "torch.distributed.init_process_group", "torch.distributed.destroy_process_group"
    ):
        if call.method == "destroy_process_group":
            before = None
            continue
        if (
            not call.reached
            or "try" in call.contexts
            or any("initialized" in c.text or c.impossible for c in call.conditions)
        ):
            continue
        loop = call.loops[-1] if call.loops and call.loops[-1].kind != "while" and call.each_time else None
        if loop is not None and not any(loop in c.loops for c in destroyed) and not _leaves(script, loop):
            yield check.found(
                f"init_process_group is in a loop, {loop.place}: the second time round it raises, because the process "
                "group is there already",
                location=call.place,
            )
        elif before is not None and _started(script, call) != _started(script, before):
            before = call  # in a process of its own
        elif before is not None and call.conditions == before.conditions and call.spawned == before.spawned:
            if call.place != before.place or not call.spawned:
                yield check.found(
                    f"init_process_group was called already, in line {before.place}, and nothing destroyed the "
                    "process group since",
                    location=call.place,
                )
        else:
            before = call


def _started(script: Script, call: Call) -> Place | None:
    """Return where the process is started in which a call happens, ``None`` for the one that the user starts."""
    starting = {c.place for c in script.named("torch.multiprocessing.spawn", "multiprocessing.Process")}
    return next((place for place in call.stack if place in starting), None) if call.spawned else None


def _leaves(script: Script, loop: Loop) -> bool:
    """Return whether a loop may be left in its first pass, as one is that tries ports."""
    return any(
        loop in way.loops
        and (way.loops[-1] == loop or way.kind in ("return", "exit"))
        and way.kind != "continue"
        for way in script.exits
    )
