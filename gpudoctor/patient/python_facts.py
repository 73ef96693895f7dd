"""Print what the patient's interpreter is and what is installed in its environment."""

import os
import sys

# A file named json.py or re.py in the working folder or on PYTHONPATH must not break this script; what
# the path was is a fact.
search_path = list(sys.path)
try:
    here = os.getcwd()
except OSError:  # it was deleted
    here = ""
own = {"", here} | set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
sys.path[:] = [e for e in sys.path if e not in own or os.path.exists(os.path.join(e, "os.py"))]
import json
import platform
import re
import shutil
import sysconfig

# Names that matter to training on several GPUs. Other names stay out of a report: they may be private.
RELEVANT = re.compile(
    r"(torch|nvidia|cuda|cudnn|nccl|triton|numpy|scipy|pip$|setuptools$|mpi4py|horovod|apex|deepspeed|fairscale|"
    r"accelerate|lightning|transformers|diffusers|datasets|bitsandbytes|xformers|flash|vllm|ray$|jax|tensorflow|"
    r"pillow|psutil|packaging|intel|mkl|onnx|optree|numba|cupy|megatron|transformer.engine|functorch|functional)",
    re.IGNORECASE,
)
WHEEL_PIN = re.compile(r"nvidia-[\w-]+\s*[(<>=!~]")
LIBRARY = re.compile(r"^(nvidia/[^,]*\.so(?:\.\d+)*),[^,]*,(\d+)$", re.MULTILINE)
TORCH_REQUIREMENT = re.compile(r"torch\s*[(<>=!~;]|torch$")


def environment():
    if os.path.exists(os.path.join(sys.prefix, "conda-meta")):
        return "conda environment"
    return "virtual environment" if sys.prefix != sys.base_prefix else "no environment"


def compiler():
    """Return the C compiler that Triton would take: triton/runtime/build.py."""
    named = os.environ.get("CC")
    return named or next(filter(None, map(shutil.which, ("gcc", "clang", "cc"))), "")


def compiler_found():
    """Return whether what CC names is a program; Triton takes all of it for the name of one. None: CC is not set."""
    named = os.environ.get("CC")
    return None if not named else shutil.which(named) is not None


def cxx_found():
    """Return whether what CXX names is a program, for which torch.compile takes all of it. None: CXX is not set."""
    named = os.environ.get("CXX")
    return None if not named else shutil.which(named) is not None


def headers():
    return os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))


def toolkit():
    """Return what torch would compile extensions with: torch/utils/cpp_extension.py, _find_cuda_home and its like."""
    windows = os.name == "nt"
    variable = next((name for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)), "")
    home = os.environ.get(variable, "") if variable else ""
    if not home:
        nvcc = shutil.which("nvcc")
        home = os.path.dirname(os.path.dirname(nvcc)) if nvcc else ""
        if not home and not windows and os.path.exists("/usr/local/cuda"):
            home = "/usr/local/cuda"
    cxx = os.environ.get("CXX") or ("cl" if windows else "c++")
    return {
        "home": home,
        "variable": variable,
        "nvcc": bool(home) and os.path.exists(os.path.join(home, "bin", "nvcc.exe" if windows else "nvcc")),
        "version": toolkit_version(home) if home else "",
        "ninja": shutil.which("ninja") is not None,
        "ninja_installed": any(os.path.isdir(os.path.join(e, "ninja")) for e in sys.path if "-packages" in e),
        "cxx": cxx,
        "cxx_found": shutil.which(cxx.split()[0] if cxx.split() else cxx) is not None,
    }


def toolkit_version(home):
    """Return what the toolkit's own files say: version.json, until CUDA 11.0 version.txt."""
    try:
        with open(os.path.join(home, "version.json"), encoding="utf-8", errors="replace") as file:
            known = json.load(file)
        return str((known.get("cuda_nvcc") or known["cuda"])["version"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    try:
        with open(os.path.join(home, "version.txt"), encoding="utf-8", errors="replace") as file:
            return file.read(200).rpartition(" ")[2].strip()
    except OSError:
        return ""


def not_preloaded():
    """Return what LD_PRELOAD names and the loader left out, as it does of what it cannot open: None is not known."""
    try:
        with open("/proc/self/maps", errors="replace") as lines:
            mapped = {os.path.basename(line.split(None, 5)[5].strip()) for line in lines if "/" in line}
    except (OSError, IndexError):
        return None
    missing = []
    for entry in re.split("[: ]", os.environ.get("LD_PRELOAD", "")):
        if not entry or "$" in entry:
            continue
        name = os.path.basename(os.path.realpath(entry) if "/" in entry else entry)
        stem = name.partition(".so")[0] + ".so"
        if not any(there == name or ("/" not in entry and there.startswith(stem)) for there in mapped):
            missing.append(entry)
    return missing


def libraries(distribution, folder):
    """Return the shared libraries of one of NVIDIA's wheels, with the sizes of their RECORD and of what lies there."""
    found = []
    for path, size in LIBRARY.findall(distribution.read_text("RECORD") or ""):
        path = os.path.realpath(os.path.join(folder, path))  # as the kernel names what is mapped
        try:
            there = os.stat(path).st_size
        except OSError:
            there = None
        found.append({"path": path, "bytes": int(size), "bytes_there": there})
    return found


def distributions():
    from importlib import metadata  # an older Python than 3.8 has told its version before

    found = []
    for folder in dict.fromkeys(os.path.abspath(entry or here) for entry in search_path if entry or here):
        # Names first: reading the metadata of hundreds of packages is what takes the time.
        for distribution in metadata.distributions(path=[folder]):
            path = getattr(distribution, "_path", None)
            if path is not None and not RELEVANT.search(os.path.basename(str(path))):
                continue
            try:
                name, version = distribution.metadata["Name"], distribution.version
                needs = distribution.requires or []
                requires = [r for r in needs if TORCH_REQUIREMENT.match(r)]
                pins = [r for r in needs if WHEEL_PIN.match(r)] if name == "torch" else []
                brought = libraries(distribution, folder) if name.lower().startswith("nvidia") else []
            except Exception:  # a half-removed one, or one that is no text, must not hide the others
                continue
            if name and RELEVANT.search(name):
                found.append(
                    {
                        "name": name,
                        "version": version or "",
                        "location": folder,
                        "requires": requires,
                        "pins": pins,
                        "libraries": brought,
                    }
                )
    return found


def tell(message):
    # Names of files may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


tell(
    {
        "topic": "python",
        "facts": {
            "executable": sys.executable or "",
            "version": platform.python_version(),
            "build": " ".join(sys.version.split()),
            "platform": platform.platform(),
            "prefix": sys.prefix,
            "environment": environment(),
            "search_path": search_path,
            "compiler": compiler(),
            "compiler_found": compiler_found(),
            "cxx": os.environ.get("CXX") or "",
            "cxx_found": cxx_found(),
            "headers": headers(),
            "not_preloaded": not_preloaded(),
        },
    }
)
tell({"topic": "toolkit", "facts": toolkit()})
tell({"doing": "reading the installed distributions"})
tell({"topic": "distributions", "facts": {"installed": distributions()}})
tell({"doing": "done"})
