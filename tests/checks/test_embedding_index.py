"""embedding-index: seen in logs."""

INDEX = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [18,0,0], thread: [5,0,0] Assertion "
    "`srcIndex < srcSelectDimSize` failed."
)
EXAMPLES = [
    INDEX,
    (
        "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:92: operator(): block: [0,0,0], thread: [7,0,0] Assertion "
        '`-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.'
    ),
    (
        "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu:16: vectorized_gather_kernel: block: [2,0,0], thread: [3,0,0] "
        'Assertion `ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"` failed.'
    ),
    (
        "/pytorch/aten/src/THC/THCTensorScatterGather.cu:100: void THCudaTensor_gatherKernel(TensorInfo<Real, IndexType>) [with "
        "IndexType = unsigned int]: block: [0,0,0], thread: [9,0,0] Assertion `indexValue >= 0 && indexValue < src.sizes[dim]` failed."
    ),
    (
        "/tmp/torchinductor_me/ab/cabcdef.py:31: unknown: block: [0,0,0], thread: [0,0,0] Assertion `index out of bounds: 0 <= "
        "tmp4 < 50257` failed."
    ),
    f"{INDEX}\nRuntimeError: CUDA error: device-side assert triggered",
    "[rank0]: IndexError: index out of range in self",
    (
        "RuntimeError: index out of range: Tried to access index 30522 out of table with 30521 rows. at "
        "/pytorch/aten/src/TH/generic/THTensorEvenMoreMath.cpp:418"
    ),
    "RuntimeError: out of range: tried to access index 7 on a tensor of 4 elements.",
    "RuntimeError: index out of range at /pytorch/aten/src/TH/generic/THTensorMath.cpp:352",
    "RuntimeError: Index 0 of input takes value 7 which is not in the valid range [0, 4)",
    "RuntimeError: Expected idx >= 0 && idx < num_embeddings to be true, but got false.",
    "IndexError: index 7 is out of bounds for dimension 0 with size 4",
    "RuntimeError: index_copy_(): index 9 is out of bounds for dimension 0 with size 2",
    "IndexError: select(): index 7 out of range for tensor of size [4, 3] at dimension 0",
    "AssertionError: Padding_idx must be within num_embeddings",
    "index out of bounds: 0 <= tmp < 512",
]
NOT_THIS = [
    "IndexError: list index out of range",
    "IndexError: Target 3 is out of bounds.",
    "IndexError: index 5 is out of bounds for axis 0 with size 5",
    "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    (
        "IndexError: Caught IndexError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        "IndexError: index 7 is out of bounds for dimension 0 with size 4"
    ),
    (
        "Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` "
        "failed."
    ),
    "Token indices sequence length is longer than the specified maximum sequence length for this model (612 > 512).",
]
SAYS = {
    INDEX: "an index lies outside of its table: srcIndex < srcSelectDimSize does not hold",
    EXAMPLES[6]: "an index lies outside of its table",
    EXAMPLES[7]: "an index of 30522 lies outside of its table of 30521 rows",
    EXAMPLES[16]: "an index lies outside of its table: 0 <= tmp < 512 does not hold",
}
