"""gpu-tensor-to-numpy: seen in logs."""

MESSAGE = "a tensor on %s is given to NumPy, which reads the host's memory alone"
EXAMPLES = {
    "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.": (
        MESSAGE % "cuda:0"
    ),
    "[rank3]: TypeError: can't convert cuda:3 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.": (
        MESSAGE % "cuda:3"
    ),
    "TypeError: can't convert CUDA tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.": (
        MESSAGE % "CUDA"
    ),
}
NOT_THIS = [
    "TypeError: can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
]
