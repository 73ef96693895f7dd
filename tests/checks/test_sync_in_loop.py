"""sync-in-loop: seen in a script, and in logs."""

FLAGGED = [
    """
from accelerate import Accelerator

def train(accelerator, model, loader, optimizer, bar):
    running = 0.0
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch)
            accelerator.backward(loss)
            loss.backward()
            optimizer.step()
        if accelerator.sync_gradients:
            running += loss.detach().item()  # <-
""",
    """
import torch

model = torch.nn.Linear(2, 2).cuda()
for batch in torch.utils.data.DataLoader([]):
    outputs = model(**batch)
    print(outputs.loss)  # <-
    loss = outputs.loss
    loss.backward()
""",
    """
import torch
from tqdm import tqdm

model = torch.nn.Linear(2, 2).cuda()
bar = tqdm(torch.utils.data.DataLoader([]))
for x in bar:
    loss = model(x.cuda()).sum()
    loss.backward()
    bar.set_description(f"loss {loss:.3f}")  # <-
""",
    """
import torch
from ignite.engine import Engine

model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def step(engine, batch):
    x, y = batch
    loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
    return loss.item()  # <-

trainer = Engine(step)
""",
    """
import torch

def train(model, loader, optimizer, criterion):
    losses = []
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu().numpy())  # <-

train(torch.nn.Linear(2, 2).cuda(), torch.utils.data.DataLoader([]), None, torch.nn.MSELoss())
""",
    """
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    loss = criterion(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
    total += accelerator.gather(loss).mean().item()  # <-
""",
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            if dist.get_world_size() > 1:\n                total = float(loss)  # <-\n"
        },
    ),
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": '            optimizer.step()\n            print(f"loss {loss}")  # <-\n'
        },
    ),
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            total = loss.item()  # <-\n"
        },
    ),
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            torch.cuda.synchronize()  # <-\n"
        },
    ),
]
FINE = [
    """
import torch

model = torch.nn.Linear(2, 2).cuda()
for x, y in torch.utils.data.DataLoader([]):
    loss = model(x.cuda()).sum()
    loss.backward()
with torch.no_grad():
    shown = [model(x.cuda()).cpu() for x, y in torch.utils.data.DataLoader([])]
""",
    """
import torch
from ignite.engine import Engine

model = torch.nn.Linear(2, 2).cuda()

def validate(engine, batch):
    with torch.no_grad():
        return model(batch.cuda()).sum().item()

evaluator = Engine(validate)
""",
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": '            optimizer.step()\n            if step % 100 == 0:\n                print(f"loss {loss}")\n'
        },
    ),
    (
        "torchrun.py",
        {
            "            optimizer.step()\n": "            optimizer.step()\n            if target.sum() > 3:\n                total = loss.item()\n"
        },
    ),
    (
        "average.py",
        {"            optimizer.step()\n": "            optimizer.step()\n            total = loss.item()\n"},
    ),
]
EXAMPLES = {
    "RuntimeError: called a synchronizing CUDA operation": "an operation in the loop waits for the GPU, which then idles until the next kernels come",
    "train.py:12: UserWarning: called a synchronizing CUDA operation (Triggered internally at c10/cuda/CUDAFunctions.cpp:170.)": "an operation in the loop waits for the GPU, which then idles until the next kernels come",
}
NOT_THIS = ["torch.cuda.synchronize()"]
