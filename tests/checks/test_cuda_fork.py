"""cuda-fork: seen in logs."""

import pytest

from gpudoctor import explain

MESSAGE = (
    "a process was forked after CUDA was used, and the child uses it too: its copy of CUDA does not work"
)
EXAMPLES = {
    "RuntimeError: Unable to handle autograd's threading in combination with fork-based multiprocessing. See the wiki": (
        "a process was forked after a backward pass had run in it, and the child runs one too: autograd's threads are not in the child's copy"
    ),
    "THCudaCheck FAIL file=torch/csrc/cuda/Module.cpp line=32 error=3 : initialization error": MESSAGE,
    "RuntimeError: cuda runtime error (3) : initialization error at /pytorch/aten/src/THC/THCGeneral.cpp:50": MESSAGE,
    (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method"
    ): MESSAGE,
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use Python 3.4+ "
        "and the 'spawn' start method"
    ): MESSAGE,
    "RuntimeError: Cannot re-initialize XPU in forked subprocess.": MESSAGE,
    (
        "RuntimeError: CUDA has been initialized before the `notebook_launcher` could create a forked subprocess. This likely "
        "stems from an outside import"
    ): MESSAGE,
    "RuntimeError: Lightning can't create new processes if CUDA is already initialized. Did you manually call `torch.cuda.*`": MESSAGE,
    (
        "ValueError: To launch a multi-GPU training from your notebook, the `Accelerator` should only be initialized inside your "
        "training function. Restart your notebook"
    ): MESSAGE,
    (
        "ValueError: To launch a multi-GPU training from your notebook, you need to avoid running any instruction using "
        "`torch.cuda` in any cell. Restart your notebook and make sure no cells use any CUDA function."
    ): MESSAGE,
    (
        "RuntimeError: An issue was found when verifying a stable environment for the notebook launcher.This likely stems from "
        "an outside import causing issues once the `notebook_launcher()` is called. Please review your imports and test them "
        "when running the `notebook_launcher()` to identify which one is problematic and causing CUDA to be initialized."
    ): MESSAGE,
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 2.\nOriginal Traceback (most recent call last):\n"
        "RuntimeError: CUDA error: initialization error"
    ): MESSAGE,
    (
        '  File "/opt/conda/lib/python3.7/multiprocessing/process.py", line 99, in run\n'
        "RuntimeError: cuda runtime error (3) : initialization error at /pytorch/aten/src/THC/THCGeneral.cpp:50"
    ): MESSAGE,
}
NOT_THIS = [
    "An issue was found when verifying a stable environment for the notebook launcher. Please review your imports",
    "CUDA was previously initialized. We must use the `spawn` multiprocessing start method.",
    "RuntimeError: CUDA error: initialization error",
    "RuntimeError: context has already been set",
    "To use CUDA with multiprocessing, see the notes on the start method",
]

FLAGGED = [
    """
import torch
from torch.utils.data import DataLoader, Dataset

class Noisy(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.noise = torch.randn(len(rows), device="cuda")
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i] + self.noise[i]  # <-

for batch in DataLoader(Noisy(torch.ones(64)), batch_size=2, num_workers=2):
    print(batch)
""",
    """
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(64, 3).to(device)
y = torch.zeros(64).to(device)
loader = DataLoader(TensorDataset(x, y), batch_size=8, num_workers=4)  # <-
for a, b in loader:
    print(a.sum() - b)
""",
    """
import torch
import torch.multiprocessing as mp

def run(rank):
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    torch.cuda.init()
    workers = [mp.Process(target=run, args=(i,)) for i in range(2)]  # <-
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
""",
    """
import torch
import torch.multiprocessing as mp

def run(rank):
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    seen = torch.zeros(2, device="cuda")
    workers = [mp.Process(target=run, args=(i,)) for i in range(2)]  # <-
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
""",
    """
from functools import partial

import torch
from torch.utils.data import DataLoader
from parts import dataset, processor, train


def collate(batch, device):
    return processor(batch).to(device)  # <-


def main():
    device = torch.device("cuda:0")
    loader = DataLoader(dataset, batch_size=4, num_workers=2, collate_fn=partial(collate, device=device))
    for batch in loader:
        train(batch)


main()
""",
    """
import torch
import torch.distributed as dist
from torch.multiprocessing import Process

def run(rank):
    x = torch.zeros(1).cuda(rank)
    print(x)

if __name__ == "__main__":
    print(torch.cuda.get_device_name(0))
    for rank in range(2):
        p = Process(target=run, args=(rank,))  # <-
        p.start()
""",
    """
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.zeros(3).to("cuda")  # <-

loader = DataLoader(Images(), batch_size=2, num_workers=4)
for batch in loader:
    print(batch)
""",
    """
import torch
from multiprocessing import Process

def run(rank):
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    p = Process(target=run, args=(0,))  # <-
    p.start()
""",
]
FINE = [
    """
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Noisy(Dataset):
    def __init__(self, rows):
        self.noise = torch.randn(len(rows), device="cuda").cpu()
        self.rows = rows.cuda()
    def __len__(self):
        return len(self.noise)
    def __getitem__(self, i):
        return self.noise[i]

class Held(Dataset):
    def __init__(self, rows):
        self.rows = rows.cuda()
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]

for batch in DataLoader(Noisy(torch.ones(64)), batch_size=2, num_workers=2):
    print(batch)
for batch in DataLoader(Held(torch.ones(64)), batch_size=2):
    print(batch)
for batch in DataLoader(TensorDataset(torch.ones(64).cuda()), batch_size=2, num_workers=0):
    print(batch)
for batch in DataLoader(TensorDataset(torch.ones(64).cuda()), 2, num_workers=2, multiprocessing_context="spawn"):
    print(batch)
""",
    """
import torch
from torch.utils.data import DataLoader
from parts import dataset, processor, train


def collate(batch):
    return processor(batch).to("cuda")


def main():
    for batch in DataLoader(dataset, batch_size=4, num_workers=0, collate_fn=collate):
        train(batch)


main()
""",
    """
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader
from parts import dataset, processor, train


def collate(batch):
    return processor(batch).to("cuda")


if __name__ == "__main__":
    mp.set_start_method("spawn")
    for batch in DataLoader(dataset, batch_size=4, num_workers=2, collate_fn=collate):
        train(batch)
""",
    """
import torch
import torch.multiprocessing as mp

def run(rank):
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    print(torch.cuda.get_device_name(0))
    context = mp.get_context("spawn")
    p = context.Process(target=run, args=(0,))
    p.start()
""",
    """
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.zeros(3).to("cuda")

loader = DataLoader(Images(), batch_size=2, num_workers=0)
for batch in loader:
    print(batch)
""",
    """
import torch
from multiprocessing import Process

def run(rank):
    print(rank)

if __name__ == "__main__":
    torch.cuda.set_device(0)
    Process(target=run, args=(0,)).start()
""",
]


AGAIN = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use 'spawn'"
BOOTSTRAP = 'Traceback (most recent call last):\n  File "/usr/lib/python3.12/multiprocessing/process.py", line 314, in _bootstrap\n    self.run()\n'


@pytest.mark.parametrize(
    ("above", "first"),
    [
        (
            "RuntimeError: Caught RuntimeError in DataLoader worker process 3.\nOriginal Traceback (most recent call last):\n",
            "for x, target",
        ),
        (BOOTSTRAP + '  File "train.py", line 9, in run\n    torch.cuda.set_device(rank)\n', "if __name__"),
        (
            BOOTSTRAP
            + '  File "/opt/vllm/worker/worker.py", line 80, in init_device\n    torch.cuda.set_device(self.device)\n',
            "export VLLM",
        ),
    ],
)
def test_the_first_fix_is_for_what_was_forked(above, first):
    [finding] = explain(above + AGAIN).findings
    assert finding.id == "cuda-fork"
    assert finding.fixes[0].command.startswith(first)
    assert len(finding.fixes) == len(set(finding.fixes)) == 5
