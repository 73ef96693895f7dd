"""checkpoint-recompute: seen in logs."""

MESSAGE = "a checkpointed block computed something else when it ran again for the backward pass"
HEADLINE = (
    "[rank1]: torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors "
    "have different metadata than during the forward pass."
)


def metadata(saved, again):
    lines = ["tensor at position 0:"]
    for name, (shape, dtype) in (("saved", saved), ("recomputed", again)):
        size = f"{{'shape': torch.Size([{shape}]), 'dtype': torch.{dtype}, 'device': device(type='cpu')}}"
        lines.append(f"{name} metadata: {size}")
    return "".join(f"\n[rank1]: {line}" for line in lines)


EXAMPLES = {
    metadata(("128", "bfloat16"), ("0", "bfloat16"))[1:]: (
        f"{MESSAGE}: [128] the first time, and [0] then, which is a parameter of ZeRO-3 that nobody gathered"
    ),
    "RuntimeError: Attempt to retrieve a tensor saved by autograd multiple times without checkpoint recomputation being "
    "triggered in between, this is not currently supported.": MESSAGE,
    HEADLINE: MESSAGE,
    HEADLINE + metadata(("2, 4", "float32"), ("1, 4", "float32")): MESSAGE
    + ": [2, 4] the first time, and [1, 4] then",
    HEADLINE + metadata(("64", "bfloat16"), ("64", "float32")): MESSAGE
    + ": bfloat16 the first time, and float32 then",
    HEADLINE + metadata(("128", "bfloat16"), ("0", "bfloat16")): (
        MESSAGE + ": [128] the first time, and [0] then, which is a parameter of ZeRO-3 that nobody gathered"
    ),
    (
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the "
        "original forward and recomputation.\nNumber of tensors saved during forward: 5"
    ): MESSAGE,
    (
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: trying to save more tensors during recomputation than "
        "during the original forward pass."
    ): MESSAGE,
    (
        "RuntimeError: aten._to_copy.default encountered during backward but not found in storage. This can happen if the "
        "operations in the checkpointed region are nondeterministic"
    ): MESSAGE + ": aten._to_copy.default, which the first run did not need",
    "RuntimeError: aten.mm.default invocation index 3 encountered during backward but not found in storage.": (
        MESSAGE + ": aten.mm.default, which the first run did not need"
    ),
}
NOT_THIS = [
    "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.",
    "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([1])",
]
