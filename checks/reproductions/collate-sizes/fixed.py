"""Sentences of different lengths are put into one batch."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn
from torch.utils.data import DataLoader

sentences = [torch.randint(1, 50, (length,)) for length in (5, 9, 3, 7)]
model = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def padded(batch):
    return nn.utils.rnn.pad_sequence(batch, batch_first=True)


for batch in DataLoader(sentences, batch_size=2, num_workers=1, collate_fn=padded):
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
print("trained on", len(sentences), "sentences")
