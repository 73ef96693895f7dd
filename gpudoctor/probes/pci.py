"""Read the PCI bus from sysfs."""

from pathlib import Path

from gpudoctor.facts import Pci, PciDevice

NVIDIA = "0x10de"
DEVICES = Path("/sys/bus/pci/devices")


def probe(devices: Path = DEVICES) -> Pci:
    """Read every NVIDIA function below `devices`; raises OSError where there is no such folder."""
    found = []
    for folder in sorted(devices.iterdir()):
        try:
            if (folder / "vendor").read_text().strip() != NVIDIA:
                continue
            driver = folder / "driver"
            found.append(
                PciDevice(
                    address=folder.name,
                    device=(folder / "device").read_text().strip(),
                    device_class=(folder / "class").read_text().strip()[:6],
                    driver=driver.resolve().name if driver.exists() else None,
                )
            )
        except FileNotFoundError:  # hot-unplugged between the listing and the reading
            continue
    return Pci(nvidia=found)
