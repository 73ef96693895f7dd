"""Find the plug-ins that NCCL would load, without loading them."""

import os
import re
from pathlib import Path

from gpudoctor.facts import Plugins

NAME = re.compile(rb"/(libnccl-(?:net|tuner|profiler)[\w.-]*\.so[\d.]*)\0")
PATTERN = "libnccl-*.so*"


def probe(root: Path = Path("/")) -> Plugins:
    """Look through LD_LIBRARY_PATH and the loader's cache."""
    found = []
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            try:
                found += sorted(path.name for path in Path(folder).glob(PATTERN))
            except OSError:
                continue
    try:
        cache = (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        cache = b""
    found += sorted(name.decode() for name in NAME.findall(cache))
    return Plugins(found=list(dict.fromkeys(found)))
