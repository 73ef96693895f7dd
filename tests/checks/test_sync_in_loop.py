"""sync-in-loop: seen in a script."""

FLAGGED = [
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            total = loss.item()  # <-\n"
        },
    ),
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            torch.cuda.synchronize()  # <-\n"
        },
    ),
]
FINE = [
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            if target.sum() > 3:\n                total = loss.item()\n"
        },
    ),
    (
        "average.py",
        {"            optimizer.step()\n": "            optimizer.step()\n            total = loss.item()\n"},
    ),
]
