"""How messages name a line: with its file where it is another than the finding's own."""

import json

import pytest

import gpudoctor

BUILDS = """import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def build(device):
    net = nn.Linear(3, 3).to(device)
    return net, DDP(net, device_ids=[device])
"""
TRAINS = """import os
import torch
import torch.distributed as dist
{imports}
dist.init_process_group("nccl")
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
net, ddp = build(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(10):
    optimizer.zero_grad()
    net(torch.randn(3, 3, device=device)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""
SEPARATE = TRAINS.format(imports="from parts.build import build")


def notebook(*cells):
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"train.py": TRAINS.format(imports=BUILDS)}, "and line 19 trains"),
        ({"train.py": SEPARATE, "parts/build.py": BUILDS}, "and line 12 of train.py trains"),
        ({"[a] (b)+.py": SEPARATE, "parts/build.py": BUILDS}, "and line 12 of [a] (b)+.py trains"),
        ({"n.ipynb": notebook(TRAINS.format(imports=BUILDS))}, "and line 19 trains"),
        ({"n.ipynb": notebook(BUILDS, TRAINS.format(imports=""))}, "and line 12 of n.ipynb:cell 2 trains"),
    ],
)
def test_lines(tmp_path, monkeypatch, files, said):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    [finding] = [f for f in gpudoctor.lint(["."]).findings if f.id == "gradient-not-averaged"]
    assert said in finding.message
