"""scheduler-rank-local: seen in a script, and in logs."""

FLAGGED = [
    (
        "torchrun.py",
        {
            "    dataset = load(rank)\n": "    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n    dataset = load(rank)\n",
            "        mean = loss.detach().clone()\n": "        schedule.step(loss.item())  # <-\n        mean = loss.detach().clone()\n",
        },
    ),
    (
        "slurm.py",
        {
            "    dist.all_reduce(counts)\n": "    dist.barrier()\n",
            "        scheduler.step(accuracy)\n": "        scheduler.step(loss)  # <-\n",
        },
    ),
]
FINE = [
    (
        "slurm.py",
        {
            'ReduceLROnPlateau(optimizer, mode="max")': "torch.optim.lr_scheduler.StepLR(optimizer, 3)",
            "        scheduler.step(accuracy)\n": "        scheduler.step()\n",
        },
    ),
    (
        "data_parallel.py",
        {
            "    for epoch in range(10):\n": "    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n    for epoch in range(10):\n        scheduler.step(torch.rand(1))\n"
        },
    ),
]
EXAMPLES = {
    "[rank0]: AssertionError: the ranks have different learning rates: [0.1, 0.001]": "the ranks have different learning rates: each decided by its own validation loss"
}
NOT_THIS = ["the ranks have one learning rate"]
