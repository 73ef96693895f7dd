import torch.multiprocessing as mp, torch
from torch.utils.data import DataLoader, TensorDataset


def daemon(i):
    next(iter(DataLoader(TensorDataset(torch.ones(4)), num_workers=1)))


if __name__ == "__main__":
    try:
        mp.spawn(daemon, nprocs=1, daemon=True)
    except Exception as e:
        print(str(e).splitlines()[-1])
    mp.set_start_method("fork")
    mp.set_start_method("spawn")
