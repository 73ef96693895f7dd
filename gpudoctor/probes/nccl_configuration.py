"""Read NCCL's configuration files as NCCL reads them."""

import errno
import os
import pwd
import re
from pathlib import Path

from gpudoctor.facts import ConfigurationFile, Launch, NamedFile, NcclConfiguration, Setting, settings
from gpudoctor.facts.launch import SECRET

# A value of anything else is none of ours. Words before the name, such as `export`, are part of it for NCCL.
SETTABLE = re.compile(r"[\w \t]*\b(?:NCCL|TORCH[A-Z]*|PYTORCH|GLOO|CUDA|UCX|OFI|OMP)_\w+\s*", re.ASCII)
LONGEST = 1023
"""Characters of a name or a value that NCCL keeps."""
READ = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
"""Variables that name a file which NCCL opens to read (``src/graph/xml.cc``)."""
PLUGINS = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN")
WRITTEN = (
    "NCCL_DEBUG_FILE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
    "TORCHELASTIC_ERROR_FILE",
)
"""Variables that name a file which NCCL makes (``src/debug.cc``), or torch, mostly with the rank behind the name."""


def probe(root: Path = Path("/")) -> NcclConfiguration:
    """Read NCCL_CONF_FILE or, where that is not set, ``.nccl.conf`` of the user's home; then ``/etc/nccl.conf``."""
    own = os.environ.get("NCCL_CONF_FILE") or _home_file()
    paths = [path for path in (own, "/etc/nccl.conf") if path]
    files = [read(root / path.lstrip("/") if os.path.isabs(path) else Path(path), path) for path in paths]
    found = [file for file in files if file is not None]
    set_here = settings(Launch.of(os.environ), NcclConfiguration(files=found))
    named = [set_here[name] for name in (*READ, *WRITTEN) if name in set_here]
    # A plug-in by its path is opened as it is named; without one the loader looks for it (src/plugin/plugin_open.cc).
    named += [set_here[name] for name in PLUGINS if "/" in set_here.get(name, Setting(name, "")).value]
    return NcclConfiguration(files=found, named=[_look(setting) for setting in named])


def _look(setting: Setting) -> NamedFile:
    """Ask whether the file can be opened as the variable means it, without making it."""
    written = setting.name in WRITTEN
    error = _unwritable(setting.value) if written else _unreadable(setting.value)
    return NamedFile(variable=setting.name, path=setting.value, error=error)


def _unreadable(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    return None


def _unwritable(path: str) -> str | None:
    """Return why a file cannot be made there: NCCL puts host and process in the place of ``%h`` and ``%p`` first."""
    if os.path.isdir(path):
        return os.strerror(errno.EISDIR)
    if os.path.exists(path):
        return None if os.access(path, os.W_OK) else os.strerror(errno.EACCES)
    folder = os.path.dirname(path) or "."
    if "%" in folder:
        return None
    try:
        os.stat(folder)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def _home_file() -> str | None:
    """Return the file of the user's home as the user database has it: NCCL does not ask HOME."""
    try:
        return f"{pwd.getpwuid(os.getuid()).pw_dir}/.nccl.conf"
    except KeyError:  # a user without an entry, as in many containers
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
