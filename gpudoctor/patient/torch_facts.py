"""Print what the patient's torch and torchvision are, step by step, each step named before it is tried."""

import os
import sys

# A file named json.py or random.py in the working folder must not break this script; it may well break torch, and
# then that is what the report must say: the patient's own path is back before torch is imported.
search_path = list(sys.path)
loaded = set(sys.modules)
try:
    here = os.getcwd()
except OSError:  # it was deleted
    here = ""
own = {"", here} | set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
sys.path[:] = [e for e in sys.path if e not in own or os.path.exists(os.path.join(e, "os.py"))]
import importlib.machinery
import importlib.util
import json
import time
import traceback
import warnings

started = time.monotonic()
sys.path[:] = search_path


def files_beside():
    """Return the modules of the user's own folders, in the order of the path: (name, file)."""
    found = []
    for folder in (e for e in search_path if e in own and not os.path.exists(os.path.join(e, "os.py"))):
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for name in names:
            path = os.path.join(os.path.abspath(folder), name)
            stem, suffix = os.path.splitext(name)
            if suffix == ".py":
                found.append((stem, path))
            elif os.path.exists(os.path.join(path, "__init__.py")):
                found.append((name, os.path.join(path, "__init__.py")))
    return found


beside = dict(reversed(files_beside()))
# What was imported past such a file must not hide it from torch.
for name in set(sys.modules) - loaded - {"warnings"}:
    if name.partition(".")[0] in beside:
        del sys.modules[name]
# Modules of Python and of what torch imports, whose names a file beside may have; those that Python has before it
# looks into any folder cannot be hidden.
STANDARD = getattr(sys, "stdlib_module_names", None) or {
    os.path.splitext(name)[0] for name in os.listdir(os.path.dirname(os.__file__))
}
NEEDED = {
    "torch",
    "numpy",
    "typing_extensions",
    "sympy",
    "mpmath",
    "networkx",
    "jinja2",
    "fsspec",
    "filelock",
    "packaging",
    # torch does without these, and training does not.
    "torchvision",
    "torchaudio",
}
hiding = {
    name: path
    for name, path in beside.items()
    if name in NEEDED or (name in STANDARD and name not in loaded and name not in sys.builtin_module_names)
}
LIBRARIES = (
    "libcudart",
    "libcublas",
    "libcudnn",
    "libnccl",
    "libcusparse",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libnvrtc",
    "libnvJitLink",
    "libcupti",
    "libnvToolsExt",
    "libnvshmem",
    "libcufile",
    "libgomp",
    "libiomp5",
    "libomp",
)

facts = {}
vision = {}


def tell(message):
    # Names of files may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def stage(name, seconds=None):
    """Say what is tried next, after everything that is known so far, and how long it may take at most."""
    facts["stage"] = name
    tell({"topic": "torch", "facts": facts})
    tell({"doing": name, "seconds": seconds})


def driver_stage(name):
    """Say which call into the driver comes next. A driver that hangs costs 11 s in all, and 4 after a slow import."""
    stage(name, max(4.0, 11.0 - (time.monotonic() - started)))


def raised(error):
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {"type": type(error).__name__, "message": str(error), "traceback": "".join(lines)[-6000:]}


def ask(function, *arguments):
    """Return what a torch call gives, or None where this build has no such call or it refuses."""
    try:
        return function(*arguments)
    except Exception:
        return None


def version_text(number, *factors):
    """Turn 90100 or (2, 27, 5) into text."""
    if number is None or isinstance(number, str):
        return number
    if isinstance(number, tuple):
        return ".".join(str(part) for part in number)
    major, minor = factors
    return "{}.{}.{}".format(number // major, number % major // minor, number % minor)


def find(name):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # a broken finder or parent; the import itself will tell more
        return None
    if spec is None:
        return None
    # A folder named torch without __init__.py is a namespace package, which is no torch; say where it lies.
    return spec.origin or next(iter(spec.submodule_search_locations or []), None)


def shadows(done):
    """Return the files beside that have the name of a module which torch may need, and whether it was imported."""
    found = []
    for name, path in sorted(hiding.items()):
        file = getattr(sys.modules.get(name), "__file__", None)
        taken = (file is not None and os.path.abspath(file) == path) if done else None
        found.append({"module": name, "path": path, "loaded": taken})
    return found


def mapped():
    """Return the files of CUDA's libraries and of OpenMP that are mapped here; None where the kernel does not say."""
    found = {}
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                path = line.rstrip("\n").partition("/")[2]
                if path.rpartition("/")[2].startswith(LIBRARIES) and ".so" in path:
                    found["/" + path] = None
    except OSError:
        return None
    return list(found)


def linkable(taken):
    """Return the libraries of CUDA in LD_LIBRARY_PATH's folders that were not mapped, and the files they lead to."""
    found = {}
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            real = os.path.realpath(path)
            if name.startswith(LIBRARIES) and ".so." in name and real not in taken and len(found) < 100:
                found[path] = real
    return found


def import_torch():
    begun = time.monotonic()
    facts["shadows"] = shadows(False)
    stage("import torch")
    try:
        import torch
    except BaseException as error:  # SystemExit and the like are an answer too
        facts.update(imported=False, error=raised(error), shadows=shadows(True))
        return None
    facts.update(imported=True, seconds=round(time.monotonic() - begun, 3), shadows=shadows(True))
    facts["libraries"] = mapped()
    facts["linkable"] = linkable(facts["libraries"] or [])
    return torch


def describe_build(torch):
    facts["version"] = getattr(torch, "__version__", None) and str(torch.__version__)
    version = getattr(torch, "version", None)
    for name in ("cuda", "hip", "git_version"):
        facts[name] = getattr(version, name, None)
    facts["debug_build"] = getattr(version, "debug", None)
    facts["threads"] = ask(lambda: torch.get_num_threads())
    facts["arch_list"] = (ask(lambda: torch._C._cuda_getArchFlags()) or "").split()
    distributed = getattr(torch, "distributed", None)
    facts["distributed_available"] = bool(ask(lambda: distributed.is_available()))
    for backend in ("nccl", "gloo", "mpi"):
        facts[backend + "_available"] = bool(ask(lambda: getattr(distributed, "is_%s_available" % backend)()))
    if "is_gloo_available" not in dir(distributed):  # before torch 1.12 there was no such question
        facts["gloo_available"] = facts["distributed_available"]
    if facts["cuda"]:
        facts["nccl"] = version_text(ask(lambda: torch.cuda.nccl.version()), 1000, 100)


def describe_devices(torch):
    driver_stage("torch.cuda.is_available()")
    facts["cuda_available"] = bool(ask(lambda: torch.cuda.is_available()))
    if facts["cuda"] and not facts["cuda_available"]:
        driver_stage("torch.cuda.init()")
        try:
            torch.cuda.init()
        except Exception as error:
            facts["cuda_error"] = raised(error)
    driver_stage("torch.cuda.device_count()")
    facts["device_count"] = ask(lambda: torch.cuda.device_count())
    if not facts["cuda_available"]:
        return
    driver_stage("torch.backends.cudnn.version()")
    number = ask(lambda: torch.backends.cudnn.version())
    if number is not None:
        # cuDNN 9 counts major * 10000 + minor * 100 + patch, before it major * 1000 + minor * 100 + patch
        facts["cudnn"] = version_text(number, *((10000, 100) if number >= 90000 else (1000, 100)))
    facts["devices"] = []
    for ordinal in range(facts["device_count"] or 0):
        driver_stage("torch.cuda.get_device_properties(%d)" % ordinal)
        properties = ask(lambda: torch.cuda.get_device_properties(ordinal))
        if properties is not None:
            facts["devices"].append(
                {
                    "ordinal": ordinal,
                    "name": properties.name,
                    "capability": "%d.%d" % (properties.major, properties.minor),
                    "memory_bytes": properties.total_memory,
                    "multiprocessors": properties.multi_processor_count,
                }
            )


def extension_library(package):
    """Return torchvision's compiled operators: _C.so up to 0.24 or so, _C_stable.so since."""
    for stem in ("_C", "_C_stable"):
        for suffix in importlib.machinery.EXTENSION_SUFFIXES + [".so", ".pyd", ".dll"]:
            path = os.path.join(package, stem + suffix)
            if os.path.isfile(path):
                return path
    return None


def describe_torchvision(torch):
    """Load the operators as torchvision's own extension.py does, without its 1.7 s of other imports."""
    origin = find("torchvision")
    if not origin or not os.path.isfile(origin):
        return
    from importlib import metadata

    vision["torch_version"] = facts["version"]
    distribution = ask(lambda: metadata.distribution("torchvision"))
    if distribution is not None:
        vision["version"] = distribution.version
        vision["requires_torch"] = [
            r.replace(" (", "").replace("(", "").replace(")", "")
            for r in distribution.requires or []
            if r.split(";")[0].strip("() ").startswith("torch") and not r.startswith(("torchv", "torcha"))
        ]
    vision["library"] = extension_library(os.path.dirname(origin))
    if vision["library"] is None:
        vision["operators_load"] = False
        vision["operators_error"] = "torchvision has no compiled extension (_C)"
        return
    tell({"topic": "torchvision", "facts": vision})
    stage("loading torchvision's operators")
    try:
        torch.ops.load_library(vision["library"])
        vision["operators_load"] = hasattr(torch.ops.torchvision, "nms")
        if not vision["operators_load"]:
            vision["operators_error"] = "the library loads and brings no operator torchvision::nms"
    except Exception as error:
        vision["operators_load"] = False
        # Torch 2.15 names the file alone; why it does not load, in the loader's words, is then the cause.
        words = [str(e).strip() for e in (error, error.__cause__) if e is not None]
        vision["operators_error"] = ": ".join(words)[:2000]


facts["file"] = find("torch")
facts["xla"] = find("torch_xla") is not None
with warnings.catch_warnings(record=True) as caught:
    torch = import_torch()
    if torch is not None:
        describe_build(torch)
        describe_torchvision(torch)
        tell({"topic": "torchvision", "facts": vision})
        describe_devices(torch)  # last: what hangs in the driver costs nothing else
facts["warnings"] = ["{}: {}".format(w.category.__name__, w.message)[:2000] for w in caught][:20]
tell({"topic": "torchvision", "facts": vision})
stage("done")
os._exit(0)  # all is told; what torch does on the way out costs time and may hang
