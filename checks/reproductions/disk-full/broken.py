"""torch.save onto a full disk (/dev/full)."""
# run: python broken.py
# needs: torch

import torch

torch.save({"w": torch.zeros(1000000)}, "/dev/full")
