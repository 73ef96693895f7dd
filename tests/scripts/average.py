"""Gradients averaged by hand over gloo, one process per rank."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.multiprocessing import Process, set_start_method


def average_gradients(model):
    size = float(dist.get_world_size())
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad.data, op=dist.ReduceOp.SUM)
        parameter.grad.data /= size


def share(dataset, rank, size):
    generator = torch.Generator().manual_seed(1234)
    indices = torch.randperm(len(dataset), generator=generator).tolist()
    return torch.utils.data.Subset(dataset, indices[rank::size])


def run(rank, size):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = os.environ["PORT"]
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.manual_seed(1234)
    dataset = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    loader = torch.utils.data.DataLoader(share(dataset, rank, size), batch_size=8, shuffle=True)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            average_gradients(model)
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    set_start_method("spawn")
    processes = []
    for rank in range(2):
        process = Process(target=run, args=(rank, 2))
        process.start()
        processes.append(process)
    for process in processes:
        process.join()
