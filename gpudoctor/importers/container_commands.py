"""``docker run``, ``podman run``, ``apptainer exec`` and their like -> how a container was started."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpudoctor.facts import ContainerStart
from gpudoctor.importers.host_commands import size
from gpudoctor.importers.shell_prompt import without_prompt

_START = re.compile(
    r"(?:sudo (?:-E )?)?(?P<engine>docker|nvidia-docker|podman|apptainer|singularity)2? "
    r"(?P<verb>(?:container )?run|exec|shell) (?P<rest>.{1,4000})"
)
_NVIDIA = re.compile(
    r"--gpus|--runtime|--device|NVIDIA_VISIBLE_DEVICES|--nv\b|--nvccli\b|--privileged"
    r"|--hooks-dir|\$\{?\w{0,20}(?:GPU|OPT|ARG|FLAG|DEV|PARAM|@|\*)|<|\.\.\.|--rocm\b"
)
"""What hands on GPUs, or may: a variable of the shell, a placeholder."""
_TRAINS = re.compile(r"nvidia|cuda|torch|vllm|sglang|tensorflow|\.sif\b|rapids|deepspeed", re.IGNORECASE)
_SHM = re.compile(r"--shm-size[= ]['\"]?(?P<size>\d{1,6}(?:\.\d{1,3})?[kmgKMG])(?:i?[bB])?\b")
_MISSING = (
    re.compile(r"(?:\S{1,40}: )?(?:line \d{1,4}: |\d{1,4}: )?nvidia-smi: (?:command )?not found$"),
    re.compile(r".{0,300}\"?nvidia-smi\"?: executable file not found in \$PATH"),
    re.compile(r"WARNING: The NVIDIA Driver was not detected"),
    re.compile(r".{0,200}Found no NVIDIA driver on your system"),
)
_INLINE = re.compile(
    r"`(?P<command>(?:sudo )?(?:docker|podman|apptainer|singularity) (?:run|exec|shell) [^`]{1,2000})(?:`|$)"
)
# In prose, where a command of such a container stands beside it.
_NOT_FOUND = re.compile(
    r"\bnvidia-smi`? (?:is |was |can(?:no|')t be |could not be )?not found\b|\bnvidia-smi`? (?:can't|cannot) be found\b"
)
_ANSWER = re.compile(r"(?:Out\[\d{1,4}\]: )?False$")
_ASKED = "torch.cuda.is_available()"
_MOST = 200


@dataclass
class _Seen:
    commands: list[re.Match[str]] = field(default_factory=list)
    missing: str = ""


def read(lines: Iterable[str]) -> ContainerStart | None:
    """Read the commands that start a container with a GPU's software in it; ``None`` where there is none.

    ``docker run --rm -it pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime python train.py``
    """
    seen, asked = _Seen(), False
    for line in _whole(lines):
        row = without_prompt(line)
        if "`" in row and (inline := _INLINE.search(row[:4000])):
            row = inline["command"]
        if (match := _START.match(row[:4100])) and len(seen.commands) < _MOST:
            if _TRAINS.search(match["rest"]) and (match["verb"] != "exec" or "docker" not in match["engine"]):
                seen.commands.append(match)
            asked = _ASKED in row
            continue
        if seen.commands and not seen.missing:
            if asked and _ANSWER.match(row):
                seen.missing = f"{_ASKED} is False"
            elif _NOT_FOUND.search(row[:400]):
                seen.missing = "nvidia-smi is not found"
            elif any(words.match(row[:400]) for words in _MISSING):
                seen.missing = row[:120]
        asked = _ASKED in row or (asked and not row)
    if not seen.commands:
        return None
    first = seen.commands[0]
    shm = next((found for match in seen.commands if (found := _SHM.search(match["rest"]))), None)
    return ContainerStart(
        engine=first["engine"].removeprefix("nvidia-"),
        verb=first["verb"].rpartition(" ")[2],
        gpus=any(m["engine"] == "nvidia-docker" or _NVIDIA.search(m["rest"]) for m in seen.commands),
        missing=seen.missing,
        shm_bytes=size(shm["size"].upper()) if shm else None,
    )


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Join lines that end with a backslash."""
    parts: list[str] = []
    for line in lines:
        if line.endswith("\\") and len(parts) < 60:
            parts.append(line[:-1].strip())
            continue
        yield " ".join([*parts, line]) if parts else line
        parts.clear()
    yield " ".join(parts)
