"""matmul-shapes: seen in logs."""

MESSAGE = "the shapes of one operation do not fit"
EXAMPLES = {
    "matl and mat2 shapes cannot be multiplied (8x20 and 30x2)": MESSAGE + ": 8x20 and 30x2",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)": MESSAGE
    + ": 64x512 and 256x10",
    "RuntimeError: addmm: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)": MESSAGE + ": 2x5 and 3x4",
    "RuntimeError: mat_a and mat_b shapes cannot be multiplied (16x32 and 64x16)": MESSAGE
    + ": 16x32 and 64x16",
    "RuntimeError: size mismatch, m1: [64 x 512], m2: [256 x 10] at /pytorch/aten/src/TH/generic/THTensorMath.cpp:197": (
        MESSAGE + ": 64 x 512 and 256 x 10"
    ),
    "RuntimeError: size mismatch, got input (2), mat (2x3), vec (2)": MESSAGE + ": 2x3 and 2",
    "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 28, 28] to have 3 channels, but got 1 channels instead": (
        MESSAGE + ": 3 channels are expected and 1 came, with an input of 8, 1, 28, 28"
    ),
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 3].": (
        MESSAGE + ": 2, 3 and 2, 4"
    ),
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1": (
        MESSAGE + ": 3 beside 4 in dimension 1"
    ),
    "RuntimeError: running_mean should contain 4 elements not 3": MESSAGE + ": 3 are expected and 4 came",
    "RuntimeError: Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[1, 4]": (
        MESSAGE + ", with an input of 1, 4"
    ),
    "RuntimeError: input.size(-1) must be equal to input_size. Expected 3, got 5": MESSAGE
    + ": 3 are expected and 5 came",
    "ValueError: Expected input batch_size (32) to match target batch_size (64).": MESSAGE + ": 32 beside 64",
    "RuntimeError: shape '[64, 256]' is invalid for input of size 8192": MESSAGE
    + ": 8192 elements do not make 64, 256",
    "ValueError: Target size (torch.Size([2])) must be the same as input size (torch.Size([2, 1]))": (
        MESSAGE + ": 2 and 2, 1"
    ),
    "AssertionError: was expecting embedding dimension of 8, but got 4": MESSAGE
    + ": 8 are expected and 4 came",
    "RuntimeError: Calculated padded input size per channel: (4 x 4). Kernel size: (9 x 9). Kernel size can't be greater than actual input size": (
        MESSAGE
    ),
}
NOT_THIS = [
    "RuntimeError: running_mean should contain 64 elements not 0",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float",
    "size mismatch for fc.weight: copying a param with shape torch.Size([10, 512]) from checkpoint, the shape in current model is torch.Size([5, 512]).",
    "RuntimeError: stack expects each tensor to be equal size, but got [3, 4] at entry 0 and [3, 5] at entry 1",
]
