"""A step that is captured into a CUDA graph reads a number back to the CPU."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
model = nn.Linear(8, 2).to(device)
x = torch.ones(4, 8).to(device)


@torch.no_grad()
def step():
    scores = model(x)
    return scores / scores.norm()


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    step()  # what is set up at the first call is not captured
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    scores = step()
graph.replay()
print("norm:", scores.norm().item())
