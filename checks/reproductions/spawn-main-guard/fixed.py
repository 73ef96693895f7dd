"""The main file starts processes when it is imported."""
# run: python fixed.py
# needs: torch

import torch.multiprocessing as mp


def worker(rank):
    print("rank", rank)


def main():
    mp.spawn(worker, nprocs=2)


if __name__ == "__main__":
    main()
