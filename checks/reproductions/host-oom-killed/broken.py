"""Each rank reads a whole checkpoint, and the job has less of the host's memory than that takes."""
# run: python broken.py
# needs: torch
# needs: Linux

import resource

import torch

GRANTED = 128 << 20  # sbatch --mem=128M, on top of what Python and torch take

torch.save({"weight": torch.zeros(64 << 20)}, "model.pt")  # 256 MiB
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + GRANTED, used + GRANTED))  # ulimit -v
state = torch.load("model.pt", map_location="cpu", weights_only=True)
print("trained from", sum(weight.numel() for weight in state.values()), "weights")
