"""What follows from several topics together: which GPU a rank will use, and how GPUs reach each other."""

import re

from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.gpus import Gpus
from gpudoctor.facts.launch import Launch
from gpudoctor.facts.pci import Pci, PciDevice

# Cards without peer access over PCIe: GeForce since RTX 20 (``nvidia-smi topo -p2p r`` says CNS or NS); the RTX 4000
# and 5000 of workstations have it.
WITHOUT_PEERS = re.compile(r"GeForce|\bRTX [2-5]0[5-9]0\b|TITAN")


def over_pcie(gpus: Gpus) -> bool:
    """Return whether any two GPUs copy to each other over PCIe: peer access works, or is not denied, without NVLink."""
    devices = {gpu.index: gpu for gpu in gpus.devices}
    indices = sorted(devices)
    for n, first in enumerate(indices):
        for second in indices[n + 1 :]:
            pair = gpus.pair(first, second)
            if pair is not None and (pair.path.startswith("NV") or pair.p2p not in ("", "OK")):
                continue
            a, b = devices[first], devices[second]
            if (pair is None or not pair.path) and a.nvlinks_active and b.nvlinks_active:
                continue
            if (pair is None or not pair.p2p) and any(WITHOUT_PEERS.search(g.name) for g in (a, b)):
                continue
            if not (a.mig or b.mig):
                return True
    return False


def own_gpu(pci: Pci, gpus: Gpus | None, launch: Launch | None) -> PciDevice | None:
    """Return the GPU on the bus that this process will use; ``None``: several, or not known.

    That is the only one that it sees, or the one of its local rank where each rank takes the device of its number.
    """
    devices = gpus.devices if gpus else []
    seen = _visible(devices, launch)
    if seen is None or not seen:
        return None
    rank = launch.number("LOCAL_RANK") if launch else None
    if rank is None and launch is not None:
        rank = launch.number("SLURM_LOCALID") if "RANK" in launch.variables else None
    if len(seen) == 1:
        return pci.at(seen[0].pci_address)
    if rank is None or not 0 <= rank < len(seen):
        return None
    return pci.at(seen[rank].pci_address)


def _visible(devices: list[Gpu], launch: Launch | None) -> list[Gpu] | None:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order; ``None``: it cannot be followed."""
    text = launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None
    if text is None:
        return devices
    by_index = {gpu.index: gpu for gpu in devices}
    found = []
    for part in (word.strip() for word in text.split(",")):
        gpu = by_index.get(int(part)) if part.isdecimal() else None
        if gpu is None and part.startswith("GPU-"):
            gpu = next((g for g in devices if g.uuid.startswith(part)), None)
        if gpu is None:
            return None
        found.append(gpu)
    return found
