"""Understand the calls with which torch rebuilds tensors, and the ids with which it asks for storages.

The names and their arguments are those of torch/_utils.py and torch/serialization.py, 0.4 to 2.15.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from gpudoctor.checkpoint.opcodes import Broken
from gpudoctor.checkpoint.tree import WIDTHS, Call, Global, Storage, Tensor

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
    "QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4", "UntypedStorage": "uint8", "TypedStorage": "uint8",
}  # fmt: skip
"""Element types of torch's storage classes (torch/storage.py: _dtype_to_storage_type_map)."""
ALLOWED = {
    "collections.OrderedDict", "collections.Counter", "torch.nn.parameter.Parameter", "torch.serialization._get_layout",
    "torch.Size", "torch.Tensor", "torch.device", "_codecs.encode", "builtins.bytearray", "builtins.set",
    "builtins.complex", "__builtin__.set", "__builtin__.bytearray", "__builtin__.complex",
    "torch._tensor._rebuild_from_type_v2", "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_qtensor", "torch._utils._rebuild_sparse_tensor", "torch._utils._rebuild_sparse_csr_tensor",
    "torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_device_tensor_from_numpy",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor", "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_wrapper_subclass", "torch._utils._rebuild_xla_tensor", "torch._utils._rebuild_ort_tensor",
    "torch._utils._rebuild_mlc_tensor",
}  # fmt: skip
"""What ``torch.load(weights_only=True)`` lets a pickle import (torch 2.15, _weights_only_unpickler.py), but for types."""
SCHEMES = ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric")


def allowed(name: Global) -> bool:
    """Tell whether ``torch.load(weights_only=True)`` imports this."""
    if name.full in ALLOWED:
        return True
    if name.module in ("torch", "torch.cuda", "torch.storage", "torch.sparse", "torch.cuda.sparse"):
        plain = name.name in WIDTHS or name.name in STORAGES or name.name.startswith(SCHEMES)
        return plain or name.name in TENSORS or (name.module == "torch" and name.name in NARROW)
    return False


TENSORS = {
    f"{kind}Tensor"
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
}
NARROW = {f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 9)}


class Rebuilder:
    """Makes tensors of calls and storages of ids; storages that are met twice are one."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}

    def storage(self, id: Any) -> Any:
        """Return the storage that a persistent id asks for; raises `Unreadable` for an id that torch does not write."""
        if isinstance(id, tuple) and id and id[0] == "module":
            return id[1]  # a class with its source, until 1.x; the source is not needed
        if not (isinstance(id, tuple) and len(id) >= 5 and id[0] == "storage" and isinstance(id[1], Global)):
            raise Broken(f"an unknown persistent id {str(id)[:80]!r}")
        _, kind, key, device, elements, *view = id
        if kind.name not in STORAGES or not isinstance(elements, int) or elements < 0:
            raise Broken(f"an unknown storage {kind.full} of {elements!r} elements")
        dtype = STORAGES[kind.name]
        storage = Storage(str(key), dtype, elements, str(device), elements * WIDTHS[dtype])
        known = self.storages.setdefault(storage.key, storage)
        return _Held(known, id)

    def make(self, call: Call) -> Any:
        """Return a `Tensor` for a call that rebuilds one, a tuple for a ``torch.Size``; any other call as it is."""
        rebuild = REBUILD.get(call.name)
        if rebuild is None:
            return call
        try:
            return rebuild(call, *call.arguments)
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise Broken(f"{call.name} with arguments that torch does not write ({error})") from None


class _Held:
    """A storage on the pickle's stack, with the id that asked for it."""

    __slots__ = ("id", "storage")

    def __init__(self, storage: Storage, id: Any) -> None:
        self.storage, self.id = storage, id


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(value)
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError("sizes that are no numbers")
    return shape


def _tensor(call: Call, held: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Tensor:
    storage = held.storage
    return Tensor(
        dtype=storage.dtype, shape=_shape(size), stride=_shape(stride), offset=offset, storage=storage,
        requires_grad=bool(rest and rest[0]), call=call,
    )  # fmt: skip


def _tensor_v3(
    call: Call, held: Any, offset: int, size: Any, stride: Any, grad: bool, hooks: Any, dtype: Any, *_: Any
) -> Tensor:
    storage = held.storage
    return Tensor(
        dtype=dtype.name, shape=_shape(size), stride=_shape(stride), offset=offset, storage=storage, requires_grad=bool(grad), call=call,
    )  # fmt: skip


def _quantized(call: Call, held: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Tensor:
    storage = held.storage
    return Tensor(
        dtype=storage.dtype, shape=_shape(size), stride=_shape(stride), offset=offset, storage=storage, layout="quantized",
        requires_grad=bool(len(rest) > 1 and rest[1]), call=call,
    )  # fmt: skip


def _parameter(call: Call, data: Any, grad: bool, *_: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise ValueError("a parameter that is no tensor")
    return replace(data, parameter=True, requires_grad=bool(grad), call=call)


def _sparse(call: Call, layout: Any, data: Any) -> Tensor:
    parts = tuple(part for part in data if isinstance(part, Tensor))
    sizes = [part.arguments[0] if isinstance(part, Call) else part for part in data]
    size = next(part for part in reversed(sizes) if isinstance(part, tuple))
    name = layout.arguments[0] if isinstance(layout, Call) else str(layout)
    values = parts[-1]
    return Tensor(
        dtype=values.dtype, shape=_shape(size), layout=str(name).removeprefix("torch."), parts=parts, call=call,
    )  # fmt: skip


def _meta(call: Call, dtype: Any, size: Any, stride: Any, grad: bool) -> Tensor:
    storage = Storage("", dtype.name, 0, "meta", 0)
    return Tensor(
        dtype=dtype.name,
        shape=_shape(size),
        stride=_shape(stride),
        storage=storage,
        requires_grad=bool(grad),
        call=call,
    )


def _subclass(call: Call, function: Any, type_: Any, arguments: Any, state: Any) -> Any:
    inner = Rebuilder().make(Call(function, arguments, call.kind, call.place))
    if not isinstance(inner, Tensor):
        return call
    return replace(inner, call=call)


REBUILD: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_qtensor": _quantized,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_sparse_csr_tensor": _sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta,
    "torch._tensor._rebuild_from_type_v2": _subclass,
}
