"""Find the plug-ins that NCCL would load, without loading them."""

import os
import re
from pathlib import Path

from gpudoctor.facts import Plugins

NAME = re.compile(rb"/(libnccl-(?:net|tuner|profiler)[\w.-]*\.so[\d.]*)\0")
PATTERN = "libnccl-*.so*"


def probe(root: Path = Path("/")) -> Plugins:
    """Look through LD_LIBRARY_PATH and the loader's cache."""
    found, damaged = [], []
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            try:
                paths = sorted(Path(folder).glob(PATTERN))
            except OSError:
                continue
            found += [path.name for path in paths]
            damaged += [str(path) for path in paths if _damaged(path)]
    try:
        cache = (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        cache = b""
    found += sorted(name.decode() for name in NAME.findall(cache))
    return Plugins(found=list(dict.fromkeys(found)), damaged=damaged)


def _damaged(path: Path) -> bool:
    """Return whether the file can be read and is no library: empty, cut off, a pointer of Git LFS."""
    try:
        with path.open("rb") as file:
            return file.read(4) != b"\x7fELF"
    except OSError:
        return False
