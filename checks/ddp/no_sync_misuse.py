"""no_sync was used where gradients must be summed.

## What happens

DeepSpeed raises "no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage 2", "It is
illegal to call Engine.step() inside no_sync context manager", or "no_sync context manager reentry is unsupported".

## Why

`no_sync` puts off the sum over the ranks, for gradient accumulation. Between two sums each rank has gradients of its own:

- ZeRO-2 and ZeRO-3 keep of each gradient only a rank's part, and must sum it in every backward pass. transformers before
  4.48 and scripts with `accelerator.accumulate()` enter `no_sync` all the same, from DeepSpeed 0.16 on with this error.
- The optimizer's step is inside of the block: it would use gradients that no rank has shared.
- The block is inside another one.

DDP says nothing about it: a step after a backward pass inside `no_sync` lets the ranks drift apart without a word.

## How to tell

The traceback names who enters the block. Count: of N accumulated batches, N - 1 run inside, and the last one with the
step outside. With DDP nothing is raised; gather one weight after a step: `assert torch.equal(parts[0], parts[1]), "the ranks
stepped with gradients that were not summed"`. `gpudoctor explain` recognises that message in a log.

## See also

- [transformers#35157](https://github.com/huggingface/transformers/pull/35157): the repair in the Trainer
- [DDP.no_sync](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync): the forward pass too is inside
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage (?P<stage>\d)",
        r"illegal to call Engine\.(?P<step>step\(\)) inside no_sync context manager",
        r"no_sync context manager reentry is unsupported",
        r"the ranks stepped with gradients that were (?P<kept>not summed)",
    ],
    message="no_sync holds back the sum of gradients[ that ZeRO stage <stage> needs in every backward pass]"
    "[, and <step> was called inside it]"
    "[: those of the last step were <kept>, so the ranks' weights differ]",
    fixes=[
        Fix(
            "transformers: a version that leaves gradient accumulation to DeepSpeed",
            'python -m pip install --upgrade "transformers>=4.48" accelerate',
        ),
        Fix(
            "accelerate: sum in each batch under ZeRO-2 and ZeRO-3",
            "from accelerate.utils import GradientAccumulationPlugin\n\n"
            "plugin = GradientAccumulationPlugin(num_steps=4, sync_each_batch=True)\n"
            "accelerator = Accelerator(gradient_accumulation_plugin=plugin)",
            Kind.EDIT,
        ),
        Fix(
            "Your own loop: leave no_sync out, DeepSpeed counts the steps itself",
            "engine.backward(loss)\nengine.step()  # steps once in gradient_accumulation_steps calls",
            Kind.EDIT,
        ),
        Fix(
            "With DDP or ZeRO-1: the last batch and the step are outside",
            "for x in batches[:-1]:\n    with model.no_sync():\n        model(x).mean().backward()\n"
            "model(batches[-1]).mean().backward()\noptimizer.step()",
            Kind.EDIT,
            proof="with model.no_sync()",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A backward pass under no_sync whose forward pass was outside, or one that never synchronises."""
    quiet = [c for c in script.methods("backward") if any(name.endswith(".no_sync") for name in c.contexts)]
    if not quiet:
        return
    came = any(c.reached for c in quiet)
    loud = [c for c in script.methods("backward") if c not in quiet and (c.reached or not came)]
    forwards = list(script.methods("__call__", "ddp"))
    for call in quiet:
        inside = any(
            name.endswith(".no_sync") for c in forwards for name in c.contexts if c.scope == call.scope
        )
        outside = [c for c in forwards if c.scope == call.scope and c.loops == call.loops]
        if outside and not inside:
            yield check.found(
                f"only backward stands under no_sync, and the forward pass, in line {outside[0].place}, does not: DDP "
                "decides there whether gradients are summed, so they are summed all the same",
                location=call.place,
            )
        elif not loud and call.within("batch") and not _optional(call) and _steps(script, call):
            yield check.found(
                "every backward pass stands under no_sync, so no step ever sums the gradients: each rank trains a model of "
                "its own",
                location=call.place,
            )


def _optional(call: Call) -> bool:
    """Return whether a call, or its no_sync, is taken in some steps alone."""
    return not call.each_time or any("nullcontext" in name for name in call.contexts)


def _steps(script: Script, call: Call) -> bool:
    return any(c.loops == call.loops for c in script.methods("step", "optimizer"))
