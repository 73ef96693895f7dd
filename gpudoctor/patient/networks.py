"""The networks that the training modes offer."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from mode_run import Fault


class Net(nn.Module):
    """Two convolutions, two linear layers, dropout; `size` is the height of the images."""

    def __init__(self, channels: int = 1, size: int = 28) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.dropout = nn.Dropout2d(0.2)
        self.fc1 = nn.Linear(20 * (((size - 4) // 2 - 4) // 2) ** 2, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, images: Tensor) -> Tensor:
        hidden = F.relu(F.max_pool2d(self.conv1(images), 2))
        hidden = F.relu(F.max_pool2d(self.dropout(self.conv2(hidden)), 2))
        hidden = F.dropout(F.relu(self.fc1(hidden.flatten(1))), 0.2, training=self.training)
        return self.fc2(hidden)


class LeNet(nn.Module):
    """LeNet-5 with rectifiers and without dropout: it computes the same for any order of the images."""

    def __init__(self, channels: int = 1, size: int = 28) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * ((size // 2 - 4) // 2) ** 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)
        for layer in self.children():  # with torch's own weights it stands still at first for one seed in six
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        hidden = F.max_pool2d(F.relu(self.conv1(images)), 2)
        hidden = F.max_pool2d(F.relu(self.conv2(hidden)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(hidden.flatten(1))))))


def make_network(model: str, channels: int, size: int) -> nn.Module:
    """A new network for images of so many channels and such a height."""
    if model == "net":
        return Net(channels, size)
    if model == "lenet":
        return LeNet(channels, size)
    try:
        from torchvision import models
    except Exception as error:  # a broken installation raises anything
        words = " ".join(str(error).split())[:300]
        raise Fault(f"--model {model} needs torchvision\n{type(error).__name__}: {words}") from error
    network = getattr(models, model)(num_classes=10)
    if channels != 3:
        network.conv1 = nn.Conv2d(channels, 64, kernel_size=7, stride=2, padding=3, bias=False)
    return network
