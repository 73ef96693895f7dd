"""collate_fn is a lambda, and workers are spawned."""
# run: python fixed.py
# needs: torch

import functools

import torch
from torch.utils.data import DataLoader, TensorDataset


def collate(batch, tokenizer):
    return [tokenizer(x) for (x,) in batch]


def main():
    tokenizer = str
    collate_fn = functools.partial(collate, tokenizer=tokenizer)
    loader = DataLoader(
        TensorDataset(torch.arange(8)), collate_fn=collate_fn, num_workers=2, multiprocessing_context="spawn"
    )
    print(sum(len(x) for x in loader))


if __name__ == "__main__":
    main()
