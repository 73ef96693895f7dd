"""DistributedDataParallel in processes of mp.spawn, as a class."""

import os

import torch
import torch.multiprocessing as mp
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils import data


class Trainer:
    def __init__(self, model, dataset, gpu, world_size):
        self.gpu = gpu
        self.world_size = world_size
        self.model = DistributedDataParallel(model.to(gpu), device_ids=[gpu])
        self.sampler = data.DistributedSampler(dataset)
        self.loader = data.DataLoader(dataset, batch_size=32, sampler=self.sampler)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                loss = self.step(x.to(self.gpu), y.to(self.gpu))
            if self.gpu == 0 and epoch % 10 == 0:
                self.save(epoch)
        return loss

    def save(self, epoch):
        torch.save({"model": self.model.module.state_dict(), "epoch": epoch}, "model.pt")


def worker(rank, world_size, epochs):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = os.environ.get("PORT", "29500")
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=world_size)
    dataset = data.TensorDataset(torch.randn(256, 20), torch.randint(0, 5, (256,)))
    trainer = Trainer(nn.Linear(20, 5), dataset, rank, world_size)
    trainer.fit(epochs)
    distributed.destroy_process_group()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(world_size, 5), nprocs=world_size, join=True)
