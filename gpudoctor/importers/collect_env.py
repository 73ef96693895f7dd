"""The output of ``python -m torch.utils.collect_env`` and of vllm's collect_env, 2018 to 2026.

The environment block of a gpudoctor ticket has the same form.
"""

import re

from msgspec import Struct

from gpudoctor.facts import Distributions, Host, Launch, Python, Torch, Torchvision
from gpudoctor.importers import collect_env_block, packages, torch_messages
from gpudoctor.importers.collect_env_block import Block
from gpudoctor.importers.collect_env_gpus import read_driver, read_gpus
from gpudoctor.importers.collect_env_torch import read_cuda, read_torch, torch_version
from gpudoctor.importers.nvidia_smi import Refusal, Table
from gpudoctor.importers.variables import assigned

_PYTHON = re.compile(r"\d{1,2}\.\d{1,3}[\w.+]{0,20}")
_SCRIPT = re.compile(r"File \"\S{0,300}/python(?P<version>3\.\d{1,2})/\S{0,100}torch/utils/collect_env\.py\"")
_ALLOCATOR = re.compile(r"'(?P<name>\w{1,80})': '(?P<value>[^']{0,500})'")
_MACHINES = r"(?P<machine>x86_64|amd64|AMD64|aarch64|arm64|ARM64|ppc64le|s390x|riscv64|armv7l|i[3-6]86)"
# "Ubuntu 22.04.5 LTS (x86_64)"
_OS = re.compile(rf"(?P<os>.{{0,200}}?) ?\({_MACHINES}\)$")
# "Linux-5.15.0-1022-aws-x86_64-with-glibc2.29": the release may itself end in the machine's name.
_LINUX = re.compile(rf"Linux-(?P<kernel>\S{{1,160}}?)-{_MACHINES}(?:-(?!x86_64-with)|$)")
_DARWIN = re.compile(r"Darwin-(?P<kernel>[\d.]{1,20})-")
_WINDOWS_MACHINE = re.compile(r"\((AMD64|ARM64)\)")


def read(rows: list[str], table: Table, refusal: Refusal) -> dict[str, Struct | str | None] | None:
    """Read what the text says by topic, and no more; a text in place of facts says why there are none.

    ``PyTorch version: 2.5.1+cu124`` … ``Is CUDA available: False`` … ``Nvidia driver version: 535.183.01``

    `table` and `refusal` are what nvidia-smi says in the same text. Returns ``None`` where the text is no output of
    collect_env.
    """
    block = collect_env_block.find(rows)
    if block is None:
        error = _not_run(rows)
        return _crashed(rows) if error is None else {"torch": error}
    lists = packages.read(block.lines)
    version = torch_version(block)
    installed = packages.installed(lists, version)
    launch = _launch(block)
    gpus = read_gpus(block, table, refusal)
    torch = read_torch(block, rows, lists, gpus, launch)
    cuda = read_cuda(torch)
    return {
        "python": _python(block),
        "distributions": installed if installed.installed else None,
        "torch": torch,
        "cuda": cuda,
        "torchvision": torchvision(installed, version),
        "gpus": gpus,
        "driver": read_driver(block, table, refusal, gpus, cuda),
        "host": _host(block),
        "launch": launch,
    }


def _not_run(rows: list[str]) -> Torch | None:
    """Read the traceback of a collect_env that printed nothing, for want of a torch to import."""
    error = torch_messages.import_error(rows) if any("collect_env" in row for row in rows) else None
    return None if error is None else Torch(imported=False, error=error[0], file=error[1])


def _crashed(rows: list[str]) -> dict[str, Struct | str | None] | None:
    """Read which Python ran a collect_env that failed before its first line; ``None`` where none did."""
    found = next((match for row in rows if "collect_env.py" in row and (match := _SCRIPT.search(row))), None)
    return {"python": Python(version=found["version"], chosen="it ran collect_env")} if found else None


def _python(block: Block) -> Python | None:
    """Read ``3.8.10 (default, Jun 22 2022)  [GCC 9.4.0] (64-bit runtime)``, or ``3.7`` as before 2021."""
    build = block.said("python version") or ""
    match = _PYTHON.match(build)
    if match is None:
        return None
    return Python(
        executable="",  # which file it is, and in what environment, the text does not say
        version=match[0],
        build=build,
        platform=block.said("python platform") or "",
        chosen="it ran collect_env",
    )


def torchvision(listed: Distributions, version: str | None) -> Torchvision | None:
    """Return the torchvision of a list, beside the torch that was imported, or that of the list."""
    vision, torch = listed.get("torchvision"), listed.get("torch")
    if vision is None:
        return None
    return Torchvision(version=vision.version, torch_version=version or (torch.version if torch else None))


def _launch(block: Block) -> Launch | None:
    """Read vllm's environment section (``NCCL_DEBUG=INFO``) and torch's ``Caching allocator config: {...}``.

    The names are those that gpudoctor itself would read.
    """
    first = min(block.places.values(), default=0)
    allocator = block.said("caching allocator config") or ""
    variables = {match["name"]: match["value"] for match in _ALLOCATOR.finditer(allocator)}
    for line in block.lines[first:]:
        given = assigned(line) if line[:1].isupper() else None
        if given is not None:
            variables[given[0]] = given[1]
    if not variables and "environment variables" not in block.values:
        return None
    return Launch.of(variables)


def _host(block: Block) -> Host | None:
    os, platform = block.said("os") or "", block.said("python platform") or ""
    cpus, model = _cpus(block), _cpu_model(block)
    if not (os or platform or cpus or model):
        return None
    named = _OS.match(os)
    running = _LINUX.match(platform) or _DARWIN.match(platform)
    container = block.values.get("container", "").lower()
    return Host(
        system=_system(os, platform),
        os=named["os"] if named else os,
        kernel=running["kernel"] if running else "",
        machine=_machine(block, os, platform),
        libc=block.said("libc version") or "",
        container=container if container.isalpha() and container != "wsl" else None,
        wsl="microsoft" in platform.lower() or container == "wsl",
        cpu_model=model,
        cpus=cpus,
    )


def _system(os: str, platform: str) -> str:
    text = f"{os} {platform}".lower()
    if "windows" in text:
        return "Windows"
    if any(word in text for word in ("macos", "mac os", "darwin")):
        return "Darwin"
    return "Linux" if os or platform.startswith("Linux") else ""


def _machine(block: Block, os: str, platform: str) -> str:
    """Take it from ``Ubuntu 22.04 (x86_64)``, lscpu's ``Architecture:``, the platform, or Windows' Python."""
    if named := _OS.match(os):
        return named["machine"]
    if found := re.fullmatch(_MACHINES, block.values.get("architecture", "")):
        return found["machine"]
    if running := _LINUX.match(platform):
        return running["machine"]
    windows = _WINDOWS_MACHINE.search(block.values.get("python version", ""))
    return windows[1] if windows else ""


def _cpus(block: Block) -> int | None:
    """Read lscpu's ``CPU(s):``; a Chinese lscpu writes ``CPU:``."""
    for key in ("cpu(s)", "cpu"):
        value = block.values.get(key, "")
        if value.isascii() and value.isdecimal() and len(value) <= 6:
            return int(value)
    return None


def _cpu_model(block: Block) -> str:
    """Read lscpu's ``Model name:``, Windows' ``Name:`` or ``Name=``, or the line that macOS gives."""
    if (model := block.said("model name")) and model != "-":
        return model
    below = [line for line in block.after("cpu") if line]
    for line in below:
        if line.startswith("Name="):
            return line.removeprefix("Name=")
    if below and below[0].startswith(("Apple ", "Intel(R)")):
        return below[0]
    return block.said("name") or ""
