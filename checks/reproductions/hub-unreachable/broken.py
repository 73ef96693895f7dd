"""A compute node without a way to the internet downloads a model's weights at the start."""
# run: python broken.py
# needs: torch
# needs: root
# needs: namespaces

import ctypes
import os

import torch

os.environ["TORCH_HOME"] = os.path.join(os.getcwd(), "shared")
ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET: a network that leads nowhere
state = torch.hub.load_state_dict_from_url("https://download.pytorch.org/models/model.pt", weights_only=True)
print("trained from", sorted(state))
