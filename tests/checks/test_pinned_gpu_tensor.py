"""pinned-gpu-tensor: seen in logs."""

MESSAGE = (
    "a batch%s is to be pinned, and only dense tensors in the host's memory can be: the data set or collate_fn puts its "
    "samples on the GPU, or they are sparse"
)
EXAMPLES = {
    "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned": (
        MESSAGE % " of type torch.cuda.FloatTensor"
    ),
    "RuntimeError: Caught RuntimeError in pin memory thread for device 0.\nOriginal Traceback (most recent call last):\n"
    "RuntimeError: cannot pin 'torch.cuda.LongTensor' only dense CPU tensors can be pinned": (
        MESSAGE % " of type torch.cuda.LongTensor"
    ),
    "TypeError: cannot pin 'torch.cuda.FloatStorage' only CPU memory can be pinned": (
        MESSAGE % " of type torch.cuda.FloatStorage"
    ),
    "RuntimeError: Only dense CPU tensors can be pinned": MESSAGE % "",
}
NOT_THIS = [
    "UserWarning: 'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
]
