import torch.multiprocessing as mp, torch
from torch.utils.data import DataLoader, TensorDataset


def worker(i, n=1):
    next(iter(DataLoader(TensorDataset(torch.ones(4)), num_workers=1)))
    print("ok", i, flush=True)


if __name__ == "__main__":
    mp.set_start_method("fork")
    context = torch.multiprocessing.get_context("spawn")
    process = context.Process(target=worker, args=(7,))
    process.start()
    process.join()
    next(iter(DataLoader(TensorDataset(torch.ones(4)), num_workers=2, multiprocessing_context="spawn")))
    mp.set_start_method("spawn", force=True)
    mp.spawn(worker, args=(1,), nprocs=1)
