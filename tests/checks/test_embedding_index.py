"""embedding-index: seen in logs."""

from gpudoctor import explain

INDEX = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [18,0,0], thread: [5,0,0] Assertion "
    "`srcIndex < srcSelectDimSize` failed."
)
MESSAGE = "an index lies outside of its table"
EXAMPLES = {
    INDEX: MESSAGE + ": srcIndex < srcSelectDimSize does not hold",
    (
        "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:92: operator(): block: [0,0,0], thread: [7,0,0] Assertion "
        '`-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.'
    ): MESSAGE + ': -sizes[i] <= index && index < sizes[i] && "index out of bounds" does not hold',
    (
        "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu:16: vectorized_gather_kernel: block: [2,0,0], thread: [3,0,0] "
        'Assertion `ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"` failed.'
    ): (
        MESSAGE
        + ': ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds" does not hold'
    ),
    (
        "/pytorch/aten/src/THC/THCTensorScatterGather.cu:100: void THCudaTensor_gatherKernel(TensorInfo<Real, IndexType>) [with "
        "IndexType = unsigned int]: block: [0,0,0], thread: [9,0,0] Assertion `indexValue >= 0 && indexValue < src.sizes[dim]` failed."
    ): MESSAGE + ": indexValue >= 0 && indexValue < src.sizes[dim] does not hold",
    (
        "/tmp/torchinductor_me/ab/cabcdef.py:31: unknown: block: [0,0,0], thread: [0,0,0] Assertion `index out of bounds: 0 <= "
        "tmp4 < 50257` failed."
    ): MESSAGE + ": index out of bounds: 0 <= tmp4 < 50257 does not hold",
    f"{INDEX}\nRuntimeError: CUDA error: device-side assert triggered": (
        MESSAGE + ": srcIndex < srcSelectDimSize does not hold"
    ),
    "[rank0]: IndexError: index out of range in self": MESSAGE,
    (
        "RuntimeError: index out of range: Tried to access index 30522 out of table with 30521 rows. at "
        "/pytorch/aten/src/TH/generic/THTensorEvenMoreMath.cpp:418"
    ): "an index of 30522 lies outside of its table of 30521 rows",
    "RuntimeError: out of range: tried to access index 7 on a tensor of 4 elements.": (
        "an index of 7 lies outside of its table of 4 rows"
    ),
    "RuntimeError: index out of range at /pytorch/aten/src/TH/generic/THTensorMath.cpp:352": MESSAGE,
    "RuntimeError: Index 0 of input takes value 7 which is not in the valid range [0, 4)": (
        "an index of 7 lies outside of its table of 4 rows"
    ),
    "RuntimeError: Expected idx >= 0 && idx < num_embeddings to be true, but got false.": MESSAGE,
    "IndexError: index 7 is out of bounds for dimension 0 with size 4": (
        "an index of 7 lies outside of its table of 4 rows"
    ),
    "RuntimeError: index_copy_(): index 9 is out of bounds for dimension 0 with size 2": (
        "an index of 9 lies outside of its table of 2 rows"
    ),
    "IndexError: select(): index 7 out of range for tensor of size [4, 3] at dimension 0": (
        "an index of 7 lies outside of its table"
    ),
    "AssertionError: Padding_idx must be within num_embeddings": MESSAGE,
    "index out of bounds: 0 <= tmp < 512": MESSAGE + ": 0 <= tmp < 512 does not hold",
    "Assertion `index >= -sizes[i] && index < sizes[i]": "an index lies outside of its table",
}
NOT_THIS = [
    "    rows = table.index_select(0, order)\nIndexError: index out of range in self",
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


def commands(log):
    return [fix.command for fix in explain(log).findings[0].fixes]


def test_on_the_cpu_the_traceback_is_true_already():
    assert any("CUDA_LAUNCH_BLOCKING" in command for command in commands(INDEX))
    assert not any(
        "CUDA_LAUNCH_BLOCKING" in command for command in commands("IndexError: index out of range in self")
    )
