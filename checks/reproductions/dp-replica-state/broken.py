"""A hidden state made for the whole batch meets a replica's half of it."""
# run: python broken.py
# needs: torch
# needs: 2 GPUs or simulated ones

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(8, 16, batch_first=True)
        self.hidden = torch.zeros(1, 4, 16, device="cuda:0")

    def forward(self, x):
        hidden = self.hidden.to(x.device)
        return self.rnn(x, hidden)[0]


model = nn.DataParallel(Net().to("cuda:0"))
print(model(torch.randn(4, 3, 8, device="cuda:0")).shape)
