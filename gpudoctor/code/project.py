"""What is spelled anywhere in the files of a folder that was given: what nobody there names, nobody there calls."""

from collections.abc import Iterator
from pathlib import Path

from gpudoctor.code.definitions import Files
from gpudoctor.code.files import SUFFIXES

WORDS = {
    "set_epoch": (b".set_epoch", b"'set_epoch'", b'"set_epoch"'),  # not where a class defines one
    "backward": (b".backward(",),
    "epochs": (b"for epoch in", b"for _ in range(epoch", b"for e in range(epoch", b"for ep in range(", b"while epoch"),
    "framework": (
        b"TrainingArguments",
        *(
            b"%s %s" % (word, name)
            for word in (b"import", b"from")
            for name in b"lightning pytorch_lightning accelerate fastai catalyst ignite mmengine mmcv composer ray "
            b"deepspeed colossalai determined".split()
        ),
    ),
}  # fmt: skip
"""What is looked for: loops over epochs with a backward pass in them, and libraries that would do it all."""
MOST_BYTES = 64 * 2**20
"""Of a folder with more than that nothing is said."""


def spelled(files: Files, path: Path) -> frozenset[str] | None:
    """Return which of `WORDS` stand in the folder that was given and holds a file, ``None`` where none was.

    A library that trains counts for nothing where the file has a loop of its own, and nothing of one.
    """
    root = next((root for root in files.roots if path.is_relative_to(root)), None)
    if root is None:
        return None
    if root not in files.spelled:
        files.spelled[root] = _found(files, (given for given in files.names if given.is_relative_to(root)))
    found = files.spelled[root]
    if found is None or "framework" not in found:
        return found
    own = _found(files, iter([path])) or frozenset()
    return found - {"framework"} if own >= {"backward", "epochs"} and "framework" not in own else found


def _found(files: Files, paths: Iterator[Path]) -> frozenset[str] | None:
    found: set[str] = set()
    size = 0
    for path in paths:
        data = _text(files, path)
        if data is None:
            return None
        size += len(data)
        if size > MOST_BYTES:
            return None
        found |= {
            name for name, words in WORDS.items() if name not in found and any(w in data for w in words)
        }
        if len(found) == len(WORDS):
            break
    return frozenset(found)


def _text(files: Files, path: Path) -> bytes | None:
    """Return what stands in a file: as it is looked at, which may be mended and not written yet."""
    known = files.known(path)
    if known is not None:
        return known.source.text.encode(errors="replace")
    try:
        return path.read_bytes() if path.suffix in SUFFIXES else b""
    except OSError:
        return None


__all__ = ["spelled"]
