"""The kernel's own driver, nouveau, holds an NVIDIA GPU.

## What happens

`nvidia-smi` finds no driver, torch says "Found no NVIDIA driver on your system", and `sudo modprobe nvidia` ends with "No
such device". The screen works.

## Why

nouveau comes with Linux and takes every NVIDIA GPU at boot, unless something forbids it. It draws the screen and cannot
run CUDA, and while it holds a GPU, NVIDIA's driver cannot have it. NVIDIA's packages forbid nouveau; it comes back with
an initial RAM disk that was not made again, with a driver that was removed, or where none was ever installed.

## How to tell

`lspci -k -d 10de:` has "Kernel driver in use: nouveau". `lsmod | grep nouveau` shows that it is loaded.

## See also

- [NVIDIA driver README: common problems](https://download.nvidia.com/XFree86/Linux-x86_64/455.38/README/commonproblems.html): why nouveau must not be loaded, and how it is kept out
"""

from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Host, Pci, Torch

INSTALL = Fix(
    "Install NVIDIA's driver, which keeps nouveau off (on Ubuntu; elsewhere the distribution's package), and restart",
    "sudo apt install nvidia-driver-580-server nvidia-utils-580-server && sudo reboot",
    Kind.ADMIN,
)
FORBID = Fix(
    "Where NVIDIA's driver is installed already: keep nouveau off the GPU, and restart (on Debian and Ubuntu)",
    "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf && "
    "sudo update-initramfs -u && sudo reboot",
    Kind.ADMIN,
)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and this line",
    "sbatch --exclude=NODE job.sh",
)

SCREENLESS = "0x0302"
"""PCI's class of a controller without a screen, as cards of data centres have it."""

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for a card beside others that NVIDIA's driver has, a warning where it has no plug for a screen, and beside a torch for the CPU",
    symptoms=[
        # NVIDIA's kernel module, in one line or three; its installer
        Symptom(r"NVRM: The NVIDIA probe routine was not called for \d+ device", near=r"\bnouveau\b"),
        r"The Nouveau kernel driver is currently in use by your system",
        # lsmod, where something uses it
        Symptom(
            r"^nouveau +\d+ +[1-9]",
            near=r"couldn't communicate with the NVIDIA driver|Unable to load the kernel module 'nvidia|could not insert 'nvidia|Found no NVIDIA driver|\bnvidia-smi`? (?:fails|does not|doesn't)\b",
        ),
    ],
    message="nouveau, the kernel's own driver, holds the GPU: NVIDIA's driver cannot have it, and nouveau cannot run CUDA",
    fixes=[LEAVE_OUT, INSTALL, FORBID],
    no_reproduction="needs a GPU",
)


@check.environment
def environment(pci: Pci, torch: Torch | None, host: Host | None) -> Iterator[Finding]:
    """GPUs on the PCI bus are bound to nouveau."""
    held = [card for card in pci.usable if card.driver == "nouveau"]
    if not held:
        return
    evidence = [Evidence("kernel driver: nouveau", f"/sys/bus/pci/devices/{card.address}") for card in held]
    message = f"nouveau holds {count(len(held), 'NVIDIA GPU')}, and it cannot run CUDA"
    if any(card.driver == "nvidia" for card in pci.usable):
        # Somebody gave it that card, for the screen say, where it has a plug: left to itself nouveau takes all of them.
        message += "; NVIDIA's driver has the others"
        screenless = any(card.device_class.startswith(SCREENLESS) for card in held)
        message += ". It has no plug for a screen, so that training misses it" if screenless else ""
        severity = Severity.WARNING if screenless else Severity.NOTE
        yield check.found(message, severity=severity, evidence=evidence, fixes=[FORBID])
        return
    # Who chose a torch without CUDA for this machine does not miss it.
    chosen = torch is not None and torch.imported is True and torch.cuda is None
    message += ": torch sees no GPU"
    if host is not None and host.container:
        message += " in this container, and its host must be repaired"
    yield check.found(message, severity=Severity.WARNING if chosen else None, evidence=evidence)
