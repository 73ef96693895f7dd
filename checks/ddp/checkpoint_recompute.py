"""Activation checkpointing computed something else the second time.

## What happens

`backward()` raises `CheckpointError`: "Recomputed values for the following tensors have different metadata than during
the forward pass", "A different number of tensors was saved during the original forward and recomputation", or "trying
to save more tensors during recomputation than during the original forward pass". With selective checkpointing a
`RuntimeError`: "aten._to_copy.default encountered during backward but not found in storage".

## Why

The checkpointed block runs again in the backward pass, and must then compute the same: the same sizes, types and number
of operations. torch restores its random numbers; the rest is up to the block.

| what the message shows | what differs |
|---|---|
| recomputed shape `[0]` | ZeRO-3 has the parameter in parts again, and nothing gathers it for the second run |
| recomputed shape longer in one dimension | a cache (`use_cache`, `past_key_values`) grew in the first run |
| other lengths from step to step | a router, top-k or sampling that decides again, and otherwise: mixture of experts |
| other dtype, or `aten._to_copy` | `autocast` differs, or its cache had the cast weight in the first run and has not in the second |
| another number of tensors | a branch on a counter, on `self.training`, on random numbers of Python or numpy, on `is_grad_enabled()` |

## How to tell

The first "tensor at position" with its saved and its recomputed metadata tells which of these it is.
`checkpoint(block, x, use_reentrant=False, debug=True)` prints the operations of both runs.

## See also

- [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html): `determinism_check`, `debug`
- [torch issue 141896](https://github.com/pytorch/pytorch/issues/141896): with autocast
- [torchtitan#1117](https://github.com/pytorch/torchtitan/issues/1117): with a mixture of experts
- [DeepSpeed#8148](https://github.com/deepspeedai/DeepSpeed/pull/8148): ZeRO-3 and frozen parameters
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

HEADLINE = r"Recomputed values for the following tensors have different metadata"
SIZE = r"metadata: \{'shape': torch\.Size\(\[(?P<%s>[\d, ]*)\]\), 'dtype': torch\.(?P<%s>\w+)"
BOTH = rf"saved {SIZE % ('saved', 'dtype')}[\s\S]{{1,200}}?recomputed {SIZE % ('again', 'other')}"
SAME = Fix(
    "Decide outside of the checkpointed block, and hand the decision in",
    "keep = random.random() < 0.9\nx = checkpoint(self.block, x, keep, use_reentrant=False)",
    Kind.EDIT,
    proof="checkpoint(self.block, x, keep, use_reentrant=False)",
)
CACHE = Fix(
    "transformers: no cache of keys and values in training", "model.config.use_cache = False", Kind.EDIT
)
AUTOCAST = Fix(
    "With autocast around the model: without its cache of cast weights, which is a little slower",
    'with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):\n    loss = criterion(model(x), y)',
    Kind.EDIT,
)
DEBUG = Fix(
    "See both runs, operation by operation",
    "x = checkpoint(self.block, x, use_reentrant=False, debug=True)",
    Kind.EDIT,
)
ZERO3 = Fix(
    "ZeRO-3: take the reentrant form, which runs the block as a whole again",
    'TrainingArguments(..., gradient_checkpointing_kwargs={"use_reentrant": True})',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(HEADLINE, near=BOTH),
        Symptom(HEADLINE, unless=BOTH),
        # the list alone, where the headline is cut off
        Symptom(r"recomputed metadata: \{'shape': torch\.Size", near=BOTH, unless=HEADLINE),
        r"A different number of tensors was saved during the original forward and recomputation",
        r"trying to save more tensors during recomputation than during the original forward pass",
        # torch 2.0: the second run saved fewer tensors than the first (torch/utils/checkpoint.py)
        r"retrieve a tensor saved by autograd multiple times without checkpoint recomputation being triggered",
        # selective checkpointing
        r"(?P<operation>[\w.]{1,80}) (?:invocation index \d+ )?encountered during backward but not found in storage",
    ],
    fixes=[DEBUG, SAME, CACHE, AUTOCAST],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Compare what was saved with what was computed again."""
    seen = sighting.groups
    said = "a checkpointed block computed something else when it ran again for the backward pass"
    if "operation" in seen:
        cast = seen["operation"].startswith("aten._to_copy")
        said += f": {seen['operation']}, which the first run did not need"
        yield check.found(said, fixes=[AUTOCAST, SAME] if cast else [SAME, CACHE])
    elif "saved" not in seen:
        yield check.found(said)
    elif seen["again"].strip() == "0" != seen["saved"].strip():
        said += f": [{seen['saved']}] the first time, and [0] then, which is a parameter of ZeRO-3 that nobody gathered"
        yield check.found(said, fixes=[ZERO3, DEBUG])
    elif seen["saved"] == seen["again"] and seen["dtype"] != seen["other"]:
        yield check.found(
            f"{said}: {seen['dtype']} the first time, and {seen['other']} then", fixes=[AUTOCAST, DEBUG]
        )
    else:
        yield check.found(
            f"{said}: [{seen['saved']}] the first time, and [{seen['again']}] then",
            fixes=[DEBUG, SAME, CACHE],
        )
