"""The main file starts processes when it is imported."""
# run: python broken.py
# needs: torch

import torch.multiprocessing as mp


def worker(rank):
    print("rank", rank)


def main():
    mp.spawn(worker, nprocs=2)


main()
