"""Print which variables the patient's torch and NCCL read.

Arguments: ``--no-cache``, and for tests ``--root DIR`` in the place of ``/``.
"""

import os
import sys

# A file named json.py or re.py in the working folder must not break this script.
search_path = list(sys.path)
try:
    here = os.getcwd()
except OSError:  # it was deleted
    here = ""
sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]
import contextlib
import difflib
import glob
import importlib.util
import json
import re
import struct
import time

sys.path[:] = search_path

ROOT = sys.argv[sys.argv.index("--root") + 1] if "--root" in sys.argv else "/"
CACHE = "--no-cache" not in sys.argv
BEGUN = time.monotonic()
SEARCH_SECONDS = 1.5
FORMAT = 1  # of the cache: a change of what is read out of a library makes old entries useless

# What getenv gets is a string of its own: it ends with a NUL, and begins after one. The linker lets a string that ends
# like another one share its bytes, so a name may begin in the middle of TORCH_ + NAME, too: ALIASES.
NAME = re.compile(rb"(?<![A-Za-z0-9_])(?:NCCL|TORCH[A-Z]*|GLOO|PYTORCH)_[A-Z0-9_]{2,60}(?=\0)")
# torch's old names of its own variables (ProcessGroupNCCL.hpp), tails of the new ones.
ALIASES = (
    "NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_DESYNC_DEBUG NCCL_ENABLE_TIMING "
    "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
).split()
OPTION = re.compile(
    rb"(?<![a-z0-9_])(?:[a-z0-9_]+_(?:mb|divisions|threshold|fraction|segments|class|reuse|oom|register|threads|"
    rb"cudamalloc|hipmalloc|capture|all|reserve)|backend)(?=\0)"
)
VERSION = re.compile(rb"NCCL version (\d+\.\d+\.\d+[\w.+-]*)")
# Of TORCH_* and PYTORCH_* names anybody has some; one that is nearly a known name is worth a search.
ASKED = re.compile(
    r"(?:NCCL|TORCH_NCCL|TORCH_FR|TORCH_DIST[A-Z]*|TORCH_GLOO|TORCHELASTIC|GLOO)_\w+", re.ASCII
)
NEARLY = re.compile(r"(?:TORCH|PYTORCH)_\w+", re.ASCII)
# Packages beside torch that read such variables themselves.
PACKAGES = (
    "torch/distributed torch accelerate colossalai composer deepspeed fairscale horovod lightning lightning_fabric "
    "megatron nemo pytorch_lightning ray sglang torchtitan transformer_engine transformers verl vllm"
).split()


def tell(message):
    # Names of files may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def find(name):
    """Return the folder of a package without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # a broken finder or package
        return None
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    return folders[0] if folders else None


def read_only_data(file):
    """Return where an ELF file's sections .rodata* begin and end; the whole file where it has none."""

    def read(at, size):
        file.seek(at)
        return file.read(size)

    found = []
    try:
        head = read(0, 64)
        if head[:6] == b"\x7fELF\x02\x01":  # 64 bit, little-endian
            (start,) = struct.unpack_from("<Q", head, 0x28)
            size, count, names = struct.unpack_from("<HHH", head, 0x3A)
            table = read(start, size * count)
            headers = [struct.unpack_from("<IIQQQQ", table, n * size) for n in range(count)]
            words = read(headers[names][4], headers[names][5])
            for name, _, _, _, offset, length in headers:
                if words[name : name + 7] == b".rodata":
                    found.append((offset, offset + length))
    except (struct.error, IndexError, OverflowError, ValueError, OSError, MemoryError):  # no whole ELF file
        found = []
    return found or [(0, os.fstat(file.fileno()).st_size)]


def chunks(file):
    """Yield a file's read-only data in pieces of bounded size, which overlap by the length of a name."""
    for start, end in read_only_data(file):
        for at in range(start, end, 1 << 24):
            begins = max(at - 128, start)
            file.seek(begins)
            yield file.read(min(at + (1 << 24), end) - begins)


def read_library(path):
    names, options, version = set(), set(), None
    with open(path, "rb") as file:
        for chunk in chunks(file):
            names.update(match.decode() for match in NAME.findall(chunk))
            names.update(alias for alias in ALIASES if alias.encode() + b"\0" in chunk)
            if os.path.basename(path).startswith("libc10"):
                options.update(match.decode() for match in OPTION.findall(chunk))
            told = VERSION.search(chunk)
            version = told.group(1).decode() if told and version is None else version
    if "NCCL_TOPO_FILE" not in names:  # libtorch_cuda names the version that it was compiled against
        version = None
    return {"path": path, "version": version, "names": sorted(names), "options": sorted(options)}


def identity(path):
    told = os.stat(path)
    return [told.st_size, told.st_mtime_ns, told.st_ino, FORMAT]


def cache_file():
    """Return the one file that is written without -o; it may be deleted at any time."""
    own = os.environ.get("HOME")
    home = os.environ.get("XDG_CACHE_HOME") or (os.path.join(own, ".cache") if own else None)
    return os.path.join(home, "gpudoctor", "variable-names.json") if home and CACHE else None


def remembered():
    try:
        with open(cache_file(), encoding="utf-8") as file:
            known = json.load(file)
        return known if isinstance(known, dict) else {}
    except (OSError, ValueError, TypeError, RecursionError):  # none, another's, or no place for one
        return {}


def remember(entries):
    """Write the cache in one step, so that of two that write at once one is whole; a disk that refuses is fine."""
    path = cache_file()
    if path is None:
        return
    beside = path + os.urandom(6).hex()  # ranks of several machines may share the folder
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(beside, path)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            os.remove(beside)


def is_entry(entry):
    """Return whether a part of the cache is what is written there: anybody may have edited it."""
    try:
        library = entry["library"]
        words = [library["path"], library["version"] or "", *library["names"], *library["options"]]
    except (TypeError, KeyError, IndexError):
        return False
    return "identity" in entry and all(isinstance(word, str) for word in words)


def read_libraries(paths):
    known = remembered()
    found, entries = [], {}
    for path in paths:
        try:
            own = identity(path)
            entry = known.get(path)
            if not is_entry(entry) or entry["identity"] != own:
                entry = {"identity": own, "library": read_library(path)}
        except (OSError, ValueError):  # it went away, or may not be read
            continue
        entries[path] = entry
        found.append(entry["library"])
    if any(known.get(path) != entry for path, entry in entries.items()):
        others = {path: entry for path, entry in known.items() if os.path.exists(path)}
        remember(dict(list({**others, **entries}.items())[-64:]))
    return found


def library_paths(torch):
    """Return torch's own libraries, and those that its libnccl.so.2 may be.

    torch's wheels look in their own folders first (DT_RPATH); builds of conda, Debian and NGC take what the loader
    finds. A name that any of them holds may be read.
    """
    packages = os.path.dirname(torch)
    patterns = [os.path.join(torch, "lib", name) for name in ("libtorch_*.so", "libc10*.so", "libnccl.so*")]
    patterns += [os.path.join(packages, "nvidia", "*", "lib", "libnccl.so*")]
    paths = []
    for pattern in patterns:
        paths += sorted(glob.glob(pattern))
    loaders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    paths += [os.path.join(folder, "libnccl.so.2") for folder in loaders]
    paths += [path for path in re.split("[: ]", os.environ.get("LD_PRELOAD", "")) if "libnccl" in path]
    wanted = tuple(
        "libtorch_cpu libtorch_cuda. libtorch_python libtorch_hip libc10. libc10_cuda libnccl".split()
    )
    found = [path for path in paths if os.path.isfile(path) and os.path.basename(path).startswith(wanted)]
    if not any("libnccl" in path for path in found):
        machine = os.uname().machine if hasattr(os, "uname") else ""
        system = ["usr/lib/%s-linux-gnu" % machine, "usr/lib64", "usr/lib", "usr/local/lib"]
        folders = [os.path.join(sys.prefix, "lib")] + [os.path.join(ROOT, folder) for folder in system]
        found += [p for p in (os.path.join(f, "libnccl.so.2") for f in folders) if os.path.isfile(p)][:1]
    return list(dict.fromkeys(os.path.realpath(path) for path in found))


def plug_ins():
    """Return the plug-ins of NCCL that it would look for: by name on the loader's path, or by their own path."""
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    for depth in (["*", "lib*"], ["*", "*", "lib*"]):
        folders += glob.glob(os.path.join(ROOT, "opt", *depth))
    folders += [os.path.join(ROOT, "usr", "local", "lib"), os.path.join(ROOT, "usr", "local", "gib", "lib64")]
    found = []
    for folder in folders:
        for kind in ("net", "tuner", "profiler", "env", "gin"):
            found += glob.glob(os.path.join(glob.escape(folder), "libnccl-%s*.so*" % kind))
    for kind in ("NET", "TUNER", "PROFILER", "ENV", "GIN"):
        path = os.environ.get("NCCL_%s_PLUGIN" % kind, "")
        found += [path] if os.path.isfile(path) else []
    return list(dict.fromkeys(os.path.realpath(path) for path in found))


def python_files(folder):
    for where, below, names in os.walk(folder):
        below[:] = sorted(set(below) - {"test", "tests", "testing", "include", "lib"})
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(where, name)


def search(names):
    """Return who holds names that no library does, and whether there was time to look at everything."""
    found = {}
    # A quoted name that is neither set there (environ[NAME] =, setdefault(NAME) nor the key of a table of settings.
    quoted = rb"(?<!setdefault\()(?<!putenv\()[\"']%s[\"'](?!\s*(?:\]\s*=[^=]|:))"
    wanted = {name: re.compile(quoted % name.encode()) for name in names}
    bare = {name: re.compile(rb"(?<![A-Za-z0-9_])%s\0" % name.encode()) for name in names}

    def look(path, reader, patterns):
        try:
            with open(path, "rb") as file:
                content = file.read(1 << 26)
        except OSError:
            return
        for name, pattern in patterns.items():
            if name not in found and name.encode() in content and pattern.search(content):
                found[name] = reader

    for path in plug_ins():
        look(path, path, bare)
    for path in sorted(glob.glob("*.py"))[:200] + sorted(glob.glob("*/*.py"))[:200]:
        look(path, "a script in the working folder", wanted)
    for package in PACKAGES:
        name, _, below = package.partition("/")
        folder = find(name)
        for path in python_files(os.path.join(folder, below)) if folder else ():
            if len(found) == len(wanted):
                return found, True
            if time.monotonic() - BEGUN > SEARCH_SECONDS:
                return found, False
            look(path, name, wanted)
    return found, True


def main():
    torch = find("torch")
    tell({"doing": "reading the libraries' names"})
    libraries = read_libraries(library_paths(torch)) if torch else []
    options = sorted({option for library in libraries for option in library["options"]})
    facts = {
        "libraries": [
            {"path": library["path"], "version": library["version"], "names": library["names"]}
            for library in libraries
            if library["names"]
        ],
        "allocator_options": options if "max_split_size_mb" in options else [],
    }
    known = {name for library in libraries for name in library["names"]}
    open_names = sorted(
        name
        for name in set(os.environ) - known
        if ASKED.fullmatch(name)
        or (NEARLY.fullmatch(name) and difflib.get_close_matches(name, known, n=1, cutoff=0.88))
    )
    if open_names and libraries:
        facts["searched"] = False
        tell({"topic": "variables", "facts": facts})
        tell({"doing": "looking for who reads %s" % ", ".join(open_names)[:200]})
        facts["readers"], facts["searched"] = search(open_names)
    tell({"topic": "variables", "facts": facts})
    tell({"doing": "done"})


main()
