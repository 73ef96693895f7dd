"""sync-in-loop: seen in a script, and in logs."""

FLAGGED = [
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
