"""device-side-assert: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Sighting, Source
from gpudoctor.registry import Registry

CHECK = Registry().check("device-side-assert")
LABEL = (
    "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] "
    "Assertion `t >= 0 && t < n_classes` failed."
)
INDEX = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [18,0,0], thread: [5,0,0] Assertion "
    "`srcIndex < srcSelectDimSize` failed."
)
MESSAGE = 'a kernel\'s assertion failed; which one stands in lines with "Assertion" above, or only on the CPU'
EXAMPLES = {
    "IndexError: Target 10 is out of bounds.": "the label 10 lies outside of the classes that the model has",
    (
        "RuntimeError: Assertion `cur_target >= 0 && cur_target < n_classes' failed.  at "
        "/pytorch/aten/src/THNN/generic/ClassNLLCriterion.c:97"
    ): "a class label lies outside of the classes that the model has",
    "RuntimeError: Class values must be smaller than num_classes.": (
        "a class label lies outside of the classes that the model has"
    ),
    "RuntimeError: all elements of input should be between 0 and 1": (
        "all elements of input should be between 0 and 1: a sigmoid is missing, or it is NaN"
    ),
    "I got RuntimeError: cuda runtime error (710) during training.": MESSAGE,
    LABEL: '"t >= 0 && t < n_classes" does not hold: a class label lies outside of the classes',
    (
        "/pytorch/aten/src/THCUNN/BCECriterion.cu:42: Acctype bce_functor<Dtype, Acctype>::operator()(Tuple) [with Dtype = "
        "float]: block: [0,0,0], thread: [31,0,0] Assertion `*input >= 0. && *input <= 1.` failed."
    ): (
        '"*input >= 0. && *input <= 1." does not hold: a value for binary cross entropy lies outside of 0 to '
        "1: a sigmoid is missing, or it is NaN"
    ),
    "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:110: block: [0,0,0], thread: [0,0,0] Assertion `input[0] != 0` failed.": (
        '"input[0] != 0" does not hold: sampling got NaN, infinite or negative probabilities'
    ),
    "/home/me/ops/grid.cu:71: splat: block: [4,0,0], thread: [64,0,0] Assertion `weight == weight` failed.": (
        '"weight == weight" does not hold'
    ),
    "[rank1]: torch.AcceleratorError: CUDA error: device-side assert triggered": MESSAGE,
    "RuntimeError: cuda runtime error (59) : device-side assert triggered at /pytorch/aten/src/THC/THCTensorMath.cu:26": MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCTensorCopy.cu line=100 error=710 : device-side assert triggered": MESSAGE,
    "Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html": MESSAGE,
    "Assertion `input_val >= zero && input_val <= one` failed.": '"input_val >= zero && input_val <= one" does not hold: a value for binary cross entropy lies outside of 0 to 1: a sigmoid is missing, or it is NaN',
}
NOT_THIS = [
    "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    INDEX,
    f"{INDEX}\nRuntimeError: CUDA error: device-side assert triggered",
    "AssertionError",
]


def test_the_assertion_is_explained():
    message = matches(LABEL, [CHECK])[0].finding.message
    assert message == '"t >= 0 && t < n_classes" does not hold: a class label lies outside of the classes'


def test_the_assertion_above_the_error_is_used():
    text = (
        f"{LABEL}\nTraceback (most recent call last):\nRuntimeError: CUDA error: device-side assert triggered"
    )
    (finding,) = CHECK.functions[Source.LOG](Sighting(line=text.splitlines()[-1], around=text))
    assert (
        finding.message
        == '"t >= 0 && t < n_classes" does not hold: a class label lies outside of the classes'
    )
