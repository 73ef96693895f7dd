"""A compute node without a way to the internet downloads a model's weights at the start."""
# run: python fixed.py
# needs: torch
# needs: root
# needs: namespaces

import ctypes
import os

import torch

os.environ["TORCH_HOME"] = os.path.join(os.getcwd(), "shared")
cache = os.path.join(torch.hub.get_dir(), "checkpoints")
os.makedirs(cache, exist_ok=True)
torch.save({"weight": torch.zeros(8)}, os.path.join(cache, "model.pt"))  # filled on a login node
ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET: a network that leads nowhere
state = torch.hub.load_state_dict_from_url("https://download.pytorch.org/models/model.pt", weights_only=True)
print("trained from", sorted(state))
