"""The optimizer and the model in the checkpoint differ in number of parameters.

## What happens

`optimizer.load_state_dict` says "loaded state dict contains a parameter group that doesn't match the size of
optimizer's group". Or it loads, and each parameter gets the momentum of another: the loss jumps after resuming.

## Why

An optimizer keeps its state by the number of each parameter, not by its name. The file holds the model of one run and
the optimizer of another; layers were added, removed or frozen between the two; or the optimizer also trains something
that was not saved with the model, such as a loss with weights of its own.

## How to tell

`gpudoctor checkpoint inspect FILE` shows both numbers. In the training script, compare
`sum(len(g["params"]) for g in optimizer.param_groups)` with `len(list(model.parameters()))`. Fewer in the optimizer is
right where layers are frozen on purpose, and a file does not tell which of its tensors are buffers: only more than the
model can have is reported.

## See also

- [Optimizer.load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html): what it takes, and hooks to change it first
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): a general checkpoint, model and optimizer together
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import CheckpointFile, Key, StateDict

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
FLAT = "_flat_param"
"""FSDP's parameters that are many in one."""

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix(
            "Save both at the same time, after the last change of the model",
            'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")',
            Kind.EDIT,
        ),
        Fix(
            "Load the model alone and start the optimizer from scratch",
            'model.load_state_dict(file["model"])\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-4)',
            Kind.EDIT,
        ),
    ],
    no_reproduction="the error is that of state-dict-shape",
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """An optimizer with more parameters than the model has; of several, nobody knows who belongs to whom.

    Fewer are no finding: buffers, frozen and tied parameters cannot be told from others in a file.
    """
    if len(file.optimizers) != 1 or len(file.state_dicts) != 1:
        return
    optimizer, state = file.optimizers[0], file.state_dicts[0]
    held = sum(optimizer.groups)
    if state.sharded or any(FLAT in key.name for key in state.keys):
        return
    most = can_be_parameters(state)
    if held > most:
        groups = count(len(optimizer.groups), "group")
        said = f"the optimizer has {held} parameters in {groups}, and the model only {most} tensors that can be any"
        yield check.found(said)


def can_be_parameters(state: StateDict) -> int:
    """Return how many tensors there are that can be parameters: a tied one has two names, and each might be one of its own."""
    return sum(not is_statistic(key) for key in state.keys)


def is_statistic(key: Key) -> bool:
    """Return whether a tensor is a buffer of a normalisation layer, or holds no fractions and cannot be trained."""
    return key.name.endswith(STATISTICS) or not key.dtype.startswith(("float", "bfloat", "complex"))
