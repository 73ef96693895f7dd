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
    "RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 12 but got size 11 for tensor number 2 in the list.": "the shapes of one operation do not fit: 12 beside 11",
    "RuntimeError: Expected 4-dimensional input for 4-dimensional weight [8, 3, 3, 3], but got 3-dimensional input of size [3, 32, 32] instead": "the shapes of one operation do not fit: 4 are expected and 3 came",
    "RuntimeError: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [16, 256]": "the shapes of one operation do not fit",
    "RuntimeError: batch1 and batch2 must have same number of batches, got 2 and 6": "the shapes of one operation do not fit: 2 beside 6",
    "RuntimeError: einsum(): subscript k has size 5 for operand 1 which does not broadcast with previously seen size 7": "the shapes of one operation do not fit",
    "RuntimeError: output with shape [1, 32, 32] doesn't match the broadcast shape [3, 32, 32]": "the shapes of one operation do not fit: 1, 32, 32 and 3, 32, 32",
    "RuntimeError: Given input size: (256x2x2). Calculated output size: (256x0x0). Output size is too small": "the shapes of one operation do not fit",
    "ValueError: Using a target size (torch.Size([16])) that is different to the input size (torch.Size([16, 1])) is deprecated.": "the shapes of one operation do not fit: 16 and 16, 1",
    "RuntimeError: The expanded size of the tensor (7) must match the existing size (9) at non-singleton dimension 1.": "the shapes of one operation do not fit: 7 are expected and 9 came",
    "IndexError: The shape of the mask [5] at index 0 does not match the shape of the indexed tensor [6, 2] at index 0": "the shapes of one operation do not fit: 5 and 6, 2",
    "RuntimeError: shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [4]": "the shapes of one operation do not fit",
    "RuntimeError: Expected target size [8, 12], got [8]": "the shapes of one operation do not fit: 8, 12 and 8",
}
NOT_THIS = [
    "RuntimeError: running_mean should contain 64 elements not 0",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float",
    "size mismatch for fc.weight: copying a param with shape torch.Size([10, 512]) from checkpoint, the shape in current model is torch.Size([5, 512]).",
    "RuntimeError: stack expects each tensor to be equal size, but got [3, 4] at entry 0 and [3, 5] at entry 1",
]
