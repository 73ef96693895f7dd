"""optimizer-parameter-count: seen in files."""

import pytest

from gpudoctor.facts import CheckpointFile, Key, Optimizer, StateDict
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

CHECK = Registry().check("optimizer-parameter-count")
NAMES = (
    "conv.weight",
    "conv.bias",
    "bn.weight",
    "bn.bias",
    "bn.running_mean",
    "bn.running_var",
    "token",
    "fc.weight",
)
"""Six that can be parameters, and two statistics."""


def found(groups, names=NAMES, storages=None, states=1):
    held = storages or {}
    keys = [
        Key(name=n, dtype="float32", shape=(4,), size=16, device="cpu", storage=held.get(n)) for n in names
    ]
    keys.append(Key(name="bn.num_batches_tracked", dtype="int64", shape=(), size=8, device="cpu"))
    model = StateDict(entry="model", keys=tuple(keys))
    optimizer = Optimizer(entry="optimizer", groups=groups, states=0)
    file = CheckpointFile(
        path="m.pt", kind="torch zip", state_dicts=(model,) * states, optimizers=(optimizer,)
    )
    return list(CHECK.functions[Source.CHECKPOINT](file))


@pytest.mark.parametrize("groups", [(6,), (2, 4), (5,)])
def test_a_number_that_can_be_right_is_no_finding(groups):
    assert found(groups) == []  # the token may be a buffer


def test_more_than_the_model_can_have_is_a_warning():
    (finding,) = found((5, 2))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("the optimizer has 7 parameters in 2 groups, and the model only 6")


def test_fewer_are_no_finding_for_a_file_does_not_tell_buffers_and_frozen_parameters():
    assert found((2,)) == []
    assert (
        found((6,), names=("a.weight", "a.bias", "b.weight", "b.bias", "c.weight", "c.bias", "loss.weight"))
        == []
    )


def test_tied_weights_count_once_or_twice():
    tied = {"conv.weight": "0", "fc.weight": "0"}
    assert found((4,), storages=tied) == []
    assert found((6,), storages=tied) == []


def test_who_belongs_to_whom_is_not_guessed():
    assert found((40,), states=2) == []
    assert found((40,), names=("_fsdp_wrapped_module._flat_param",)) == []
    assert found((0,)) == []
