"""PCI addresses as nvidia-smi writes them."""

import re

ADDRESS = r"(?P<address>[0-9A-Fa-f]{3,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])"
_PARTS = re.compile(ADDRESS)


def pci_address(text: str) -> str:
    """Return ``00000000:3B:00.0`` as the kernel has it, ``0000:3b:00.0``; the empty string for anything else."""
    match = _PARTS.match(text)
    if match is None:
        return ""
    domain, _, rest = match[0].lower().partition(":")
    domain = domain.rjust(4, "0")  # "000:BA:00.0", as people retype it
    return f"{domain[-4:]}:{rest}" if len(domain) <= 4 or not domain[:-4].strip("0") else match[0].lower()
