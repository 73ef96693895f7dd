"""ddp-inplace-buffer: seen in logs."""

LINE = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.cuda.FloatTensor [64]] is at version 3; expected version 2 instead. Hint: enable anomaly detection to find "
    "the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
)
MESSAGE = (
    "between forward and backward DDP copied rank 0's buffers over a torch.cuda.FloatTensor of size [64]: version "
    "3, where backward expects 2"
)
EXAMPLES = {
    f"[rank1]: {LINE}": MESSAGE,
    f"""netD = DistributedDataParallel(netD, device_ids=[0])
Traceback (most recent call last):
  File "/home/me/train.py", line 80, in <module>
    loss.backward()
{LINE}""": MESSAGE,
    (
        """-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/me/train.py", line 80, in main
    loss.backward()
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: """
        "[torch.cuda.LongTensor [1, 512]] is at version 2; expected version 1 instead."
    ): (
        "between forward and backward DDP copied rank 0's buffers over a torch.cuda.LongTensor of size [1, "
        "512]: version 2, where backward expects 1"
    ),
}
NOT_THIS = [
    LINE,
    (
        "[rank0]: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.cuda.FloatTensor [8, 64]], which is output 0 of ReluBackward0, is at version 1; expected version 0 "
        "instead."
    ),
    (
        "[rank0]: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.cuda.FloatTensor [64, 3, 3, 3]] is at version 2; expected version 1 instead."
    ),
]
