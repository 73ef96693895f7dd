"""Ask the patient's interpreter for its torch and torchvision."""

from gpudoctor.facts import Torch, Torchvision

script = "torch_facts.py"
topics = {"torch": Torch, "torchvision": Torchvision}
# import torch takes 2 s from a warm disk and was seen to take a minute from a cold network file system.
deadline = 90.0
