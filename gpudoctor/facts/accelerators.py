"""How many NVIDIA GPUs a machine has, from whoever can tell, and whether any are expected."""

from gpudoctor.facts.gpus import Gpus
from gpudoctor.facts.pci import Pci
from gpudoctor.facts.torch import Torch


def gpus_here(torch: Torch | None, gpus: Gpus | None, pci: Pci | None) -> int | None:
    """Return the most GPUs that torch, NVML and the bus show; ``None``: none of them was asked."""
    counts = [
        torch.device_count or 0 if torch is not None else None,
        len(gpus.devices) if gpus is not None else None,
        len(pci.usable) if pci is not None else None,
    ]
    return max((count for count in counts if count is not None), default=None)


def for_processors_alone(torch: Torch | None, gpus: Gpus | None, pci: Pci | None) -> bool:
    """Return whether nothing here is for GPUs: no GPU, and a torch built without them.

    A login node has no GPU either, and its variables go along with the jobs that it starts: there torch tells.
    """
    built_without = torch is not None and bool(torch.imported) and torch.cuda is None and torch.hip is None
    return built_without and gpus_here(torch, gpus, pci) == 0
