"""loss-without-grad: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("loss-without-grad")
MESSAGE = "the loss has no graph: no parameter that is trained leads to it"
FROZEN = (
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"
    "the line before was torch/utils/checkpoint.py:242: UserWarning: None of the inputs have requires_grad=True."
)
EXAMPLES = {
    "[rank1]: RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": MESSAGE,
    "RuntimeError: element 0 of variables does not require grad and does not have a grad_fn": MESSAGE,
    "RuntimeError: One of the differentiated Tensors does not require grad": MESSAGE,
    "AttributeError: 'float' object has no attribute 'backward'": (
        "the loss is a float and not a tensor, so it has no graph"
    ),
    "    outputs.loss.backward()\nAttributeError: 'NoneType' object has no attribute 'backward'": (
        "the loss is None: the model returned none"
    ),
}
NOT_THIS = [
    "    contrastive(x, y).backward()\nAttributeError: 'NoneType' object has no attribute 'backward'",
    "AttributeError: 'Engine' object has no attribute 'backward'",
    "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
    "RuntimeError: you can only change requires_grad flags of leaf variables.",
    "RuntimeError: none of output has requires_grad=True, this checkpoint() is not necessary",
]


def test_a_checkpoint_without_trained_inputs_gets_the_fix_for_it():
    (seen,) = matches(FROZEN, [CHECK])
    assert seen.finding.message.startswith("no input of a checkpointed block requires a gradient")
    assert "use_reentrant=False" in seen.finding.fixes[0].command


FLAGGED = [
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            loss = loss.detach()\n            loss.backward()  # <-\n"
        },
    ),
    (
        "spawn.py",
        {
            "        loss = self.criterion(self.model(x), y)\n        loss.backward()\n": "        with torch.no_grad():\n            loss = self.criterion(self.model(x), y)\n            loss.backward()  # <-\n"
        },
    ),
]
FINE = [
    (
        "spawn.py",
        {
            "        loss = self.criterion(self.model(x), y)\n": "        with torch.no_grad():\n            before = self.criterion(self.model(x), y)\n        loss = self.criterion(self.model(x), y)\n"
        },
    ),
    ("slurm.py", {"    with torch.no_grad():\n": "    with torch.inference_mode():\n"}),
]
