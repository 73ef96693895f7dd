"""Describe tensors that lie in one piece, row by row, in a format that has no strides of its own."""

from gpudoctor.checkpoint.tree import WIDTHS, Storage, Tensor, Unreadable
from gpudoctor.text import shown

DIMENSIONS_MOST = 64
"""More than any tensor has; torch's own iterators take 64."""
ELEMENTS_MOST = 1 << 63


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides in elements; raises `Unreadable` for a shape that no tensor can have."""
    made: list[int] = []
    step = 1
    for size in reversed(shape):
        made.append(step)
        step *= max(size, 1)
    if len(shape) > DIMENSIONS_MOST or step > ELEMENTS_MOST or (shape and min(shape) < 0):
        raise Unreadable("a tensor with a shape that no tensor can have")
    return tuple(reversed(made))


def dense(name: str, dtype: str, shape: tuple[int, ...], *, requires_grad: bool = False) -> Tensor:
    """Return a tensor on the CPU with a storage of its own, whose key is its name; raises `Unreadable`."""
    try:
        stride = strides(shape)
    except Unreadable as error:
        raise Unreadable(f"{error}: {shown(name)}") from None
    elements = 1
    for size in shape:
        elements *= size
    storage = Storage(name, dtype, elements, "cpu", elements * WIDTHS.get(dtype, 0))
    return Tensor(dtype=dtype, shape=shape, stride=stride, storage=storage, requires_grad=requires_grad)
