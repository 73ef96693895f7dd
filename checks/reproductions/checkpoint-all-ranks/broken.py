"""Every rank saves to the same path."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os
import tempfile

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
path = os.path.join(tempfile.gettempdir(), os.environ["TORCHELASTIC_RUN_ID"] + ".pt")
wrote = torch.zeros(1)


class Counted(torch.nn.Linear):
    def state_dict(self, *args, **kwargs):
        wrote.add_(1)
        return super().state_dict(*args, **kwargs)


model = Counted(8, 2)
torch.save(model.state_dict(), path)
dist.all_reduce(wrote)
assert wrote == 1, f"{wrote.item():.0f} ranks wrote the same checkpoint"
print(f"rank {dist.get_rank()}: {list(torch.load(path, weights_only=True))}")
dist.destroy_process_group()
