"""seed-same-for-data: seen in logs."""

EXAMPLES = {
    "[rank1]: AssertionError: the ranks draw the same random numbers": "the ranks draw the same random numbers: one seed for all makes their noise and augmentation the same"
}
NOT_THIS = ["the ranks draw other random numbers"]

OF_NOISE = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(loader, generator, critic, optimizer):
    torch.manual_seed(0)  # <-
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    generator = DDP(generator.to(device), device_ids=[device])
    critic = DDP(critic.to(device), device_ids=[device])
    for x in loader:
        noise = torch.randn(len(x), 64).to(device)
        loss = -critic(generator(noise)).mean()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    from parts import critic, generator, loader, optimizer
    main(loader, generator, critic, optimizer)
"""
FLAGGED = [
    OF_NOISE,
    """
import torch
import torch.distributed as dist

def batch(data):
    where = torch.randint(len(data) - 8, (4,))
    return torch.stack([data[i : i + 8] for i in where])

dist.init_process_group("gloo")
torch.manual_seed(1337)  # <-
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
data = torch.arange(100.0)
for step in range(10):
    model(batch(data)).sum().backward()
dist.destroy_process_group()
""",
    """
import random
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand() + index

dist.init_process_group("gloo")
np.random.seed(0)  # <-
loader = DataLoader(Images(), sampler=DistributedSampler(Images()))
dist.destroy_process_group()
""",
    """
import random
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand() + index

def main(args):
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)  # <-
    random.seed(args.seed)
    loader = DataLoader(Images(), sampler=DistributedSampler(Images()))
    dist.destroy_process_group()

main(None)
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

def begin(seed):
    torch.manual_seed(seed)  # <-

def main(epochs):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    images = datasets.ImageFolder("train", transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()]))
    sampler = DistributedSampler(images)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        begin(42)
        for x, _ in DataLoader(images, sampler=sampler, num_workers=4):
            model(x).sum().backward()
    dist.destroy_process_group()

main(3)
""",
]
FLAGGED += [  # batches that are taken one at a time
    OF_NOISE.replace(
        "    for x in loader:\n",
        "    batches = iter(loader)\n    for step in range(1000):\n        x = next(batches)\n",
    )
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(loader, generator, critic, optimizer):
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    generator = DDP(generator.to(device), device_ids=[device])
    critic = DDP(critic.to(device), device_ids=[device])
    for x in loader:
        noise = x.to(device) + torch.randn(len(x), 64).to(device)
        loss = -critic(generator(noise)).mean()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    from parts import critic, generator, loader, optimizer
    main(loader, generator, critic, optimizer)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(loader, generator, critic, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(dist.get_rank())
    device = int(os.environ["LOCAL_RANK"])
    generator = DDP(generator.to(device), device_ids=[device])
    critic = DDP(critic.to(device), device_ids=[device])
    for x in loader:
        noise = torch.randn(len(x), 64).to(device)
        loss = -critic(generator(noise)).mean()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    from parts import critic, generator, loader, optimizer
    main(loader, generator, critic, optimizer)
""",
    """
import torch
import torch.distributed as dist

def batch(data):
    where = torch.randint(len(data) - 8, (4,))
    return torch.stack([data[i : i + 8] for i in where])

dist.init_process_group("gloo")
torch.manual_seed(1337 + dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
data = torch.arange(100.0)
for step in range(10):
    model(batch(data)).sum().backward()
dist.destroy_process_group()
""",
    """
import random
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand() + index

dist.init_process_group("gloo")
np.random.seed(dist.get_rank())
loader = DataLoader(Images(), sampler=DistributedSampler(Images()))
dist.destroy_process_group()
""",
    """
import random
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand() + index

np.random.seed(0)
loader = DataLoader(Images())
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

def begin(seed):
    torch.manual_seed(seed)

def main(epochs):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    images = datasets.ImageFolder("train", transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()]))
    sampler = DistributedSampler(images)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        begin(42 + dist.get_rank() + 1000 * epoch)
        for x, _ in DataLoader(images, sampler=sampler, num_workers=4):
            model(x).sum().backward()
    dist.destroy_process_group()

main(3)
""",
]
