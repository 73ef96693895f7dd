"""Understand the ``.metadata`` of ``torch.distributed.checkpoint``: a pickle of its dataclasses.

Their fields are those of torch/distributed/checkpoint/metadata.py and filesystem.py, 2.0 to 2.15.
"""

from typing import Any, TypeVar

from msgspec import Struct

from gpudoctor.checkpoint.formats.contiguous import contiguous_strides
from gpudoctor.checkpoint.pickle.load import load
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.pickle.weights_only import allowed
from gpudoctor.checkpoint.tree import Call, Global, Unreadable
from gpudoctor.facts.checkpoint_file import Foreign
from gpudoctor.text import shown

CLASSES = "torch.distributed.checkpoint.metadata"
OLD_CLASSES = "torch.distributed._shard.sharded_tensor.metadata"  # until 2.2
ENUMS = {f"{CLASSES}._MEM_FORMAT_ENCODING", f"{OLD_CLASSES}.MEM_FORMAT_ENCODING"}
PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
DATACLASSES = """Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata TensorProperties MetadataIndex
    StorageMeta""".split()
IMPORTED = {
    *(f"{CLASSES}.{name}" for name in DATACLASSES),
    f"{OLD_CLASSES}.TensorProperties",
    "torch.distributed.checkpoint.filesystem._StorageInfo",
    *(f"{module}.{name}" for module in ("pathlib", "pathlib._local") for name in PATHS),
    *ENUMS,
}  # fmt: skip
"""What the checkpoint of an honest program imports. Each by its name: the modules hold functions that write files."""
T = TypeVar("T")
GETATTR = "builtins.getattr"
Place = tuple[int, ...]


class Chunk(Struct, frozen=True):
    """A box of a tensor that one process wrote."""

    offsets: Place
    sizes: Place


class Described(Struct, frozen=True):
    """A tensor as the metadata describes it."""

    dtype: str
    shape: Place
    requires_grad: bool
    chunks: tuple[Chunk, ...]


class StorageInfo(Struct, frozen=True):
    """The bytes of one chunk or value in one file of the folder."""

    file: str
    offset: int
    length: int
    transformed: bool
    """Compressed or encrypted, so that the bytes are not what ``torch.save`` wrote."""


class Metadata(Struct, frozen=True):
    """The whole file."""

    keys: dict[str, Described | None]
    """``None`` for a value that is no tensor."""
    stored: dict[tuple[str, Place | None], StorageInfo]
    """By key and offsets of the chunk; without offsets for a value that is no tensor."""
    version: str | None
    suspects: list[Foreign]


class _Enums(Rebuilder):
    """Notes calls of ``getattr`` that are not for a member of an enum."""

    def __init__(self) -> None:
        super().__init__()
        self.strange = False

    def make(self, call: Call) -> Any:
        """Return what a call makes."""
        self.strange |= call.name == GETATTR and not _is_enum_member(call)
        return super().make(call)


def parse(data: bytes) -> Metadata:
    """Read the pickle without running it; raises `Unreadable`."""
    enums = _Enums()
    found = load(
        data, ".metadata", enums, report=False, allowed=lambda name: name.full in IMPORTED or allowed(name)
    )
    state = _state(found.root, "Metadata")
    suspects = found.suspects
    if not enums.strange:  # enum members, as Python 3.11.0 to 3.11.3 pickles them
        suspects = [suspect for suspect in suspects if suspect.name != GETATTR]
    keys = _checked(dict, state.get("state_dict_metadata"), "state_dict_metadata")
    places = _checked(dict, state.get("storage_data") or {}, "storage_data")
    version = state.get("version")
    return Metadata(
        {_text(key): _described(key, entry) for key, entry in keys.items()},
        dict(_stored(*pair) for pair in places.items()),
        version if isinstance(version, str) else None,
        suspects,
    )


def _is_enum_member(call: Call) -> bool:
    """Return whether ``getattr`` is called for a member of an enum of torch's, and for nothing behind it."""
    match call.arguments:
        case (Global() as enum, str(name)):
            return enum.full in ENUMS and name.startswith("TORCH_") and name.isidentifier()
    return False


def _state(node: Any, cls: str) -> dict[Any, Any]:
    if not (isinstance(node, Call) and node.name.endswith(f".{cls}")):
        raise _damaged(node, f"a {cls}")
    return _checked(dict, node.state, f"the fields of a {cls}")


def _damaged(node: Any, meant: str) -> Unreadable:
    what = shown(node.name) if isinstance(node, Call) else f"a {type(node).__name__}"
    return Unreadable(f"a damaged .metadata: {what} where {meant} should be")


def _checked(kind: type[T], node: Any, meant: str) -> T:
    if not isinstance(node, kind):
        raise _damaged(node, meant)
    return node


def _text(node: Any) -> str:
    return _checked(str, node, "a name")


def _whole(node: Any) -> int:
    if not isinstance(node, int) or isinstance(node, bool) or not 0 <= node < 1 << 63:
        raise _damaged(node, "a possible size")
    return node


def _sizes(node: Any) -> Place:
    """Return what a ``torch.Size`` holds."""
    if isinstance(node, Call) and node.name == "torch.Size" and len(node.arguments) == 1:
        node = node.arguments[0]
    if not isinstance(node, (tuple, list)):
        raise _damaged(node, "a torch.Size")
    sizes = tuple(_whole(size) for size in node)
    contiguous_strides(sizes)  # no more than a tensor can have
    return sizes


def _described(key: Any, entry: Any) -> Described | None:
    """Return a tensor; ``None`` for a value, also for one that an extension describes in a way of its own."""
    if not (isinstance(entry, Call) and entry.name.endswith(".TensorStorageMetadata")):
        return None
    state = _state(entry, "TensorStorageMetadata")
    properties = state.get("properties")
    fields = properties.state if isinstance(properties, Call) else None
    dtype = fields[0] if isinstance(fields, tuple) and len(fields) > 2 else None
    boxes = state.get("chunks")
    if fields is None or not isinstance(dtype, Global) or not isinstance(boxes, list):
        raise Unreadable(
            f"a damaged .metadata: the properties of {shown(_text(key))} are not those of a tensor"
        )
    chunks = [_state(chunk, "ChunkStorageMetadata") for chunk in boxes]
    return Described(
        dtype.name,
        _sizes(state.get("size")),
        fields[2] is True,
        tuple(Chunk(_sizes(chunk.get("offsets")), _sizes(chunk.get("sizes"))) for chunk in chunks),
    )


def _stored(index: Any, info: Any) -> tuple[tuple[str, Place | None], StorageInfo]:
    where, what = _state(index, "MetadataIndex"), _state(info, "_StorageInfo")
    offset = where.get("offset")
    return (_text(where.get("fqn")), None if offset is None else _sizes(offset)), StorageInfo(
        _text(what.get("relative_path")), _whole(what.get("offset")), _whole(what.get("length")),
        bool(what.get("transform_descriptors")),
    )  # fmt: skip
