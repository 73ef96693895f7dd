"""Understand the calls with which torch rebuilds tensors, and the ids with which it asks for storages.

The names and their arguments are those of torch/_utils.py and torch/serialization.py, 0.4 to 2.15.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.pickle.container_opcodes import set_pairs
from gpudoctor.checkpoint.pickle.weights_only import STORAGES
from gpudoctor.checkpoint.tree import (
    DIMS_MOST,
    QUANTIZED,
    SIZE_MOST,
    WIDTHS,
    WRAPPED,
    Broken,
    Call,
    Global,
    Storage,
    Tensor,
)
from gpudoctor.text import shown

DEVICE_MOST = 100
"""Characters of a device."""
PACKED_TYPES = ("quint4x2", "quint2x4")
"""Types of which several elements are in one byte."""
TROUBLE_MOST = 20
"""Lines of trouble with tensors that are kept."""


class StorageRef(Struct, eq=False):
    """A storage on the pickle's stack, as one persistent id asks for it."""

    storage: Storage
    id: Any
    dtype: str
    offset: int = 0
    """Of the view that is asked for, in elements of the storage (torch 0.3 and older)."""


class Rebuilder:
    """Makes tensors of calls and storages of ids; storages that are met twice are one."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}
        self.devices: set[str] = set()
        self.tuples: dict[int, list[Any]] = {}
        self.trouble: list[str] = []
        """Tensors that do not fit into their storages, a line each."""

    def storage(self, id: Any) -> Any:
        """Return the storage that a persistent id asks for; raises `Broken` for an id that torch does not write."""
        if type(id) is not tuple or not id or type(id[0]) is not str:
            raise Broken("an unknown persistent id: not torch's")
        if id[0] == "module" and len(id) > 1 and isinstance(id[1], Global):
            return id[1]  # a class with its source, until 1.x; the source is not needed
        if id[0] != "storage" or len(id) not in (5, 6):
            raise Broken(f"an unknown persistent id: {shown(id[0])}")
        kind, key, device, elements = id[1:5]
        dtype = STORAGES.get(kind.name) if isinstance(kind, Global) else None
        if dtype is None or type(elements) is not int or not 0 <= elements < SIZE_MOST:
            raise Broken("an unknown kind of storage, or one of a size that no storage has")
        if type(key) not in (str, int) or type(device) is not str:
            raise Broken("a storage whose key or device is no text")
        if device not in self.devices:
            if len(device) > DEVICE_MOST or not device.isprintable():
                raise Broken(f"a storage of a device that there is not: {shown(device)}")
            self.devices.add(device)
        storage = self.storages.get(str(key))
        if storage is None:
            storage = Storage(str(key), dtype, elements, device, elements * WIDTHS[dtype])
            self.storages[storage.key] = storage
        elif storage.size != elements * WIDTHS[dtype]:
            self._note(
                f"storage {shown(storage.key)} is asked for with {storage.size} and with other numbers of bytes"
            )
        return StorageRef(storage, id, dtype, _view(id[5]) if len(id) == 6 else 0)

    def make(self, call: Call) -> Any:
        """Return a `Tensor` for a call that rebuilds one; any other call as it is."""
        function = call.function
        rebuild = REBUILDERS.get(function.full) if type(function) is Global else None
        if rebuild is None:
            return call
        try:
            return rebuild(self, call, *call.arguments)
        except (TypeError, ValueError, AttributeError, IndexError, KeyError):
            raise Broken(f"{call.name} with arguments that torch does not write") from None

    def _note(self, line: str) -> None:
        if len(self.trouble) < TROUBLE_MOST and line not in self.trouble:
            self.trouble.append(line)

    def _tensor(
        self, call: Call, held: StorageRef, offset: int, size: Any, stride: Any, grad: Any = False, *_: Any
    ) -> Tensor:
        return self._strided(call, held, held.dtype, offset, size, stride, grad)

    def _tensor_v3(
        self, call: Call, held: StorageRef, offset: int, size: Any, stride: Any, grad: Any, *rest: Any
    ) -> Tensor:
        return self._strided(call, held, _dtype(rest[1]), offset, size, stride, grad)

    def _strided(
        self, call: Call, held: StorageRef, dtype: str, offset: int, size: Any, stride: Any, grad: Any
    ) -> Tensor:
        storage = held.storage
        if type(size) is not tuple or type(stride) is not tuple:
            size, stride = _sizes(size), _sizes(stride)
        if len(size) != len(stride) or len(size) > DIMS_MOST or type(offset) is not int or offset < 0:
            raise ValueError("a shape")
        end = held.offset + offset
        elements = 1
        for length, step in zip(size, stride, strict=True):
            if type(length) is not int or type(step) is not int or not (0 <= length < SIZE_MOST > step >= 0):
                raise ValueError("a length or a step")
            end += (length - 1) * step
            elements *= length
        if elements >= SIZE_MOST:
            raise ValueError("more elements than torch can count")
        if elements and (end + 1) * WIDTHS.get(dtype, 1) > storage.size and dtype not in PACKED_TYPES:
            self._note(f"a tensor of shape {list(size)} goes beyond its storage {shown(storage.key)}")
        return Tensor(
            dtype=dtype, shape=size, stride=stride, offset=held.offset + offset, storage=storage,
            requires_grad=bool(grad), call=call,
        )  # fmt: skip

    def _quantized(
        self, call: Call, held: StorageRef, offset: int, size: Any, stride: Any, scheme: Any, *rest: Any
    ) -> Tensor:
        plain = self._tensor(call, held, offset, size, stride, *rest)
        return replace(plain, layout=QUANTIZED, parts=_parts(scheme))

    def _parameter(self, call: Call, data: Any, grad: Any = True, *_: Any) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError("no tensor")
        return replace(data, parameter=True, requires_grad=bool(grad), call=call)

    def _sparse(self, call: Call, layout: Any, data: Any, *_: Any) -> Tensor:
        name = layout.arguments[0] if isinstance(layout, Call) else layout
        size, values = (data[2], data[1]) if name == "torch.sparse_coo" else (data[3], data[2])
        shape = _sizes(size)
        parts = _parts(data)
        if values not in parts or not name.startswith("torch.sparse_"):
            raise ValueError("a layout")
        return Tensor(
            dtype=values.dtype, shape=shape, layout=name.removeprefix("torch."), parts=parts, call=call
        )

    def _nested(self, call: Call, buffer: Tensor, sizes: Tensor, *rest: Any) -> Tensor:
        parts = _parts((buffer, sizes, *rest))
        return Tensor(dtype=buffer.dtype, shape=sizes.shape[:1], layout="nested", parts=parts, call=call)

    def _jagged(self, call: Call, state: dict[str, Any], *_: Any) -> Tensor:
        values, offsets = state["values"], state["offsets"]
        return Tensor(
            dtype=values.dtype, shape=(max(offsets.shape[0] - 1, 0),), layout="jagged",
            requires_grad=bool(state.get("requires_grad")), parts=_parts(state.values()), call=call,
        )  # fmt: skip

    def _meta(self, call: Call, dtype: Any, size: Any, stride: Any, grad: Any = False) -> Tensor:
        held = StorageRef(Storage("", _dtype(dtype), 0, "meta", SIZE_MOST**2), None, _dtype(dtype))
        made = self._strided(call, held, held.dtype, 0, size, stride, grad)
        return replace(made, storage=Storage("", made.dtype, 0, "meta", 0))

    def _wrapper(self, call: Call, *arguments: Any) -> Tensor:
        _, dtype, size, stride, offset, _, _, grad = arguments
        return Tensor(
            dtype=_dtype(dtype), shape=_sizes(size), stride=_sizes(stride), offset=int(offset), layout=WRAPPED,
            requires_grad=bool(grad), call=call,
        )  # fmt: skip

    def _elsewhere(self, call: Call, data: Any, *arguments: Any) -> Any:
        if not isinstance(data, Tensor):  # a numpy array
            return call
        dtype, _, grad = arguments
        return Tensor(
            dtype=_dtype(dtype), shape=data.shape, stride=data.stride, layout=WRAPPED, requires_grad=bool(grad),
            parts=_parts((data,)), call=call,
        )  # fmt: skip

    def _subclass(self, call: Call, function: Any, _: Any, arguments: Any, state: Any) -> Any:
        rebuild = REBUILDERS.get(function.full) if isinstance(function, Global) else None
        if rebuild is None or rebuild is Rebuilder._subclass:
            return call
        inner = rebuild(self, Call(function, arguments, call.kind, call.place), *arguments)
        if not isinstance(inner, Tensor):
            return call
        if inner.layout == WRAPPED and isinstance(state, dict):
            return replace(inner, parts=_parts(state.values()), call=call)
        return replace(inner, call=call)

    def _ordered(self, call: Call, pairs: Any = (), *_: Any) -> Call:
        """Put the pairs that Python 2 hands to an OrderedDict where Python 3 has them."""
        if pairs:
            set_pairs(self.tuples, call, [part for key, value in pairs for part in (key, value)])
            call.arguments = ()
        return call


def _view(view: Any) -> int:
    return view[1] if type(view) is tuple and len(view) == 3 and type(view[1]) is int and view[1] >= 0 else 0


def _sizes(value: Any) -> tuple[int, ...]:
    """Return a ``torch.Size``, which stands as a call, as a tuple."""
    sizes = tuple(value.arguments[0]) if isinstance(value, Call) else tuple(value)
    if len(sizes) > DIMS_MOST or not all(type(n) is int and 0 <= n < SIZE_MOST for n in sizes):
        raise ValueError("sizes")
    return sizes


def _dtype(name: Any) -> str:
    if not isinstance(name, Global) or name.name not in WIDTHS:
        raise ValueError("no type")
    return name.name


def _parts(values: Any) -> tuple[Tensor, ...]:
    """Return the tensors among values; one that is itself made of parts is none that torch writes there."""
    parts = tuple(value for value in values if isinstance(value, Tensor))
    if len(parts) > DIMS_MOST or any(part.parts for part in parts):
        raise ValueError("parts of parts")
    return parts


REBUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": Rebuilder._tensor,
    "torch._utils._rebuild_tensor_v2": Rebuilder._tensor,
    "torch._utils._rebuild_tensor_v3": Rebuilder._tensor_v3,
    "torch._utils._rebuild_qtensor": Rebuilder._quantized,
    "torch._utils._rebuild_parameter": Rebuilder._parameter,
    "torch._utils._rebuild_parameter_with_state": Rebuilder._parameter,
    "torch._utils._rebuild_sparse_tensor": Rebuilder._sparse,
    "torch._utils._rebuild_sparse_csr_tensor": Rebuilder._sparse,
    "torch._utils._rebuild_nested_tensor": Rebuilder._nested,
    "torch._utils._rebuild_meta_tensor_no_storage": Rebuilder._meta,
    "torch._utils._rebuild_wrapper_subclass": Rebuilder._wrapper,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": Rebuilder._elsewhere,
    "torch._utils._rebuild_device_tensor_from_numpy": Rebuilder._elsewhere,
    "torch._utils._rebuild_xla_tensor": Rebuilder._elsewhere,
    "torch._tensor._rebuild_from_type": Rebuilder._subclass,
    "torch._tensor._rebuild_from_type_v2": Rebuilder._subclass,
    "torch.nested._internal.nested_tensor._rebuild_njt": Rebuilder._jagged,
    "collections.OrderedDict": Rebuilder._ordered,
}
"""How what these return is described, by their names."""
