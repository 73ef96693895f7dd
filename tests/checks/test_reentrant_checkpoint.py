"""reentrant-checkpoint: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("reentrant-checkpoint")
MESSAGE = "reentrant activation checkpointing cannot do this call"
EXAMPLES = {
    (
        "UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly. The default "
        "value of use_reentrant will be updated to be False in the future."
    ): (
        "activation checkpointing runs in its reentrant form, which works badly with DDP and with frozen inputs"
    ),
    (
        "[rank0]: /opt/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py:632: UserWarning: "
        "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In a future "
        "release, calling checkpoint without use_reentrant will raise an exception."
    ): (
        "activation checkpointing runs in its reentrant form, which works badly with DDP and with frozen inputs"
    ),
    "UserWarning: None of the inputs have requires_grad=True. Gradients will be None": (
        "no input of a checkpointed block requires a gradient: in training its parameters get none"
    ),
    "RuntimeError: Checkpointing is not compatible with .grad(), please use .backward() if possible": MESSAGE,
    (
        "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
        "parameter to .backward()."
    ): MESSAGE,
    "RuntimeError: none of output has requires_grad=True, this checkpoint() is not necessary": MESSAGE,
}
NOT_THIS = [
    "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
    (
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have "
        "different metadata than during the forward pass."
    ),
    "RuntimeError: Expected to mark a variable ready only once. 1) Use of a module parameter outside the `forward` function.",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
]


def test_a_warning_is_a_note_and_a_refusal_an_error():
    for text in EXAMPLES:
        [seen] = matches(text, [CHECK])
        assert seen.finding.severity is (Severity.NOTE if "UserWarning" in text else Severity.ERROR)
