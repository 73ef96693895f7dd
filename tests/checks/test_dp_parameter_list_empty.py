"""dp-parameter-list-empty: seen in logs."""

MESSAGE = "a list of parameters is empty in DataParallel's replicas, seen in replica 1: what it holds is not used there"
EXAMPLES = {
    (
        "/opt/conda/lib/python3.8/site-packages/torch/nn/modules/container.py:490: UserWarning: nn.ParameterList is being used "
        "with DataParallel but this is not supported. This list will appear empty for the models replicated on each GPU except "
        "the original one."
    ): (
        "a list of parameters, ParameterList, is empty in DataParallel's replicas: what it holds is not used "
        "there"
    ),
    (
        "UserWarning: nn.ParameterDict is being used with DataParallel but this is not supported. This dict will appear empty "
        "for the models replicated on each GPU except the original one."
    ): (
        "a list of parameters, ParameterDict, is empty in DataParallel's replicas: what it holds is not used "
        "there"
    ),
    """AttributeError: Caught AttributeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    return x * self.weights[0]
AttributeError: 'ParameterList' object has no attribute '0'""": (
        "a list of parameters, ParameterList, is empty in DataParallel's replicas, seen in replica 0: what it "
        "holds is not used there"
    ),
    """IndexError: Caught IndexError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    return x * self.weights[0]
  File "/opt/conda/lib/python3.8/site-packages/torch/nn/modules/container.py", line 438, in __getitem__
    idx = self._get_abs_string_index(idx)
IndexError: index 0 is out of range""": MESSAGE,
    """RuntimeError: Caught RuntimeError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    w = torch.stack(list(self.weights))
RuntimeError: stack expects a non-empty TensorList""": MESSAGE,
    """RuntimeError: Caught RuntimeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    w = torch.cat(list(self.weights))
RuntimeError: torch.cat(): expected a non-empty list of Tensors""": (
        "a list of parameters is empty in DataParallel's replicas, seen in replica 0: what it holds is not "
        "used there"
    ),
    "# my nn.ParameterDict is empty in every replica of nn.DataParallel": (
        "a list of parameters is empty in DataParallel's replicas: what it holds is not used there"
    ),
    "# the length of nn.ParameterList under DataParallel is 0": (
        "a list of parameters is empty in DataParallel's replicas: what it holds is not used there"
    ),
}
NOT_THIS = [
    "UserWarning: Setting attributes on ParameterList is not supported.",
    "AttributeError: 'ParameterList' object has no attribute 'shape'",
    "IndexError: index 0 is out of range",
    "RuntimeError: torch.cat(): expected a non-empty list of Tensors",
]
