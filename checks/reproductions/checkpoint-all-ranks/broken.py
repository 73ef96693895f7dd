"""Every rank saves to the same path."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
wrote = torch.zeros(1)


class Counted(torch.nn.Linear):
    def state_dict(self, *args, **kwargs):
        wrote.add_(1)
        return super().state_dict(*args, **kwargs)


model = Counted(8, 2)
torch.save(model.state_dict(), "model.pt")
dist.all_reduce(wrote)
assert wrote == 1, f"{wrote.item():.0f} ranks wrote the same checkpoint"
print(f"rank {dist.get_rank()}: {list(torch.load('model.pt', map_location='cpu', weights_only=True))}")
dist.destroy_process_group()
