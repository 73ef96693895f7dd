"""scheduler-rank-local: seen in a script."""

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
