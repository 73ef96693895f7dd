"""Tensors that lie in one piece, row by row, as in a format that has no strides of its own."""

import math

from gpudoctor.checkpoint.tree import DIMS_MOST, SIZE_MOST, WIDTHS, Storage, Tensor, Unreadable
from gpudoctor.text import shown


def contiguous_strides(shape: tuple[int, ...], name: str = "") -> tuple[int, ...]:
    """Return the strides in elements; raises `Unreadable` for a shape that no tensor can have."""
    made: list[int] = []
    step = 1
    for size in reversed(shape):
        made.append(step)
        step *= max(size, 1)
    if len(shape) > DIMS_MOST or step > SIZE_MOST or (shape and min(shape) < 0):
        which = f": {shown(name)}" if name else ""
        raise Unreadable(f"a tensor with a shape that no tensor can have{which}")
    return tuple(reversed(made))


def contiguous_tensor(
    name: str, dtype: str, shape: tuple[int, ...], *, requires_grad: bool = False
) -> Tensor:
    """Return a tensor on the CPU with a storage of its own, whose key is its name; raises `Unreadable`."""
    elements = math.prod(shape)
    stride = contiguous_strides(shape, name)
    storage = Storage(name, dtype, elements, "cpu", elements * WIDTHS.get(dtype, 0))
    return Tensor(dtype=dtype, shape=shape, stride=stride, storage=storage, requires_grad=requires_grad)


def is_contiguous(tensor: Tensor) -> bool:
    """Return whether a tensor's elements lie in one piece, row by row; a dimension of one element has no stride."""
    rows = zip(tensor.shape, tensor.stride, contiguous_strides(tensor.shape), strict=True)
    return not tensor.elements or all(size == 1 or stride == dense for size, stride, dense in rows)
