"""What a machine without findings can do, and how much of it was examined."""

from gpudoctor.facts import Gpus, Pci, Torch
from gpudoctor.report import Status, Verdict
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import count


def fitness(snapshot: Snapshot) -> Verdict:
    """Say what a machine without findings can do, and how much of it was examined."""
    torch, gpus, pci = snapshot.get(Torch), snapshot.get(Gpus), snapshot.get(Pci)
    foreign = _foreign(torch, pci, gpus)
    if foreign:
        sentence = f"Nothing wrong in what could be seen; this machine has {foreign}, which gpudoctor does not examine."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    if torch is None or not torch.imported:
        return Verdict(status=Status.HEALTHY, sentence="Nothing wrong in what could be seen.")
    if torch.cuda_available:
        return _with_gpus(torch, gpus)
    if torch.cuda_available is None and (torch.cuda is not None or torch.hip):
        sentence = f"Nothing wrong in what could be seen; whether {_named(torch)} can use a GPU is not told."
        return Verdict(status=Status.HEALTHY, sentence=sentence)
    if (pci and pci.usable) or (gpus and gpus.devices):
        why = torch.cuda_error.message.split(". ")[0] if torch.cuda_error else "it does not say why"
        cannot = f"torch {torch.version} cannot use this machine's GPU: {why}"
        return Verdict(status=Status.UNKNOWN, sentence=f"No known failure was found, yet {cannot}.")
    if pci is None and gpus is None and torch.gloo_available is None:  # of a pasted text, not of a machine
        sentence = (
            f"Nothing wrong in what could be seen: {_named(torch)}; whether a GPU is there is not told."
        )
        return Verdict(status=Status.HEALTHY, sentence=sentence)
    backend = "gloo" if torch.gloo_available else "no backend"
    here = f"torch {torch.version}, distributed over {backend}; no NVIDIA GPU here"
    return Verdict(status=Status.HEALTHY, sentence=f"Healthy for CPU training: {here}.")


def _named(torch: Torch) -> str:
    return f"torch {torch.version}" if torch.version else "torch"


def _with_gpus(torch: Torch, gpus: Gpus | None) -> Verdict:
    """Say what torch sees, and of how many GPUs NVML told anything: of the others nothing is known."""
    # Of some texts torch's first device is all that is known.
    number = torch.device_count or (len(torch.devices) if gpus is not None else 0)
    what = f"sees {count(number, 'GPU')}" if number else "can use CUDA"
    sees = f"{_named(torch)} {what}"
    if torch.nccl_available is not None or torch.gloo_available:
        sees += f"; distributed training over {'NCCL' if torch.nccl_available else 'gloo'}"
    if gpus is None or not gpus.read:
        why = f" ({gpus.error})" if gpus is not None and gpus.error else ""
        sentence = f"Nothing wrong was found: {sees}. No GPU was examined: NVML tells nothing of them{why}."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    if len(gpus.read) < len(gpus.devices):
        sentence = (
            f"Nothing wrong was found: {sees}. {len(gpus.read)} of {len(gpus.devices)} GPUs were examined."
        )
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    return Verdict(status=Status.HEALTHY, sentence=f"Healthy: {sees}.")


def _foreign(torch: Torch | None, pci: Pci | None, gpus: Gpus | None) -> str | None:
    """Name GPUs of other makers, where they are what this machine trains on."""
    if pci is not None and pci.usable:
        return None
    kinds = ((len(pci.amd), "AMD"), (len(pci.intel), "Intel")) if pci else ()
    named = [count(number, f"{maker} GPU") for number, maker in kinds if number]
    if torch is not None and torch.cuda_available and torch.hip:
        if named:
            return named[0]
        return count(torch.device_count, "AMD GPU") if torch.device_count else "AMD GPUs"
    if torch is None and named and not (gpus is not None and gpus.devices):
        return " and ".join(named)
    # A processor's own graphics, or a display card, beside a torch for the CPU or for NVIDIA is no training device.
    if torch is not None and torch.version and "+xpu" in torch.version:
        return named[-1] if named else "an Intel GPU"
    return None
