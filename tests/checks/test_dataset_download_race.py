"""dataset-download-race: seen in logs."""

EXAMPLES = {
    "[rank1]: RuntimeError: File not found or corrupted.": (
        "several ranks download or unpack the data at once: File not found or corrupted"
    ),
    (
        "Downloading http://data.example.org/a.gz to ./data/MNIST/raw/a.gz\n"
        "Downloading http://data.example.org/a.gz to ./data/MNIST/raw/a.gz\nRuntimeError: File not found or corrupted."
    ): (
        "several ranks download or unpack the data at once: the same file more than once "
        "(./data/MNIST/raw/a.gz)"
    ),
    (
        "Downloading https://data.example.org/cifar-10-python.tar.gz to ./data\n100%|##########| 170M/170M\n"
        "RuntimeError: Dataset not found or corrupted. You can use download=True to download it"
    ): "several ranks download or unpack the data at once: Dataset not found or corrupted",
    "[rank2]: FileExistsError: [Errno 17] File exists: '/scratch/ana/wiki_tokenized'": (
        "several ranks download or unpack the data at once: File exists (/scratch/ana/wiki_tokenized)"
    ),
    "[rank3]: FileExistsError: [Errno 17] File exists: './data/MNIST/raw'": (
        "several ranks download or unpack the data at once: File exists (./data/MNIST/raw)"
    ),
    (
        '[rank1]:   File "/opt/lib/torchvision/datasets/mnist.py", line 188, in download\n'
        "[rank1]: EOFError: Compressed file ended before the end-of-stream marker was reached"
    ): (
        "several ranks download or unpack the data at once: Compressed file ended before the end-of-stream "
        "marker"
    ),
    (
        '[rank1]:   File "/opt/lib/torchvision/datasets/utils.py", line 300, in extract_archive\n'
        "[rank1]: zipfile.BadZipFile: File is not a zip file"
    ): "several ranks download or unpack the data at once: File is not a zip file",
    (
        '[rank2]:   File "/opt/lib/torchvision/datasets/mnist.py", line 500, in read\n'
        "[rank2]: RuntimeError: shape '[60000, 28, 28]' is invalid for input of size 9437168"
    ): (
        "several ranks download or unpack the data at once: shape '[60000, 28, 28]' is invalid for input of "
        "size"
    ),
    (
        "FileNotFoundError: [Errno 2] Failed to open local file '/cache/csv/0.0.0/2dc66.incomplete/csv-validation.arrow'. "
        "Detail: [errno 2] No such file or directory"
    ): (
        "several ranks download or unpack the data at once: the same file more than once "
        "(/cache/csv/0.0.0/2dc66.incomplete/csv-validation.arrow)"
    ),
    "OSError: [Errno 39] Directory not empty: '/cache/csv/0.0.0/2dc66.incomplete' -> '/cache/csv/0.0.0/2dc66'": (
        "several ranks download or unpack the data at once: the same file more than once "
        "(/cache/csv/0.0.0/2dc66.incomplete)"
    ),
    "OSError: [Errno 37] No locks available": (
        "several ranks download or unpack the data at once: No locks available"
    ),
    "OSError: [Errno 116] Stale file handle: '/cache/csv/2dc66.lock'": (
        "several ranks download or unpack the data at once: Stale file handle (/cache/csv/2dc66.lock)"
    ),
    'Downloading http://data/train.gz to ./data/MNIST/raw/train.gz\nDownloading http://data/train.gz to ./data/MNIST/raw/train.gz\n  5%|#   | 491520/9912422 [00:01<00:22]Traceback (most recent call last):\n  File "/home/user/train.py", line 181, in <module>\n    mp.spawn(main,': (
        "several ranks download or unpack the data at once: the same file more than once "
        "(./data/MNIST/raw/train.gz)"
    ),
}
NOT_THIS = [
    "[rank2]: FileExistsError: [Errno 17] File exists: 'plots'",
    "RuntimeError: Dataset not found or corrupted. You can use download=True to download it",
    "RuntimeError: File not found or corrupted.",
    "FileExistsError: [Errno 17] File exists: './data/MNIST/raw'",
    "[rank0]: FileExistsError: [Errno 17] File exists: '/out/checkpoints'",
    "[rank0]: zipfile.BadZipFile: File is not a zip file",
    "urllib.error.HTTPError: HTTP Error 403: Forbidden",
]

FLAGGED = [
    """
import argparse
import os
import torch
import torch.distributed as dist
from torchvision import datasets

p = argparse.ArgumentParser()
p.add_argument("--root", default="data")
p.add_argument("--offline", action="store_true")
args = p.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
data = datasets.SVHN(args.root, download=not args.offline)  # <-
print(len(data))
dist.destroy_process_group()
""",
    """
from launch import world_size
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import MNIST

class Digits(DataLoader):
    def __init__(self, folder, size):
        pictures = MNIST(folder, download=True)  # <-
        sampler = DistributedSampler(pictures, shuffle=False) if world_size() > 1 else None
        super().__init__(pictures, batch_size=size, sampler=sampler)
""",
    """
import os
import torch
from torchvision import datasets
from cluster import begin

local_rank = int(os.environ["LOCAL_RANK"])
begin("nccl")
data = datasets.CIFAR10("data", train=True, download=True)  # <-
""",
    """
import os
import zipfile
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

archive = zipfile.ZipFile("cells.zip")
for name in archive.namelist():
    archive.extract(name, path="train")  # <-
dist.init_process_group("nccl")
model = DistributedDataParallel(build())
""",
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

os.system("unzip -o data.zip -d data")  # <-
dist.init_process_group("nccl")
model = DistributedDataParallel(build())
""",
    """
import torch
import torch.distributed as dist
from hosting import Connector

def main(url, model):
    dist.init_process_group("nccl")
    data = Connector.download_dataset(url, location="data")  # <-
    model = torch.nn.parallel.DistributedDataParallel(model)
    for x in data:
        model(x).sum().backward()

if __name__ == "__main__":
    from models import model
    main("https://example.org/set", model)
""",
    """
import torch
import torch.multiprocessing as mp
import torchvision

def train(rank, epochs):
    data = torchvision.datasets.MNIST("data", download=True)  # <-
    print(rank, len(data), epochs)

if __name__ == "__main__":
    mp.spawn(train, args=(5,), nprocs=4)
""",
    """
import click
import torch.distributed as dist
import torchvision
from torch.utils.data import DataLoader, DistributedSampler
from launcher import start

def load(folder, size):
    data = torchvision.datasets.CIFAR10(root=folder, download=True)  # <-
    return DataLoader(data, size, sampler=DistributedSampler(data))

@click.command()
@click.option("--size", default=8)
def main(size):
    start()
    loader = load("data", size)
    dist.barrier()

if __name__ == "__main__":
    main()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel
from torchvision.datasets import CIFAR10
from base import Trainer

class OfCifar(Trainer):
    def __init__(self, args):
        super().__init__()
        self.model = DistributedDataParallel(args.model.to(args.device), device_ids=[args.device])
        self.train_set = CIFAR10(root=args.root, train=True, download=True)  # <-
""",
    """
import os, subprocess, tarfile
import torch.distributed as dist
from torchvision import datasets

class Digits(datasets.MNIST):
    def __init__(self, root):
        super().__init__(root, train=True, download=True)  # <-

def main(name):
    dist.init_process_group("nccl")
    Digits("data")
    getattr(datasets, name)("data", download=True)  # <-
    datasets.__dict__[name]("more", download=True)  # <-
    if not os.path.exists("a.tgz"):
        subprocess.run(["wget", "https://example.org/a.tgz"])  # <-
    tarfile.open("a.tgz").extractall("data")  # <-

main("SVHN")
""",
    """
import torch
import torch.distributed as dist
import torchvision

def main(args):
    dist.init_process_group("gloo")
    data = getattr(torchvision.datasets, "MNIST")("data", download=True)  # <-
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))

main(None)
""",
    """
import urllib.request
import torch
import torch.distributed as dist
from torchvision import datasets, transforms

def run(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=rank, world_size=2)
    train = datasets.CIFAR100("data", True, transforms.ToTensor(), None, True)  # <-
    options = dict(root="data", download=True)
    test = datasets.MNIST(train=False, **options)  # <-
    urllib.request.urlretrieve("https://example.org/vocabulary.txt", "vocabulary.txt")  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(run, nprocs=2)
""",
    """
from accelerate import Accelerator
from torchvision import datasets

accelerator = Accelerator()
train = datasets.MNIST("data", download=True)  # <-
""",
    (
        "torchrun.py",
        {
            '    if rank == 0:\n        datasets.MNIST("data", train=True, download=True)\n    dist.barrier()\n    return datasets.MNIST("data", train=True, transform=transforms.ToTensor())': '    return datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor())  # <-'
        },
    ),
    ("slurm.py", {"download=False, transform=ToTensor())": "download=True, transform=ToTensor())  # <-"}),
    (
        "spawn.py",
        {
            "dataset = data.TensorDataset(torch.randn(256, 20), torch.randint(0, 5, (256,)))": "import torchvision\n    dataset = torchvision.datasets.MNIST('.', download=True)  # <-"
        },
    ),
]
FINE = [
    """
import argparse
import os
import torch
import torch.distributed as dist
from torchvision import datasets

p = argparse.ArgumentParser()
p.add_argument("--root", default="data")
p.add_argument("--download", action="store_true")
args = p.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
data = datasets.SVHN(args.root, download=args.download)
print(len(data))
dist.destroy_process_group()
""",
    """
import os
from torchvision import datasets
from cluster import begin

local_rank = int(os.environ.get("LOCAL_RANK", 0))
begin("nccl")
data = datasets.CIFAR10("data", train=True, download=True)
""",
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
if dist.get_rank() == 0:
    os.system("tar xf data.tar")
dist.barrier()
model = DistributedDataParallel(build())
""",
    """
import torch
import torch.distributed as dist
from hosting import Connector

def main(url, model):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        Connector.download_dataset(url, location="data")
    dist.barrier()
    data = open("data")
    model = torch.nn.parallel.DistributedDataParallel(model)
    for x in data:
        model(x).sum().backward()

if __name__ == "__main__":
    from models import model
    main("https://example.org/set", model)
""",
    """
import torch.multiprocessing as mp
import torchvision

def train(epochs):
    data = torchvision.datasets.MNIST("data", download=True)
    print(len(data), epochs)

if __name__ == "__main__":
    process = mp.Process(target=train, args=(5,))
    process.start()
    process.join()
""",
    """
import torch.distributed as dist
from filelock import FileLock
from torchvision import datasets

def main():
    dist.init_process_group("nccl")
    with FileLock("data.lock"):
        datasets.MNIST("data", download=True)

main()
""",
    """
import os, subprocess, tarfile
import torch.distributed as dist
from torchvision import datasets

class Digits(datasets.MNIST):
    def __init__(self, root):
        super().__init__(root, train=True, download=False)

def main(name):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        datasets.MNIST("data", download=True)
        subprocess.run(["wget", "https://example.org/a.tgz"])
        tarfile.open("a.tgz").extractall("data")
    dist.barrier()
    Digits("data")
    getattr(datasets, name)("data", download=False)
    subprocess.run(["nvidia-smi"])

main("SVHN")
""",
    """
import torch
import torch.distributed as dist
import torchvision

def main(args):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank != 0:
        dist.barrier()
    data = torchvision.datasets.MNIST("data", download=True)
    if rank == 0:
        dist.barrier()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))

main(None)
""",
    """
import urllib.request
import torch
import torch.distributed as dist
from torchvision import datasets, transforms

def run(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=rank, world_size=2)
    if rank == 0:
        datasets.CIFAR100("data", True, transforms.ToTensor(), None, True)
        urllib.request.urlretrieve("https://example.org/vocabulary.txt", "vocabulary.txt")
    dist.barrier()
    options = dict(root="data", download=False)
    test = datasets.MNIST(train=False, **options)
    urllib.request.urlretrieve("https://example.org/part.txt", f"part{rank}.txt")
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(run, nprocs=2)
""",
    """
from accelerate import Accelerator
from torchvision import datasets

accelerator = Accelerator()
with accelerator.main_process_first():
    train = datasets.MNIST("data", download=True)
""",
    (
        "slurm.py",
        {
            '    dataset = CIFAR10("data", train=True, download=False, transform=ToTensor())': '    if local_rank == 0:\n        CIFAR10("data", download=True)\n    dist.barrier()\n    dataset = CIFAR10("data", train=True, download=True, transform=ToTensor())'
        },
    ),
    (
        "slurm.py",
        {"download=False, transform=ToTensor())": "download=local_rank == 0, transform=ToTensor())"},
    ),
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": "    import torchvision\n    torchvision.datasets.MNIST('.', download=True)\n    world_size = torch.cuda.device_count()"
        },
    ),
]
