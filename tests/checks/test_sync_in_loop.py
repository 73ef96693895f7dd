"""What shows sync-in-loop in a log, and what does not."""

EXAMPLES = {
    "RuntimeError: called a synchronizing CUDA operation": "an operation in the loop waits for the GPU, which then idles until the next kernels come",
    "train.py:12: UserWarning: called a synchronizing CUDA operation (Triggered internally at c10/cuda/CUDAFunctions.cpp:170.)": "an operation in the loop waits for the GPU, which then idles until the next kernels come",
}
NOT_THIS = ["torch.cuda.synchronize()"]
