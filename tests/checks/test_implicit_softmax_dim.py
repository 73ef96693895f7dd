"""implicit-softmax-dim: seen in logs."""

EXAMPLES = {
    (
        "/data/model.py:41: UserWarning: Implicit dimension choice for softmax has been deprecated. Change the call to include "
        "dim=X as an argument."
    ): (
        "softmax was called without dim; with 3-dimensional input it runs over the batch, which every GPU has "
        "another part of"
    ),
    (
        "[rank1]: /opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py:1511: UserWarning: Implicit dimension choice "
        "for log_softmax has been deprecated. Change the call to include dim=X as an argument."
    ): (
        "log_softmax was called without dim; with 3-dimensional input it runs over the batch, which every GPU "
        "has another part of"
    ),
}
NOT_THIS = [
    "TypeError: softmax() received an invalid combination of arguments - got (Tensor), but expected one of:",
    "  (softmax): Softmax(dim=None)",
]

FLAGGED = [
    """
import torch.nn.functional as F

def forward(x):
    return F.log_softmax(x)  # <-
""",
    """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(2, 2), nn.Softmax())  # <-

    def forward(self, x):
        return self.head(x)
""",
    """
from torch.nn.functional import softmax as probabilities

def predict(model, x):
    return probabilities(model(x), dtype=None)  # <-
""",
]
FINE = [
    """
import torch
import torch.nn.functional as F

def forward(x, options):
    y = F.log_softmax(x, 1) + F.softmax(x, dim=-1) + torch.softmax(x, -1)
    return F.softmax(y, **options)
""",
    """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(2, 2), nn.LogSoftmax(dim=1), nn.Softmax(-1))

    def forward(self, x):
        return self.head(x).softmax(-1)
""",
    """
import torch
from jax.nn import softmax

def forward(x):
    return softmax(x)
""",
]
