"""dp-stop-iteration: seen in logs."""

EXAMPLES = {
    "StopIteration: Caught StopIteration in replica 0 on device 0.": (
        "replica 0 on device 0 ran through an empty list: since torch 1.5 the replicas of DataParallel have no "
        "registered parameters"
    ),
    """RuntimeError: Caught RuntimeError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/parallel_apply.py", line 61, in _worker
    output = module(*input, **kwargs)
  File "/home/me/model.py", line 44, in forward
    for block in self.walk():
RuntimeError: generator raised StopIteration""": (
        "replica 1 on device 1 ran through an empty list: since torch 1.5 the replicas of DataParallel have no "
        "registered parameters"
    ),
}
NOT_THIS = [
    "StopIteration",
    "StopIteration: Caught StopIteration in DataLoader worker process 0.",
    "RuntimeError: generator raised StopIteration",
]
