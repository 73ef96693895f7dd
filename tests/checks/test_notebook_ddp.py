"""notebook-ddp: seen in logs."""

REST = "; its cells are no script that could be started again"
EXAMPLES = {
    "# MisconfigurationException: Trainer [...] is not compatible with an interactive environment": (
        "this launch does not work in a notebook; its cells are no script that could be started again"
    ),
    (
        "MisconfigurationException: `Trainer(strategy='ddp')` is not compatible with an interactive environment. Run your code "
        "as a script, or choose a notebook-compatible strategy: `Trainer(strategy='ddp_notebook')`."
    ): f"this launch does not work in a notebook: strategy='ddp'{REST}",
    (
        "MisconfigurationException: `Trainer(strategy='ddp_spawn')` or `Trainer(accelerator='ddp_spawn')` is not compatible "
        "with an interactive environment."
    ): f"this launch does not work in a notebook: strategy='ddp_spawn'{REST}",
    (
        "MisconfigurationException: Selected distributed backend ddp is not compatible with an interactive environment. Run "
        "your code as a script"
    ): f"this launch does not work in a notebook: distributed backend ddp{REST}",
}
NOT_THIS = [
    "AttributeError: Can't get attribute 'train' on <module '__main__' (built-in)>",
    "AttributeError: Can't get attribute 'Net' on <module '__main__' from 'load.py'>",
    "Launching training on 2 GPUs.",
    "This pip is not compatible with an interactive shell",
]

FLAGGED = [
    '{"cells": [{"cell_type": "markdown", "source": ["# Train"]}, {"cell_type": "code", "source": ["%matplotlib inline\\n", "import torch.multiprocessing as mp\\n", "def train(rank):\\n", "    print(rank)\\n"]},\n {"cell_type": "code", "source": ["!nvidia-smi\\n", "mp.spawn(train, nprocs=2)  # <-"]}]}',
]
FINE = [
    '{"cells": [{"cell_type": "code", "source": "import torch.distributed as dist\\nfrom accelerate import notebook_launcher\\ndef train():\\n    dist.init_process_group(\'nccl\')\\nnotebook_launcher(train, num_processes=2)"}]}',
    '{"cells": [{"cell_type": "code", "source": "import torch.multiprocessing as mp\\nfrom training import train\\nmp.spawn(train, nprocs=2)"}]}',
    """
import torch.multiprocessing as mp
def train(rank):
    print(rank)
if __name__ == '__main__':
    mp.spawn(train, nprocs=2)
""",
]
