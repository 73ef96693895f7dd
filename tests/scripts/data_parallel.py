"""One process and all GPUs: nn.DataParallel."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class Classifier(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU())
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.features(x))


def train(model, loader, optimizer, device):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Classifier()
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    model.to(device)
    dataset = datasets.FashionMNIST("data", download=True, transform=transforms.ToTensor())
    loader = DataLoader(dataset, batch_size=256, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        train(model, loader, optimizer, device)
    core = model.module if isinstance(model, nn.DataParallel) else model
    torch.save(core.state_dict(), "classifier.pt")


if __name__ == "__main__":
    main()
