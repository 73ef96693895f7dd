"""Write safetensors: a header in JSON, and the tensors' bytes copied from where they are."""

import json
import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.checkpoint.description.modules import is_nn_module
from gpudoctor.checkpoint.description.state_dicts import mapping
from gpudoctor.checkpoint.formats.contiguous import is_contiguous
from gpudoctor.checkpoint.formats.safetensors import DTYPES, METADATA_NAME, read_header
from gpudoctor.checkpoint.repair.edit import MODULE, Changes, state_dicts, tensors_alone
from gpudoctor.checkpoint.repair.whole_file import Target
from gpudoctor.checkpoint.tree import STRIDED, WIDTHS, Call, Checkpoint, Tensor, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import listed, shown

NAMES = {dtype: name for name, (dtype, bits) in DTYPES.items() if bits % 8 == 0}
"""The format's name of each type that takes whole bytes."""
ORDER = {name: number for number, name in enumerate(DTYPES)}
"""The format's own writer puts wide types first, so that each lies at a multiple of its size."""


class Piece(Struct, frozen=True):
    """One tensor of a copy."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    at: int
    """First byte in the original file."""
    size: int
    """Bytes."""


class SafetensorsSource:
    """A safetensors file that copies are made of; raises `Unreadable` where its header is broken."""

    def __init__(self, checkpoint: Checkpoint, descriptor: int) -> None:
        self.checkpoint, self.descriptor = checkpoint, descriptor
        with open(os.dup(descriptor), "rb") as file:
            self.header = read_header(file, checkpoint.size)
        self.names = {id(tensor): name for name, tensor in checkpoint.root.items()}

    def copy(self, changes: Changes, form: Format) -> "PiecesCopy":  # noqa: ARG002 - there is one form
        """Return the copy that has the checkpoint's tree as it is now, in the order of the original."""
        if changes.device is not None:
            raise Unreadable("safetensors says nothing of devices: there is no device to change")
        tensors = tensors_alone(self.checkpoint.root)
        if tensors is None:
            raise Unreadable("no tensors would be left; safetensors has no entries to select")
        pieces = []
        for name, tensor in tensors.items():
            entry = self.header.tensors[self.names[id(tensor)]]
            begin, end = entry.data_offsets
            pieces.append(Piece(name, entry.dtype, entry.shape, self.header.start + begin, end - begin))
        order = sorted(pieces, key=lambda piece: (piece.at, piece.size))
        return PiecesCopy(self.descriptor, pieces, order, self.header.metadata)


class PiecesCopy:
    """A safetensors file: the header in one order of its tensors, their bytes in another."""

    moved = 0

    def __init__(
        self, descriptor: int, pieces: Sequence[Piece], order: Sequence[Piece], metadata: dict[str, str]
    ) -> None:
        self.descriptor, self.order = descriptor, order
        begins: dict[str, int] = {}
        end = 0
        for piece in order:
            begins[piece.name] = end
            end += piece.size
        header: dict[str, Any] = {METADATA_NAME: metadata} if metadata else {}
        for piece in pieces:
            begin = begins[piece.name]
            if piece.name == METADATA_NAME:
                raise Unreadable(f"a tensor cannot be called {METADATA_NAME} in safetensors")
            header[piece.name] = {
                "dtype": piece.dtype, "shape": piece.shape, "data_offsets": [begin, begin + piece.size],
            }  # fmt: skip
        try:
            text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unreadable("a name that is no Unicode text, which safetensors does not hold") from None
        text += b" " * (-len(text) % 8)
        self.header = len(text).to_bytes(8, "little") + text
        self.size = len(self.header) + end

    def write(self, target: Target) -> None:
        """Write it; raises `Unreadable` where the original's bytes are not there."""
        target.write(self.header)
        at = end = 0
        for piece in self.order:  # neighbours are copied in one go
            if piece.size and piece.at != end:
                target.copy(self.descriptor, at, end - at)
                at = piece.at
            end = piece.at + piece.size if piece.size else end
        target.copy(self.descriptor, at, end - at)


class TensorsCopy(PiecesCopy):
    """A state dict of torch as safetensors; `places` says where each storage's bytes begin in the file.

    Raises `Unreadable` for what the format does not hold, or not without decoding.
    """

    def __init__(self, root: Any, descriptor: int, places: dict[str, int]) -> None:
        tensors = tensors_alone(root)
        if tensors is None:
            raise Unreadable(_more_than_tensors(root))
        pieces = [_piece(name, tensor, places) for name, tensor in tensors.items()]
        _refuse_shared(pieces)
        order = sorted(
            pieces, key=lambda piece: (-ORDER[piece.dtype], piece.name.encode("utf-8", "surrogatepass"))
        )
        super().__init__(descriptor, order, order, {"format": "pt"})


def _piece(name: str, tensor: Tensor, places: dict[str, int]) -> Piece:
    storage = tensor.storage
    if tensor.layout != STRIDED or storage is None or storage.key not in places:
        kind = tensor.layout if tensor.layout != STRIDED else "without data"
        raise Unreadable(f"{shown(name)} is {kind}, which safetensors does not hold: --drop it")
    if tensor.dtype not in NAMES:
        raise Unreadable(
            f"{shown(name)} is of type {tensor.dtype}, which safetensors does not hold: --drop it"
        )
    if _lazy(tensor.call):
        raise Unreadable(f"{shown(name)} is conjugated or negated lazily: its bytes are not its values")
    width = WIDTHS[tensor.dtype]
    if not is_contiguous(tensor):
        raise Unreadable(
            f"{shown(name)} is not contiguous, and its values would have to be decoded: "
            "load the file and save tensor.contiguous()"
        )
    size = tensor.elements * width
    if size and tensor.offset * width + size > storage.size:
        raise Unreadable(f"{shown(name)} is larger than its storage")
    at = places[storage.key] + tensor.offset * width if size else 0
    return Piece(name, NAMES[tensor.dtype], tensor.shape, at, size)


def _lazy(call: Call | None) -> bool:
    """Return whether a tensor says that its values are not its bytes: its last argument is then a dict of bits."""
    while call is not None:
        arguments = call.arguments if isinstance(call.arguments, tuple) else ()
        if len(arguments) > 6 and isinstance(arguments[6], dict) and any(arguments[6].values()):
            return True
        call = arguments[0].call if arguments and isinstance(arguments[0], Tensor) else None
    return False


def _refuse_shared(pieces: Sequence[Piece]) -> None:
    """Raise `Unreadable` where two tensors have bytes in common, which the format does not allow."""
    last: Piece | None = None
    for piece in sorted((p for p in pieces if p.size), key=lambda p: (p.at, p.size)):
        if last is not None and piece.at < last.at + last.size:
            raise Unreadable(
                f"{shown(last.name)} and {shown(piece.name)} share their bytes, which safetensors does not allow: "
                f"--drop one and tie it again after loading"
            )
        last = piece


def _more_than_tensors(root: Any) -> str:
    """Say what keeps a file from becoming safetensors, and what to do about it."""
    if is_nn_module(root):
        return MODULE
    held = mapping(root)
    others = [str(key) for key, value in (held or {}).items() if not isinstance(value, Tensor)]
    inside = [path for path, _, _ in state_dicts(root) if path]
    if inside:
        return f"safetensors holds tensors alone: take one out of the whole with --select {shown(inside[0])}"
    if others:
        return f"safetensors holds tensors alone: --drop {listed(others)}"
    return "safetensors holds names and tensors alone, and this is no state dict"
