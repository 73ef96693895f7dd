"""What libraries' own commands print of the environment: sglang, MMCV, detectron2, transformers, accelerate.

They give torch, torchvision and the GPUs in fewer words than torch's collect_env, and some of torch's build.
"""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts import Driver, Gpu, Gpus, Host, Python, Torch, TorchDevice, Torchvision
from gpudoctor.importers.collect_env_torch import LOCAL, VERSION, built_for

# "2022-11-11 08:08:37,084 - mmdeploy - INFO - " of a logger, "'CUDA available': True," of pprint
_LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - [\w.]{1,40} - INFO - ")
_FIELD = re.compile(
    r"[{'\"*-]{0,3}\s?[`'\"]?(?P<key>CUDA available|GPU available|GPU \d{1,2}(?:,\d{1,2}){0,63}(?: Compute Capability)?"
    r"|GPU type|GPU number|CUDA Driver Version|Driver version|PyTorch(?: version(?: \(GPU\?\))?)?"
    r"|TorchVision|torchvision|Python(?: version)?|Platform)"
    r"[`'\"]?(?:\s{0,8}:\s{0,8}|\s{2,60})(?P<value>\S.{0,400})"
)
_DRIVER = re.compile(r"\d{3}\.\d{1,4}(?:\.\d{1,4})?(?!\S)")
_PLATFORM = re.compile(
    r"Linux-(?P<kernel>\S{1,160}?)-(?P<machine>x86_64|aarch64|ppc64le)(?:-(?!x86_64-with)|$)"
)
_RUNTIME = re.compile(r"[\s'-]{0,60}CUDA Runtime (?P<cuda>\d{1,2}\.\d{1,2})")
_FLAGS = re.compile(r"NVCC architecture flags: (?P<flags>-gencode;.{10,3000})")
_CODE = re.compile(r"code=((?:sm|compute)_\d{2,3}[af]?)")
# mmcv's and mmengine's dictionary in one piece: "OrderedDict([('sys.platform', 'linux'), ('CUDA available', True), …"
_PAIR = re.compile(
    r"\('(?P<key>[^'\n]{1,60})', (?:'(?P<text>(?:[^'\\]|\\.){0,4000})'|(?P<word>True|False|\d{1,6}))\)"
)
_ARCH = re.compile(r" \(arch=(?P<capability>\d{1,2}\.\d)\)")
# vLLM, before collect_env: one line, or since 0.7 a line for each device
_DIFFERENT = "Detected different devices in the system:"
_LOG_PLACE = re.compile(r"(?:WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./]{1,80}:\d{1,5}\] ")
_AVAILABLE = {"true": True, "yes": True, "false": False}


def read(rows: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read the fields that come first, by topic; ``None`` where no line says whether CUDA is available.

    ``CUDA available: True`` … ``GPU 0,1: NVIDIA A40`` … ``PyTorch: 2.4.0+cu121``
    """
    fields: dict[str, str] = {}
    runtime, architectures = None, list[str]()
    for line in _spread(rows):
        row = _LOGGED.sub("", line) if line.startswith("20") else line
        if match := _FIELD.match(row):
            fields.setdefault(match["key"], match["value"].strip().rstrip(",}").strip("'\""))
        elif runtime is None and (built := _RUNTIME.match(row)):
            runtime = built["cuda"]
        elif not architectures and (flags := _FLAGS.search(row)):
            architectures = list(dict.fromkeys(_CODE.findall(flags["flags"])))
    available = _available(fields)
    if available is None:
        return None
    capability = next((v for key, v in fields.items() if key.endswith("Compute Capability")), "")
    devices, capabilities = _devices(fields, capability)
    driver = _DRIVER.match(fields.get("CUDA Driver Version", fields.get("Driver version", "")))
    version = driver[0] if driver else None
    torch = _torch(fields, available, runtime, architectures)
    if torch and available and not devices and "GPU type" in fields:
        torch = _with_first(torch, fields)
    if torch and available and devices:
        seen = [
            TorchDevice(ordinal=gpu.index, name=gpu.name, capability=told)
            for gpu, told in zip(devices, capabilities, strict=True)
        ]
        torch = replace(torch, devices=seen, device_count=len(seen))
    vision = VERSION.match(fields.get("TorchVision", fields.get("torchvision", "")))
    python = VERSION.match(fields.get("Python", fields.get("Python version", "")))
    return {
        "torch": torch or "the text does not say for which CUDA torch was built",
        "gpus": Gpus(driver_version=version, devices=devices) if devices else None,
        "driver": Driver(version=version) if version else None,
        "torchvision": Torchvision(version=vision["version"], torch_version=_version(fields))
        if vision
        else None,
        "python": Python(version=python["version"], chosen="it printed the environment") if python else None,
        "host": _host(fields.get("Platform", "")),
    }


def _spread(rows: Iterable[str]) -> Iterable[str]:
    """Yield the lines, and of a dictionary each pair as a line."""
    for line in rows:
        if "OrderedDict([" in line[:200]:
            for pair in _PAIR.finditer(line[:100_000]):
                text = pair["text"] if pair["text"] is not None else pair["word"]
                first, *more = text.replace("\\n", "\n").split("\n")
                yield f"{pair['key']}: {first}"
                yield from map(str.strip, more)
        else:
            yield line


def _host(platform: str) -> Host | None:
    running = _PLATFORM.match(platform)
    if running is None:
        return None
    wsl = "microsoft" in platform.lower()
    return Host(system="Linux", kernel=running["kernel"], machine=running["machine"], wsl=wsl)


def different_devices(lines: list[str]) -> list[Gpu]:
    """Read the GPUs that vLLM calls different, in the driver's order; nothing where it names none.

    ``WARNING 02-13 10:47:30 cuda.py:336] Detected different devices in the system:`` and a line for each of them
    """
    for number, line in enumerate(lines):
        if _DIFFERENT not in line:
            continue
        rest, ended, _ = line.partition(_DIFFERENT)[2].strip().partition(". Please")
        if rest and not ended:  # wrapped: on to the end of the sentence
            whole, ended, _ = "".join([rest, *lines[number + 1 : number + 9]]).partition(". Please")
            rest = whole if ended else rest
        if rest:
            names = [name.strip() for name in rest.split(",")]
        else:
            names = []
            for below in lines[number + 1 : number + 65]:
                row = _LOG_PLACE.sub("", below)
                if row.startswith("Please make sure") or row == below:
                    break
                names.append(row.strip())
        return [Gpu(index=index, name=name[:80]) for index, name in enumerate(names) if name]
    return []


def _available(fields: dict[str, str]) -> bool | None:
    """Return what torch said; detectron2 adds its own words, ``No: torch.cuda.is_available() == False``."""
    said = fields.get("PyTorch version", "")
    if said.endswith("(GPU)") and LOCAL.search(said):  # LLaMA-Factory writes it where CUDA is available
        return True
    if "PyTorch version (GPU?)" in fields:
        return _AVAILABLE.get(fields["PyTorch version (GPU?)"].rpartition("(")[2].rstrip(") ").lower())
    said = fields.get("CUDA available", fields.get("GPU available", ""))
    return False if said.startswith("No: ") else _AVAILABLE.get(said.partition(" ")[0].lower())


def _torch(
    fields: dict[str, str], available: bool, runtime: str | None, architectures: list[str]
) -> Torch | None:
    """Return the torch where the text says what it was built for; ``None`` where it does not."""
    version = _version(fields)
    if version is None:
        return None
    local = LOCAL.search(version)
    cuda = runtime
    if local and local["cuda"]:
        cuda = built_for(local)
    if cuda is None and not (local and (local["cpu"] or local["hip"])):
        if not available:
            return None
        cuda = ""  # it was built for one, and which is not told
    return Torch(
        imported=True,
        version=version,
        cuda=None if local and (local["cpu"] or local["hip"]) else cuda,
        hip=local["hip"] if local else None,
        cuda_available=available,
        arch_list=architectures,
    )


def _with_first(torch: Torch, fields: dict[str, str]) -> Torch:
    """Add the first device, which is all that accelerate, transformers and LLaMA-Factory name; the last counts them."""
    number = fields.get("GPU number", "")
    count = int(number) if re.fullmatch(r"[0-9]{1,3}", number) else None
    return replace(torch, devices=[TorchDevice(ordinal=0, name=fields["GPU type"])], device_count=count)


def _version(fields: dict[str, str]) -> str | None:
    keys = ("PyTorch", "PyTorch version (GPU?)", "PyTorch version")
    match = VERSION.match(next((fields[key] for key in keys if key in fields), ""))
    return match["version"] if match else None


def _devices(fields: dict[str, str], capability: str) -> tuple[list[Gpu], list[str]]:
    """Return the GPUs that torch sees, numbered as torch does, and their compute capabilities where they are told."""
    found: dict[int, tuple[str, str]] = {}
    for key, value in fields.items():
        if key.startswith("GPU ") and key[4:5].isdecimal() and not key.endswith("Capability"):
            arch = _ARCH.search(value)
            name = _ARCH.sub("", value).strip()
            for number in key[4:].split(","):
                found.setdefault(int(number), (name, arch["capability"] if arch else capability))
    order = sorted(found)
    return [Gpu(index=number, name=found[number][0]) for number in order], [found[n][1] for n in order]
