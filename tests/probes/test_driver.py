"""The NVIDIA kernel module, from trees laid out as /proc, /sys and /dev are."""

from pathlib import Path

import pytest

from gpudoctor.probes.driver import probe

CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024"
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"
    "  (dvs-builder@U22-I3-AE18-23-3)  Wed Aug 27 18:33:56 UTC 2025"
)
ARM = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.124.06  Release Build  (x@y)  Wed Feb 26 2025"
OLD = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.51  Sun Jun  7 19:39:15 UTC 2020"


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("line", "version"), [(CLOSED, "535.183.01"), (OPEN, "580.82.07"), (ARM, "570.124.06"), (OLD, "450.51")]
)
def test_the_version_is_read_from_the_line_of_either_kind_of_module(
    tmp_path: Path, line: str, version: str
) -> None:
    write(tmp_path / "proc/driver/nvidia/version", f"{line}\nGCC version:  gcc version 12.3.0 (Ubuntu)\n")
    write(tmp_path / "sys/module/nvidia/version", f"{version}\n")
    driver = probe(tmp_path)
    assert driver.version == driver.module_version == version
    assert driver.description.startswith("NVIDIA UNIX ")
    assert "gcc" not in driver.description
    assert driver.loaded


def test_device_nodes_are_listed_and_folders_are_not(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        write(tmp_path / "dev" / name)
    write(tmp_path / "dev/nvidia-caps/nvidia-cap1")
    (tmp_path / "dev/nvidia0").chmod(0o666)
    (tmp_path / "dev/nvidia1").chmod(0o660)
    nodes = probe(tmp_path).nodes
    assert [n.path for n in nodes] == ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]
    assert all(n.readable and n.writable for n in nodes)
    assert [n.open_to_all for n in nodes[1:3]] == [True, False]


def test_wsl_counts_as_a_loaded_driver(tmp_path: Path) -> None:
    write(tmp_path / "dev/dxg")
    driver = probe(tmp_path)
    assert driver.dxg
    assert driver.version is None
    assert driver.loaded


def test_a_machine_without_the_module_has_no_version(tmp_path: Path) -> None:
    driver = probe(tmp_path)
    assert (driver.version, driver.module_version, driver.nodes, driver.dxg) == (None, None, [], False)
    assert not driver.loaded


@pytest.mark.parametrize("text", ["", "\n", "something that nobody knows\n"])
def test_a_line_that_holds_no_version_gives_none(tmp_path: Path, text: str) -> None:
    write(tmp_path / "proc/driver/nvidia/version", text)
    assert probe(tmp_path).version is None
