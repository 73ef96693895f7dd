"""NVIDIA hardware on the PCI bus, from trees laid out as sysfs lays them out."""

from pathlib import Path

import pytest

from gpudoctor.facts import PciDevice
from gpudoctor.probes.pci import probe


def add(
    bus: Path, address: str, vendor: str, device: str, device_class: str, driver: str | None = None
) -> Path:
    folder = bus / "devices" / address
    folder.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("device", device), ("class", device_class)):
        (folder / name).write_text(value + "\n")
    if driver is not None:
        target = bus / "drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(target)
    return folder


def test_every_nvidia_function_is_found_and_gpus_are_told_from_the_rest(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200", "nvidia")
    add(tmp_path, "0000:01:00.0", "0x10de", "0x2204", "0x030000", "nouveau")
    add(tmp_path, "0000:01:00.1", "0x10de", "0x1aef", "0x040300", "snd_hda_intel")
    add(tmp_path, "0000:07:00.0", "0x10de", "0x22a3", "0x068000", "nvidia-nvswitch")
    add(tmp_path, "0000:00:02.0", "0x8086", "0x3e92", "0x030000", "i915")
    pci = probe(tmp_path / "devices")
    assert [d.address for d in pci.nvidia] == ["0000:01:00.0", "0000:01:00.1", "0000:07:00.0", "0000:3b:00.0"]
    assert pci.gpus == [
        PciDevice(address="0000:01:00.0", device="0x2204", device_class="0x0300", driver="nouveau"),
        PciDevice(address="0000:3b:00.0", device="0x2330", device_class="0x0302", driver="nvidia"),
    ]


def test_a_gpu_without_a_driver_says_none(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200")
    assert probe(tmp_path / "devices").gpus[0].driver is None


def test_a_machine_without_nvidia_hardware_has_none(tmp_path: Path) -> None:
    add(tmp_path, "0000:00:02.0", "0x8086", "0x3e92", "0x030000", "i915")
    assert probe(tmp_path / "devices").nvidia == []


def test_a_device_that_vanishes_while_it_is_read_hides_no_other(tmp_path: Path) -> None:
    (add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200") / "class").unlink()
    (add(tmp_path, "0000:4b:00.0", "0x10de", "0x2330", "0x030200") / "vendor").unlink()
    add(tmp_path, "0000:5b:00.0", "0x10de", "0x2330", "0x030200")
    assert [d.address for d in probe(tmp_path / "devices").nvidia] == ["0000:5b:00.0"]


def test_a_machine_without_a_pci_bus_is_not_a_machine_without_gpus(tmp_path: Path) -> None:
    """Could not look is not the same as nothing there."""
    with pytest.raises(OSError, match="devices"):
        probe(tmp_path / "devices")
