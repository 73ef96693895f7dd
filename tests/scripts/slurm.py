"""DistributedDataParallel under srun, mixed precision, accumulation, validation, a checkpoint that is resumed."""

import os
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler, random_split
from torchvision.datasets import CIFAR10
from torchvision.models import resnet18
from torchvision.transforms import ToTensor

ACCUMULATE = 4
CHECKPOINT = Path("checkpoint") / "last.pt"


def setup():
    rank = int(os.environ.get("SLURM_PROCID", 0))
    local_rank = int(os.environ.get("SLURM_LOCALID", 0))
    size = int(os.environ.get("SLURM_NTASKS", 1))
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", init_method="env://", rank=rank, world_size=size)
    return rank, local_rank


def validate(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    with torch.no_grad():
        for x, y in loader:
            counts[0] += (model(x.to(device)).argmax(1) == y.to(device)).sum()
            counts[1] += len(y)
    dist.all_reduce(counts)
    model.train()
    return (counts[0] / counts[1]).item()


def main(epochs=10):
    rank, local_rank = setup()
    device = torch.device("cuda", local_rank)
    torch.manual_seed(7)
    dataset = CIFAR10("data", train=True, download=False, transform=ToTensor())
    train, held_out = random_split(dataset, [45000, 5000], generator=torch.Generator().manual_seed(0))
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(resnet18(num_classes=10)).to(device)
    if CHECKPOINT.exists():
        model.load_state_dict(torch.load(CHECKPOINT, map_location=device, weights_only=True))
    model = DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = ReduceLROnPlateau(optimizer, mode="max")
    scaler = torch.amp.GradScaler("cuda")
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=64, sampler=sampler, num_workers=4, pin_memory=True)
    checking = DataLoader(held_out, batch_size=64, sampler=DistributedSampler(held_out, shuffle=False))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            last = (number + 1) % ACCUMULATE == 0
            with nullcontext() if last else model.no_sync():
                with torch.autocast("cuda"):
                    loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                scaler.scale(loss / ACCUMULATE).backward()
            if last:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        accuracy = validate(model, checking, device)
        scheduler.step(accuracy)
        if rank == 0:
            CHECKPOINT.parent.mkdir(exist_ok=True)
            torch.save(model.module.state_dict(), CHECKPOINT)
            print(f"{epoch}: {accuracy:.3f}")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
