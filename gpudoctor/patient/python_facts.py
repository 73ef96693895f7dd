"""Print what the patient's interpreter is and what is installed in its environment."""

import os
import sys

# A file named json.py or re.py in the working folder must not break this script; the patient's own path comes back
# below, since it is a fact.
search_path = list(sys.path)
sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
import json
import platform
import re

try:
    from importlib import metadata
except ImportError:  # Python 3.7
    metadata = None

sys.path[:] = search_path

# Names that matter to training on several GPUs. Other names stay out of a report: they may be private.
RELEVANT = re.compile(
    r"(torch|nvidia|cuda|cudnn|nccl|triton|numpy|scipy|pip$|setuptools$|mpi4py|horovod|apex|deepspeed|fairscale|"
    r"accelerate|lightning|transformers|diffusers|datasets|bitsandbytes|xformers|flash|vllm|ray$|jax|tensorflow|"
    r"pillow|psutil|packaging|intel|mkl|onnx|optree|numba|cupy|megatron|transformer.engine|functorch|functional)",
    re.IGNORECASE,
)
TORCH_REQUIREMENT = re.compile(r"torch\s*[(<>=!~;]|torch$")


def environment():
    if os.path.exists(os.path.join(sys.prefix, "conda-meta")):
        return "conda environment"
    return "virtual environment" if sys.prefix != sys.base_prefix else "no environment"


def distributions():
    found = []
    for folder in dict.fromkeys(os.path.abspath(entry or os.getcwd()) for entry in search_path):
        # Names first: reading the metadata of hundreds of packages is what takes the time.
        for distribution in metadata.distributions(path=[folder]):
            path = getattr(distribution, "_path", None)
            if path is not None and not RELEVANT.search(os.path.basename(str(path))):
                continue
            try:
                name, version = distribution.metadata["Name"], distribution.version
                requires = [r for r in distribution.requires or [] if TORCH_REQUIREMENT.match(r)]
            except Exception:  # a half-removed one, or one that is no text, must not hide the others
                continue
            if name and RELEVANT.search(name):
                found.append(
                    {"name": name, "version": version or "", "location": folder, "requires": requires}
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
        },
    }
)
tell({"doing": "reading the installed distributions"})
tell({"topic": "distributions", "facts": {"installed": distributions()}})
tell({"doing": "done"})
