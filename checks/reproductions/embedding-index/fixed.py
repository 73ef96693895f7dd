"""A token was added to the tokenizer, and the embedding has no row for it."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn

tokenizer = {"<pad>": 0, "two": 1, "ranks": 2}
tokenizer["<image>"] = 3
rows = len(tokenizer)
embedding = nn.Embedding(rows, 8)
ids = torch.tensor([tokenizer[word] for word in ("<image>", "two", "ranks")])
print(embedding(ids).shape)
