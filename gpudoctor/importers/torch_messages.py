"""What a pasted text says of torch besides its fields: torch's warnings, and why ``import torch`` failed."""

import re

from gpudoctor.facts import Cuda, Raised, Torch

_WARNING = re.compile(r"(?:(?P<place>\S.{0,300}?):\d{1,6}: )?(?P<type>[A-Z]\w{0,40}Warning):(?P<text>.*)")
_FROM_TORCH = re.compile(r"[\\/]torch[\\/]|^torch[\\/]")
_ABOUT_CUDA = re.compile(r"CUDA initialization|cuda capability|NVIDIA driver|NVML", re.IGNORECASE)
# The source line that Python prints below a warning.
_SOURCE = re.compile(r"\s*(?:return torch\._C|warnings\.warn|warn\(|_warn)")
_CAPABILITY = re.compile(
    r"(?P<name>\S[^:]{0,80}) with CUDA capability sm_(?P<capability>\d{2,3})[af]? is not compatible"
)
_FOUND = re.compile(
    r"Found GPU\d{1,3} (?P<name>\S.{0,80}?) which is of (?:cuda|compute) capability "
    r"(?:\(CC\) )?(?P<capability>\d{1,2}\.\d)"
)
_ARCHITECTURES = re.compile(r"supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[\s,]*)+)")
# A list of those, since 2025; before, of a GPU that is too old, the oldest that this torch has code for.
_BUILT = re.compile(r"- (?P<capability>\d{1,2}\.\d) which supports hardware CC")
_OLDEST = re.compile(
    r"minimum cuda capability supported by this library is (?P<capability>\d{1,2}\.\d)", re.IGNORECASE
)
_ERROR = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,60}(?:Error|Exception)): ?(?P<message>.*)")
# Python's own line when `python -m torch.utils.collect_env` cannot import torch.
_MODULE = re.compile(
    r"Error while finding module specification for .torch[\w.]{0,40}. \((?P<type>\w{1,60}): (?P<message>.*)\)"
)
_TORCH_FILE = re.compile(r"(?:File \"|^)(?P<file>[^\"\n]{1,400}[\\/]torch[\\/]__init__\.py)\"", re.MULTILINE)
# Where a traceback was copied from: the lines above were left out, or a part of this one.
_FRAME = re.compile(r"(?:File \")?[^\"\s]{1,300}[\\/]torch[\\/]__init__\.py\", line \d{1,5}, in <module>")
_LIBRARY = re.compile(
    r"(?P<message>\S{0,300}\btorch[\\/]lib[\\/]\w{3,40}\.so\S{0,20}: undefined symbol: \w{1,200})"
)
_IMPORT = re.compile(r"(?:import torch|from torch\b|from torch\._C import)")
# c10/cuda/CUDAFunctions.cpp: what cudaGetDeviceCount gave, in its words for some codes.
# Before 1.5 it was "cuda runtime error (802) : system not yet initialized".
_CODE = re.compile(
    r"(?:cudaGetDeviceCount\(\).{0,200}?Error |cuda runtime error \((?=80[234]\)))(?P<code>\d{1,4})[:)]"
)
_CODES = {"CUDA unknown error": 999, "CUDA driver initialization failed": 3}
_FOUND_VERSION = re.compile(r"driver on your system is too old \(found version (?P<version>\d{4,6})\)")
_INIT_ERROR = re.compile(
    r"(?:RuntimeError|torch\.AcceleratorError): (?P<message>(?:Unexpected error from cudaGetDeviceCount"
    r"|cuda runtime error \(80[234]\)|CUDA unknown error|CUDA driver initialization failed|Found no NVIDIA driver"
    r"|The NVIDIA driver on your system is too old|No CUDA GPUs are available).*)"
)
_COUNT = re.compile(
    r"\bcuda\.device_count\(\)[`'\")]{0,3} ?(?:only |always |just )?"
    r"(?:returns?|gives|is|shows|prints|says|=|==|:|->|-->) ?(?:only |just )?"
    r"(?P<count>\d{1,2})\b"
)
_ASKED = re.compile(r"\bcuda\.device_count\(\)\)?$")
_MOST = 20


def warnings(lines: list[str]) -> list[str]:
    """Return torch's warnings as ``UserWarning: text``, each on one line.

    ``.../torch/cuda/__init__.py:118: UserWarning: CUDA initialization: The NVIDIA driver on your …``
    """
    found = []
    for number, line in enumerate(lines):
        match = _WARNING.match(line.strip()) if "Warning:" in line[:400] else None
        if match is None:
            continue
        text = _message(match["text"], lines[number + 1 : number + 8])
        if _FROM_TORCH.search(match["place"] or "") or _ABOUT_CUDA.search(text[:2000]):
            found.append(f"{match['type']}: {text}"[:2000])
    return list(dict.fromkeys(found))[:_MOST]


def _message(first: str, following: list[str]) -> str:
    """Join a message that begins below its ``UserWarning:``, as the one on a GPU's capability does."""
    if first.strip():
        return first.strip()
    parts = []
    for line in following:
        if not line.strip() or _SOURCE.match(line):
            break
        parts.append(line.strip())
    return " ".join(parts)


def architectures(warnings: list[str]) -> list[str]:
    """Return what ``The current PyTorch install supports CUDA capabilities sm_50 sm_60.`` lists."""
    for text in warnings:
        if match := _ARCHITECTURES.search(text):
            return match[1].replace(",", " ").split()
        if found := _BUILT.findall(text) or _OLDEST.findall(text):
            return [f"sm_{capability.replace('.', '')}" for capability in dict.fromkeys(found)]
    return []


def capabilities(warnings: list[str]) -> dict[str, str]:
    """Return the compute capability by name of the GPUs that a warning calls not compatible."""
    found = {}
    for text in warnings:
        if match := _CAPABILITY.search(text.partition("Warning: ")[2]):
            found[match["name"]] = f"{match['capability'][:-1]}.{match['capability'][-1]}"
        elif match := _FOUND.search(text):
            found[match["name"]] = match["capability"]
    return found


def counted(lines: list[str]) -> Torch | None:
    """Return a torch of which nothing is known but how many GPUs it counts; ``None`` where nobody says one number.

    ``torch.cuda.device_count() returns 1``, ``>>> torch.cuda.device_count()`` and below it ``1``
    """
    told: set[int] = set()
    for number, line in enumerate(lines):
        if "VISIBLE_DEVICES" in line[:400]:  # fewer may be meant
            return None
        if "cuda.device_count()" not in line[:400]:
            continue
        if match := _COUNT.search(line[:400]):
            told.add(int(match["count"]))
        elif (
            _ASKED.search(line[:400])
            and (below := next(iter(lines[number + 1 : number + 2]), "")).isdecimal()
        ):
            told.add(int(below[:3]))
    if len(told) != 1 or 0 in told:
        return None
    return Torch(imported=True, cuda="", cuda_available=True, device_count=told.pop())


def import_error(lines: list[str]) -> tuple[Raised, str | None] | None:
    """Return what ``import torch`` raised, and torch's file where the traceback names it.

    ``File ".../torch/__init__.py", line 229, in <module>`` … ``ImportError: libcudnn.so.8: cannot open …``
    """
    begin: int | None = None
    for number, line in enumerate(lines):
        if "Error while finding" in line and (module := _MODULE.search(line)):
            return Raised(type=module["type"], message=module["message"]), None
        text = line.strip()
        headless = begin is None and _FRAME.match(text)
        if headless or text.startswith("Traceback (most recent call last)"):
            begin = number
        elif begin is not None and (error := _ERROR.match(text)):
            trace = "\n".join(lines[begin : number + 1])[-6000:]
            file = next(iter(_TORCH_FILE.findall(trace)[-1:]), None)
            if file or (_IMPORT.search(trace) and "torch" in error["message"]):
                return Raised(type=error["type"], message=error["message"][:2000], traceback=trace), file
            begin = None
    return None


def broken_library(lines: list[str]) -> Raised | None:
    """Return what the loader said of one of torch's own libraries, where the text has no traceback around it.

    ``torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister``
    """
    for line in lines:
        if "undefined symbol: " in line and (match := _LIBRARY.search(line[:1000])):
            return Raised(type="ImportError", message=match["message"])
    return None


def init_error(lines: list[str]) -> Raised | None:
    """Return what ``torch.cuda.init()`` raised, wherever a traceback of the text shows it.

    ``RuntimeError: Unexpected error from cudaGetDeviceCount(). … Error 802: system not yet initialized``
    """
    for line in lines:
        if "Error: " in line[:400] and (match := _INIT_ERROR.search(line[:3000])):
            return Raised(type="RuntimeError", message=match["message"][:2000])
    return None


def cuda(said: list[str]) -> Cuda | None:
    """Return what the CUDA driver answered, by torch's words for it; ``None`` where they tell nothing of it.

    The runtime's codes are the driver's for all that torch does not put in words of its own, but 35.
    """
    for text in said:
        if match := _FOUND_VERSION.search(text):
            version = int(match["version"])
            return Cuda(version=f"{version // 1000}.{version % 1000 // 10}")
        code = next((code for words, code in _CODES.items() if words in text), None)
        if match := _CODE.search(text):
            code = int(match["code"])
        if code is not None:
            return Cuda(init=code, stage="cuInit")
    return None
