"""A parameter was used while ZeRO-3 or FSDP had it in parts: its shape is [0].

## What happens

A layer fails on an empty weight: "'weight' must be 2-D", "weight of shape [0]", "mat2 must be a matrix, got 1-D
tensor". Or a file that was saved so is loaded later: "copying a param with shape torch.Size([0]) from checkpoint".

## Why

DeepSpeed's ZeRO-3 divides each parameter among the ranks and leaves an empty one in its place. Hooks of the engine put
it together just before its layer runs, and at no other time:

- `torch.save(model.state_dict())` or `save_pretrained` wrote the empty ones.
- A second model (teacher, reference, reward, VAE) was built while ZeRO-3 was configured, and never given to an engine.
- A weight is used outside of its layer's `forward`: `model.lm_head.weight` in the loss, a tied head.
- Only some ranks run the layer, for example rank 0 when it evaluates or generates alone.

FSDP does the same: a layer that is called without its wrapper's `forward` sees a flat or empty weight.

## How to tell

`print(parameter.shape, getattr(parameter, "ds_shape", None))`: `[0]` beside the true shape is this. With
`"stage": 2` in the DeepSpeed configuration the same script runs, if the memory allows it.

## See also

- [DeepSpeed: ZeRO-3](https://deepspeed.readthedocs.io/en/latest/zero3.html): GatheredParameters, zero.Init
- [transformers#20082](https://github.com/huggingface/transformers/issues/20082): a checkpoint with empty tensors
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import A_FRAME, EMPTY_MATRIX, ZERO3

PARTS = rf"{ZERO3}|FSDP|[Ff]ully_?[Ss]hard"


check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"size mismatch for (?P<key>[\w.-]{1,300}): copying a param with shape torch\.Size\(\[0\]\) from checkpoint",
            near=rf"{ZERO3}|{EMPTY_MATRIX}",
        ),
        # transformers, where it may go on with numbers of its own
        r"(?P<key>[\w.-]{1,300}): found shape torch\.Size\(\[\d[\d, ]*\]\) in the checkpoint and torch\.Size\(\[0\]\) in the model",
        r"but got (?:weight|bias) of shape \[0\]",  # layer, group and instance norm
        r"(?:weight|bias|running_mean) should contain \d+ elements not 0\b",  # batch norm
        r"size mismatch, got .{1,80}, vec \(0\)",
        Symptom(r"'weight' must be 2-D", near=rf"{PARTS}|tensor\(\[\],"),
        Symptom(r"RuntimeError: tensors must be 2-D", near=PARTS),
        Symptom(r"weight should have at least (?:two|three) dimensions", near=PARTS),
        Symptom(r"mat2 must be a matrix, got [01]-D tensor", near=PARTS),
        Symptom(
            r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", near=ZERO3
        ),
        Symptom(r"shape '\[[\d, -]+\]' is invalid for input of size 0\b", near=PARTS),
        Symptom(r"must match the size of tensor [ab] \(0\) at non-singleton dimension", near=PARTS),
        # the engine's own list of a parameter that is not there
        r"AssertionError: \{'id': \d+, 'status': '(?:NOT_AVAILABLE|INFLIGHT)', 'numel': ",
        Symptom(r"setStorage: sizes .{1,200} are out of bounds for storage of size 0", near=PARTS),
        # the line alone: torch keeps the matrix of a layer as one, and what a shard of it is has one dimension
        Symptom(r"RuntimeError: 'weight' must be 2-D", unless=A_FRAME),
        Symptom(r"weight should have at least (?:two|three) dimensions", unless=A_FRAME),
        Symptom(r"mat2 must be a matrix, got 1-D tensor", unless=A_FRAME),
        Symptom(r"must match the size of tensor [ab] \(0\) at non-singleton dimension", unless=A_FRAME),
        Symptom(r"The size of tensor a \(0\) must match the size", near=PARTS),
        Symptom(r"The size of tensor a \(0\) must match the size", unless=A_FRAME),
    ],
    message="[<key>: ]the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    fixes=[
        Fix(
            "Gather what is used outside of its layer's forward, on all ranks",
            "with deepspeed.zero.GatheredParameters(model.lm_head.weight):\n    logits = hidden @ model.lm_head.weight.T",
            Kind.EDIT,
        ),
        Fix(
            "Let DeepSpeed gather what is saved: in its configuration",
            '"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": true}',
            Kind.EDIT,
        ),
        Fix(
            "Put together what was saved in parts, in the checkpoint's folder (before DeepSpeed 0.15.3 name a file, "
            "pytorch_model.bin, instead of a folder)",
            "python zero_to_fp32.py . FOLDER",
        ),
        Fix(
            "Give every model to an engine, or build the second one without ZeRO-3",
            "reference, *_ = deepspeed.initialize(model=reference, config=config)",
            Kind.EDIT,
        ),
        Fix(
            "ZeRO-2 keeps whole parameters on each GPU: costs their full memory on every rank",
            '"zero_optimization": {"stage": 2}',
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs DeepSpeed",
)
