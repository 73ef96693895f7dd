"""append-all-ranks: seen in a script, and in logs."""

FLAGGED = [
    """
import os
import fire
import torch
import torch.distributed as dist
from parts import train

class Course:
    def __init__(self, place):
        self.notes = place / "notes.json"

    def keep(self, text):
        self.notes.write_text(text)  # <-

def main(place):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    Course(place).keep(train())
    dist.destroy_process_group()

if __name__ == "__main__":
    fire.Fire(main)
""",
    """
import argparse
import deepspeed
from parts import Net, data

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
net = Net()
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(), training_data=data)
for epoch in range(3):
    for x in loader:
        loss = engine(x)
        engine.backward(loss)
        engine.step()
    with open("log.txt", "a") as log:  # <-
        log.write(f"{epoch} {loss.item()}")
    if engine.local_rank == 0:
        with open("best.txt", "a") as best:
            best.write(str(epoch))
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

LOG = open("log.txt", "a")  # <-

def say(text):
    LOG.write(text)

def worker(rank, size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    say(f"rank {rank} is there")
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(),))
""",
    """
import os
import torch
import torch.multiprocessing as mp
from torch import nn

def work(rank, gpus, options):
    model = nn.Linear(4, 4).to(rank)
    folder = os.path.join("runs", options["name"])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "options.txt"), "w") as file:  # <-
        file.write(str(options))
    return model

if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(work, nprocs=gpus, args=(gpus, {"name": "first"}))
""",
    """
import matplotlib.pyplot as plt
import torch
import torch.distributed as dist

def plot(losses, path):
    plt.plot(losses)
    plt.savefig(path)  # <-

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    losses = []
    for epoch in range(3):
        loss = model(torch.ones(2, 2)).sum()
        loss.backward()
        losses.append(loss.item())
    plot(losses, "loss.png")
    dist.destroy_process_group()

main()
""",
    """
import sys
import torch.distributed as dist
from loguru import logger

dist.init_process_group("gloo")
logger.add(sys.stderr)
logger.add("train.log")  # <-
dist.destroy_process_group()
""",
    """
import pickle
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
with open("history.pkl", "wb") as history:  # <-
    pickle.dump([1], history)
dist.destroy_process_group()
""",
    """
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
Path("settings.json").write_text("{}")  # <-
with Path("log.txt").open("a") as lines:  # <-
    lines.write("begun")
np.save("predictions.npy", np.zeros(3))  # <-
dist.destroy_process_group()
""",
    """
import pandas
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
losses = [model(torch.randn(2, 2)).sum().item()]
pandas.DataFrame(losses).to_csv("losses.csv")  # <-
dist.destroy_process_group()
""",
    """
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    for epoch in range(3):
        with open("log.csv", "a") as file:  # <-
            file.write(f"{epoch}\\n")
""",
    """
import json
import os
import torch

class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))

    def report(self, results):
        path = os.path.join(self.args.output_dir, "results.json")
        with open(path, "w") as file:  # <-
            json.dump(results, file)

def main(args):
    torch.distributed.init_process_group("gloo")
    trainer = Trainer(args)
    trainer.report({})
""",
    """
import logging
import torch.distributed as dist

dist.init_process_group("gloo")
logger = logging.getLogger("train")
logger.addHandler(logging.FileHandler("train.log"))  # <-
logger.info("begins")
dist.destroy_process_group()
""",
]
FINE = [
    """
import logging
import os
import torch
import torch.distributed as dist
from parts import train

def logger_of(rank, folder):
    logger = logging.getLogger()
    logger.addFilter(lambda record: rank == 0)
    place = os.path.join(folder, "all.log")
    handler = logging.FileHandler(place)
    logger.addHandler(handler)
    return logger

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
train(logger_of(rank=dist.get_rank(), folder="notes"))
dist.destroy_process_group()
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
from parts import run_once

LOCAL_RANK = int(os.getenv("LOCAL_RANK", -1))
parser = argparse.ArgumentParser()
parser.add_argument("--search", type=int, default=0)
options = parser.parse_args()
if LOCAL_RANK != -1:
    assert not options.search, "a search has one process"
    torch.cuda.set_device(LOCAL_RANK)
    dist.init_process_group("nccl")
if not options.search:
    run_once(options)
else:
    for n in range(options.search):
        with open("tried.csv", "a") as tried:
            tried.write(f"{n}")
if LOCAL_RANK != -1:
    dist.destroy_process_group()
""",
    """
import os
from multiprocessing.pool import ThreadPool
import numpy as np
import torch
import torch.distributed as dist
from parts import numbers, place_of, train

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")

def keep(n):
    path = place_of(n)
    np.save(path, numbers(n))

with ThreadPool(8) as pool:
    pool.map(keep, range(1000))
train()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    dist.destroy_process_group()

if __name__ == "__main__":
    log = open("log.txt", "a")
    log.write("it begins")
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(),))
""",
    """
import torch
import torch.multiprocessing as mp

def work(index, options):
    with open(f"part-{index}.txt", "w") as file:
        file.write(str(options))

def note(options):
    with open("options.txt", "w") as file:
        file.write(str(options))

if __name__ == "__main__":
    note({"name": "first"})
    mp.spawn(work, nprocs=torch.cuda.device_count(), args=({"name": "first"},))
""",
    """
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Pictures(Dataset):
    def __init__(self, names):
        with open("index.txt", "w") as file:
            file.write(str(names))


def loader(names, rank=-1):
    data = Pictures(names)
    return DataLoader(data, sampler=None if rank == -1 else DistributedSampler(data))


loader(["a.png"])
""",
    """
import torch.distributed as dist
from commands import rank_zero_first

dist.init_process_group("gloo")
with rank_zero_first():
    with open("index.txt", "w") as file:
        file.write("x")
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def main(rank, world_size, output):
    if world_size > 1:
        dist.init_process_group(
            "gloo", init_method="tcp://localhost:29511", world_size=world_size, rank=rank
        )
    name = output
    if world_size > 1:
        name += f"_{rank}"
    with open(name, "w") as file:
        file.write("x")
    with open(os.devnull, "w") as file:
        file.write("x")
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    if torch.cuda.device_count() > 1:
        mp.spawn(main, args=(torch.cuda.device_count(), "out.txt"), nprocs=torch.cuda.device_count())
    else:
        main(rank=0, world_size=1, output="out.txt")
""",
    """
import torch
import torch.distributed as dist
import torchvision

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    image = model(torch.ones(2, 2))
    if dist.get_rank() == 0:
        torchvision.utils.save_image(image, "image.png")
    dist.destroy_process_group()

main()
""",
    """
import sys
import torch.distributed as dist
from loguru import logger

dist.init_process_group("gloo")
logger.add(sys.stderr)
logger.add(f"train-{dist.get_rank()}.log")
if dist.get_rank() == 0:
    logger.add("train.log")
dist.destroy_process_group()
""",
    """
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
if dist.get_rank() == 0:
    Path("settings.json").write_text("{}")
with Path("log.txt").open() as lines:
    print(lines.read())
for batch in DataLoader([1]):
    np.save(f"part{batch.item()}.npy", np.zeros(3))
dist.destroy_process_group()
""",
    """
import pandas
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
losses = [model(torch.randn(2, 2)).sum().item()]
pandas.DataFrame(losses).to_csv(f"losses{dist.get_rank()}.csv")
if dist.get_rank() == 0:
    pandas.DataFrame(losses).to_csv("losses.csv")
print(pandas.DataFrame(losses).to_csv())
dist.destroy_process_group()
""",
    """
import torch.distributed as dist


def report(main):
    if main:
        with open("results.txt", "w") as file:
            file.write("done")


dist.init_process_group("gloo")
if dist.get_world_size() == 1:
    main = False
elif dist.get_rank() == 0:
    main = True
else:
    main = False
report(main)
dist.destroy_process_group()
""",
    """
import logging
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
with open("config.yaml") as file:
    print(file.read())
with open(f"log-{rank}.csv", "a") as file:
    file.write("begins")
if rank == 0:
    logging.basicConfig(filename="train.log")
    with open("log.csv", mode="a") as file:
        file.write("begins")
dist.destroy_process_group()
""",
    """
import torch

with open("log.csv", "a") as file:
    file.write("begins")
""",
    """
import torch.distributed as dist

def log(path, line):
    with open(path, "a") as file:
        file.write(line)

def main():
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        log("log.csv", "begins")
""",
    """
import json
import torch.distributed as dist

class Recognizer:
    def fit(self, batches):
        dist.init_process_group("nccl")
        for batch in batches:
            self.step(batch)
        dist.destroy_process_group()

    def export(self, words):
        with open("words.json", "w") as file:
            json.dump(words, file)
""",
]
EXAMPLES = {
    "[rank1]: AssertionError: each epoch is in the log 2 times": "each epoch is in the log 2 times: every rank appends to it"
}
NOT_THIS = ["each epoch stands once in the log"]
