"""What ``torch.load(weights_only=True)`` lets a pickle import (torch 2.15: torch/_weights_only_unpickler.py)."""

from gpudoctor.checkpoint.tree import WIDTHS, Global

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
    "QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4", "UntypedStorage": "uint8", "TypedStorage": "uint8",
}  # fmt: skip
"""Element types of torch's storage classes (torch/storage.py: _dtype_to_storage_type_map)."""
REBUILD = """tensor tensor_v2 tensor_v3 parameter parameter_with_state qtensor sparse_tensor meta_tensor_no_storage
    wrapper_subclass device_tensor_from_numpy device_tensor_from_cpu_tensor""".split()
SCHEMES = """per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric
    per_channel_affine_float_qparams""".split()
NUMBERS = "Float Double Half BFloat16 Long Int Short Char Byte".split()
DISTRIBUTED = {
    "torch.distributed.device_mesh.DeviceMesh", "torch.distributed.tensor._dtensor_spec.DTensorSpec",
    "torch.distributed.tensor._dtensor_spec.TensorMeta", "torch.distributed.tensor._dtensor_spec.ShardOrderEntry",
    "torch.distributed.tensor.DTensor", "torch.distributed.tensor.placement_types.Partial",
    "torch.distributed.tensor.placement_types.Replicate", "torch.distributed.tensor.placement_types.Shard",
    "torch.distributed.tensor.placement_types._StridedShard",
}  # fmt: skip
"""Allowed once ``torch.distributed.tensor`` is imported, which torch asks for by name."""
ALLOWED = frozenset(
    {
        "collections.OrderedDict", "collections.Counter", "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout", "torch.Size", "torch.Tensor", "torch.device", "_codecs.encode",
        "torch.distributed._mesh_layout._FlatLayout", "torch.distributed._mesh_layout._MeshLayout",
        "torch._tensor._rebuild_from_type_v2", "torch.storage.TypedStorage", "torch.storage.UntypedStorage",
        "torch.BoolTensor", "torch.cuda.BoolTensor", *DISTRIBUTED,
    }
    | {f"{module}.{name}" for module in ("builtins", "__builtin__") for name in ("bytearray", "set", "complex")}
    | {f"torch._utils._rebuild_{name}" for name in REBUILD}
    | {f"torch.{name}" for name in (*WIDTHS, *SCHEMES)}
    | {f"torch{cuda}.{name}" for cuda in ("", ".cuda") for name in STORAGES if name[0] not in "QUT"}
    | {f"torch.{name}" for name in STORAGES if name[0] == "Q"}
    | {f"torch{kind}.{name}Tensor" for kind in ("", ".cuda", ".sparse", ".cuda.sparse") for name in NUMBERS}
)  # fmt: skip
"""Python 2's ``__builtin__`` is read as ``builtins``."""


def allowed(name: Global) -> bool:
    """Return whether ``torch.load(weights_only=True)`` imports this."""
    return name.full in ALLOWED
