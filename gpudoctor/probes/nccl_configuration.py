"""Read NCCL's configuration files as NCCL reads them."""

import os
import re
from pathlib import Path

from gpudoctor.facts import ConfigurationFile, NcclConfiguration
from gpudoctor.facts.launch import SECRET

# A value of anything else is none of ours. Words before the name, such as `export`, are part of it for NCCL.
SETTABLE = re.compile(r"[\w \t]*\b(?:NCCL|TORCH[A-Z]*|PYTORCH|GLOO|CUDA|UCX|OFI|OMP)_\w+\s*", re.ASCII)
LONGEST = 1023
"""Characters of a name or a value that NCCL keeps."""


def probe(root: Path = Path("/")) -> NcclConfiguration:
    """Read NCCL_CONF_FILE or, where that is not set, ``.nccl.conf`` of the user's home; then ``/etc/nccl.conf``."""
    own = os.environ.get("NCCL_CONF_FILE") or _home_file()
    paths = [path for path in (own, "/etc/nccl.conf") if path]
    files = [read(root / path.lstrip("/") if os.path.isabs(path) else Path(path), path) for path in paths]
    return NcclConfiguration(files=[file for file in files if file is not None])


def _home_file() -> str | None:
    """Return the file of the user's home as the user database has it: NCCL does not ask HOME."""
    try:
        import pwd

        return f"{pwd.getpwuid(os.getuid()).pw_dir}/.nccl.conf"
    except (ImportError, KeyError):  # Windows; a user without an entry, as in many containers
        return None


def read(file: Path, path: str) -> ConfigurationFile | None:
    """Read one file, to be called `path`; ``None`` where there is none."""
    try:
        with file.open("rb") as stream:
            lines = stream.read(1 << 20).decode(errors="replace").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return ConfigurationFile(path=path, error=error.strerror or str(error))
    settings: dict[str, str] = {}
    without = []
    for number, line in enumerate(lines, 1):
        name, equals, value = line.partition("=")
        if line.startswith("#"):
            continue
        if not equals and line.strip():
            without.append(number)
        elif SETTABLE.fullmatch(name) and not SECRET.search(name.strip()):
            settings.setdefault(name[:LONGEST], value[:LONGEST])
    return ConfigurationFile(path=path, settings=settings, without_equals=without)
