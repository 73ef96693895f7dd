"""device-index-noop: seen in a script, and in logs."""

FLAGGED = [
    (
        "torchrun.py",
        {"torch.cuda.set_device(local_rank)": "torch.accelerator.device_index(local_rank)  # <-"},
    ),
    """
import os
import torch
torch.cuda.device(int(os.environ['LOCAL_RANK']))  # <-
print(torch.zeros(1).cuda())
""",
]
FINE = [
    ("torchrun.py", {"torch.cuda.set_device(local_rank)": "torch.accelerator.set_device_index(local_rank)"}),
    """
import torch
with torch.cuda.device(1):
    x = torch.zeros(1).cuda()
with torch.accelerator.device_index(0):
    print(x)
""",
]
EXAMPLES = {
    "AssertionError: local rank 1 works on cuda:0": "local rank 1 works on cuda:0: the line that should choose its GPU does nothing"
}
NOT_THIS = ["local rank 1 is on its GPU"]
