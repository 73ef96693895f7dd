"""``nvidia-smi -L``: the GPUs by name, their MIG instances below them; collect_env quotes it without the UUIDs."""

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gpudoctor.facts import Gpu

_NEXT_GPU = re.compile(r",? (?=GPU \d{1,4}:)")
_GPU = re.compile(r"GPU (?P<index>\d{1,4}):(?P<name>.*)")
_MIG = re.compile(r"MIG \S{1,40} Device \d{1,3}:")
# People write "..." or "xxx" in the place of a UUID.
_UUID = re.compile(r" ?\(UUID: (?:(?P<uuid>[\w-]{1,80})|[^()]{1,80})\)")
_MOST = 1024


def listed(lines: Iterable[str]) -> list[Gpu]:
    """Read ``GPU 0: Tesla T4 (UUID: GPU-…)`` lines; a number that comes again is that of a later listing.

    ``  MIG 1g.10gb     Device  0: (UUID: MIG-…)`` belongs to the GPU above it.
    """
    devices: dict[int, Gpu] = {}
    last: int | None = None
    for line in lines:
        if "GPU " not in line and not line.startswith("MIG "):
            continue
        for text in _NEXT_GPU.split(" ".join(line.replace("\N{FULLWIDTH COLON}", ":").split())):
            if match := _GPU.match(text):
                uuid = _UUID.search(match["name"])
                name = (match["name"][: uuid.start()] if uuid else match["name"]).strip()
                last = int(match["index"])
                if len(devices) < _MOST:
                    devices.setdefault(
                        last, Gpu(index=last, name=name, uuid=(uuid["uuid"] or "") if uuid else "")
                    )
            elif last in devices and _MIG.match(text) and len(devices[last].mig_uuids) < 64:
                # An instance whose UUID was taken out is there all the same.
                uuids = [*devices[last].mig_uuids, *(_UUID.findall(text)[:1] or [""])]
                devices[last] = replace(devices[last], mig=True, mig_uuids=uuids)
    return [devices[index] for index in sorted(devices)]


def with_whole_names(devices: list[Gpu], lines: Sequence[str]) -> list[Gpu]:
    """Complete the last name where the text ends in the middle of it: ``GPU 3: NVIDIA A1`` below three A100."""
    last = next((line for line in reversed(lines) if line.strip()), "").rstrip()
    if len(devices) > 1 and last.endswith(devices[-1].name):
        cut = devices[-1].name.removesuffix(" GPU")  # of the next line, where a text lost its line ends
        whole = [gpu.name for gpu in devices[:-1] if gpu.name.startswith(cut)]
        if whole:
            return [*devices[:-1], replace(devices[-1], name=whole[0])]
    return devices
