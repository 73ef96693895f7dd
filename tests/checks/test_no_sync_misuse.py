"""no-sync-misuse: seen in logs."""

MESSAGE = "no_sync holds back the sum of gradients"
EXAMPLES = {
    (
        "[rank0]: AssertionError: no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage 2"
    ): MESSAGE + " that ZeRO stage 2 needs in every backward pass",
    "AssertionError: It is illegal to call Engine.step() inside no_sync context manager": (
        MESSAGE + ", and step() was called inside it"
    ),
    "AssertionError: no_sync context manager reentry is unsupported": MESSAGE,
    "[rank0]: AssertionError: the ranks stepped with gradients that were not summed": (
        MESSAGE + ": those of the last step were not summed, so the ranks' weights differ"
    ),
}
NOT_THIS = ["with model.no_sync():", "UserWarning: no_sync() is not supported on this strategy"]

FLAGGED = [
    """
import torch
import torch.distributed as dist

def once(model, x):
    model(x).sum().backward()

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.utils.data.DataLoader([], sampler=torch.utils.data.DistributedSampler([])):
    with model.no_sync():
        loss = model(x).sum()
        loss.backward()  # <-
    optimizer.step()
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            with model.no_sync():\n                loss.backward()  # <-\n"
        },
    ),
    (
        "spawn.py",
        {
            "        loss = self.criterion(self.model(x), y)\n        loss.backward()\n        self.optimizer.step()\n        return loss": "        with self.model.no_sync():\n            loss = self.criterion(self.model(x), y)\n            loss.backward()  # <-\n        self.optimizer.step()\n        return loss"
        },
    ),
]
FINE = [
    (
        "torchrun.py",
        {
            "            loss = F.nll_loss(model(x), target)\n            loss.backward()\n": "            with model.no_sync():\n                F.nll_loss(model(x), target).backward()\n            loss = F.nll_loss(model(x), target)\n            loss.backward()\n"
        },
    ),
    (
        "slurm.py",
        {"nullcontext() if last else model.no_sync()": "(nullcontext if last else model.no_sync)()"},
    ),
]
