"""dp-scalar-gather: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("dp-scalar-gather")
WARNING = (
    "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/_functions.py:68: UserWarning: Was asked to gather along "
    "dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector."
)
GATHER = """Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/scatter_gather.py", line 75, in gather_map
"""
EXAMPLES = [
    WARNING,
    f"{WARNING}\nRuntimeError: grad can be implicitly created only for scalar outputs",
    f"{WARNING}\nRuntimeError: a Tensor with 2 elements cannot be converted to Scalar",
    f"{WARNING}\nValueError: only one element tensors can be converted to Python scalars",
    f"{GATHER}TypeError: 'float' object is not iterable",
    f"{GATHER}TypeError: zip argument #1 must support iteration",
    "ValueError: All dicts must have the same number of keys",
    f"{GATHER}TypeError: __init__() missing 2 required positional arguments: 'loss' and 'logits'",
    "AssertionError: Gather function not implemented for CPU tensors",
    (
        f"{GATHER}    return Gather.apply(target_device, dim, *outputs)\n"
        '  File "/opt/conda/lib/python3.6/site-packages/torch/nn/parallel/_functions.py", line 54, in forward\n'
        "    assert all(map(lambda i: i.is_cuda, inputs))\nAssertionError"
    ),
    "RuntimeError: Input tensor at index 1 has invalid shape [2, 35, 10], but expected [2, 32, 10]",
    "RuntimeError: Gather got an input of invalid size: got [2, 35, 10], but expected [2, 32, 10]",
    'Traceback (most recent call last):\n  File "/venv/torch/nn/parallel/scatter_gather.py", line 68, in gather\n    return gather_map(outputs)',
    "RuntimeError: dimension specified as 0 but tensor has no dimensions",
]
NOT_THIS = [
    "RuntimeError: grad can be implicitly created only for scalar outputs",
    "TypeError: zip argument #1 must support iteration",
    "TypeError: 'NoneType' object is not iterable",
    "AssertionError: Broadcast function not implemented for CPU tensors",
]


def said(text):
    finding = matches(text, [CHECK])[0].finding
    return finding.severity, finding.message


def test_the_warning_alone_is_a_note():
    assert said(WARNING)[0] is Severity.NOTE


def test_what_forward_returned_is_said():
    assert said(EXAMPLES[4]) == (
        Severity.ERROR,
        "forward returns a value of type float, and DataParallel joins CUDA tensors only",
    )
    assert "tensor on the CPU" in said(EXAMPLES[8])[1]
    assert "tensor on the CPU" in said(EXAMPLES[9])[1]
    assert said(EXAMPLES[10])[1].startswith(
        "replica 1 returned the shape [2, 35, 10] and the first one [2, 32, 10]"
    )
    assert said(EXAMPLES[11])[1].startswith("a replica returned the shape")
    assert said(EXAMPLES[5])[1].startswith("forward returns something other than tensors")


def test_the_error_after_the_warning_is_an_error():
    text = EXAMPLES[1].splitlines()
    alone = [line for line in text if "UserWarning" not in line]
    assert said("\n".join(["RuntimeError: Caught RuntimeError in replica 0 on device 0.", *alone]))[
        1
    ].startswith("the loss is a vector with one entry per GPU")
