"""loss-logged-per-rank: seen in a script."""

FLAGGED = [
    (
        "torchrun.py",
        {
            "        mean = loss.detach().clone()\n        dist.all_reduce(mean)\n": "",
            "            print(epoch, mean.item() / dist.get_world_size())": "            print(epoch, loss.item())  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "                self.save(epoch)": '                print("loss", loss.item())  # <-\n                self.save(epoch)'
        },
    ),
]
FINE = [
    (
        "torchrun.py",
        {"print(epoch, mean.item() / dist.get_world_size())": 'print(epoch, "loss", mean.item())'},
    ),
    (
        "data_parallel.py",
        {"        optimizer.step()\n": "        optimizer.step()\n        print(loss.item())\n"},
    ),
]
