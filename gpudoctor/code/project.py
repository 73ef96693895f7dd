"""What is spelled anywhere in the files of a folder that was given: what nobody there names, nobody there calls."""

from collections.abc import Iterator
from pathlib import Path

from gpudoctor.code.definitions import Files
from gpudoctor.code.files import SUFFIXES

WORDS = {
    "set_epoch": (b"set_epoch",),
    "backward": (b".backward(",),
    "epochs": (b"for epoch in", b"for _ in range(epoch", b"for e in range(epoch", b"for ep in range(", b"while epoch"),
    "framework": (
        b"lightning", b"from accelerate", b"import accelerate", b"Trainer as ", b"TrainingArguments", b"fastai",
        b"catalyst", b"ignite", b"mmengine", b"mmcv", b"import composer", b"from composer", b"import ray", b"from ray",
        b"deepspeed", b"colossalai", b"determined",
    ),
}  # fmt: skip
"""What is looked for: loops over epochs with a backward pass in them, and libraries that would do it all."""
MOST_BYTES = 64 * 2**20
"""Of a folder with more than that nothing is said."""


def spelled(files: Files, path: Path) -> frozenset[str] | None:
    """Return which of `WORDS` stand in the folder that was given and holds a file, ``None`` where none was."""
    root = next((root for root in files.roots if path.is_relative_to(root)), None)
    if root is None:
        return None
    if root not in files.spelled:
        files.spelled[root] = _found(files, (given for given in files.names if given.is_relative_to(root)))
    return files.spelled[root]


def _found(files: Files, paths: Iterator[Path]) -> frozenset[str] | None:
    found: set[str] = set()
    size = 0
    for path in paths:
        known = files.known(path)
        try:
            if known is not None:  # as it is looked at: mended, perhaps, and not written yet
                data = known.source.text.encode(errors="replace")
            else:
                data = path.read_bytes() if path.suffix in SUFFIXES else b""
        except OSError:
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


__all__ = ["spelled"]
