"""NVIDIA hardware on the PCI bus, from trees laid out as sysfs lays them out."""

from pathlib import Path

import pytest

from gpudoctor.facts import AerErrors, path_between
from gpudoctor.probes.pci import probe


def add(
    bus: Path, address: str, vendor: str, device: str, device_class: str, driver: str | None = None
) -> Path:
    folder = bus / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("device", device), ("class", device_class)):
        (folder / name).write_text(value + "\n")
    if driver is not None:
        target = bus / "sys/bus/pci/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(target)
    return folder


def test_every_nvidia_function_is_found_and_gpus_are_told_from_the_rest(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200", "nvidia")
    add(tmp_path, "0000:01:00.0", "0x10de", "0x2204", "0x030000", "nouveau")
    add(tmp_path, "0000:01:00.1", "0x10de", "0x1aef", "0x040300", "snd_hda_intel")
    add(tmp_path, "0000:07:00.0", "0x10de", "0x22a3", "0x068000", "nvidia-nvswitch")
    add(tmp_path, "0000:00:02.0", "0x8086", "0x3e92", "0x030000", "i915")
    pci = probe(tmp_path)
    assert [d.address for d in pci.nvidia] == ["0000:01:00.0", "0000:01:00.1", "0000:07:00.0", "0000:3b:00.0"]
    assert [(d.device, d.device_class, d.driver) for d in pci.gpus] == [
        ("0x2204", "0x0300", "nouveau"),
        ("0x2330", "0x0302", "nvidia"),
    ]


def test_a_gpu_without_a_driver_says_none(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200")
    assert probe(tmp_path).gpus[0].driver is None


def test_a_machine_without_nvidia_hardware_has_none(tmp_path: Path) -> None:
    add(tmp_path, "0000:00:02.0", "0x8086", "0x3e92", "0x030000", "i915")
    assert probe(tmp_path).nvidia == []


def test_a_device_that_vanishes_while_it_is_read_hides_no_other(tmp_path: Path) -> None:
    (add(tmp_path, "0000:3b:00.0", "0x10de", "0x2330", "0x030200") / "class").unlink()
    (add(tmp_path, "0000:4b:00.0", "0x10de", "0x2330", "0x030200") / "vendor").unlink()
    add(tmp_path, "0000:5b:00.0", "0x10de", "0x2330", "0x030200")
    assert [d.address for d in probe(tmp_path).nvidia] == ["0000:5b:00.0"]


def test_a_machine_without_a_pci_bus_is_not_a_machine_without_gpus(tmp_path: Path) -> None:
    """Could not look is not the same as nothing there."""
    with pytest.raises(OSError, match="devices"):
        probe(tmp_path)


def place(root: Path, chain: str, address: str, **files: str) -> Path:
    """Lay a GPU below bridges, as the kernel does: a folder in the folder of the port above, linked from the bus."""
    folder = root / "sys/devices" / chain / address
    folder.mkdir(parents=True)
    given = {"vendor": "0x10de", "device": "0x26b9", "class": "0x030200", **files}
    for name, text in given.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text + "\n")
    link = root / "sys/bus/pci/devices" / address
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)
    return folder


SWITCH = "pci0000:16/0000:16:01.0/0000:17:00.0"
"""A root port, and the upstream port of a switch."""


def acs(control: int, length: int = 4096) -> bytes:
    """Return a configuration space whose second extended capability is ACS."""
    space = bytearray(length)
    if length > 0x200:
        space[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")  # AER, then the next one
        space[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
        space[0x14E:0x150] = control.to_bytes(2, "little")
    return bytes(space)


def test_everything_that_sysfs_tells(tmp_path: Path) -> None:
    folder = place(
        tmp_path, f"{SWITCH}/0000:18:00.0", "0000:19:00.0",
        current_link_width="8", max_link_width="16",
        current_link_speed="16.0 GT/s PCIe", max_link_speed="32.0 GT/s PCIe",
        numa_node="1", local_cpulist="32-63,96-127", aer_dev_correctable="Receiver Error 2\nTOTAL_ERR_COR 2",
        aer_dev_nonfatal="Unsupported Request 1\nTOTAL_ERR_NONFATAL 1", aer_dev_fatal="DLP 0\nTOTAL_ERR_FATAL 0",
    )  # fmt: skip
    (folder.parent / "max_link_width").write_text("16\n")
    group = tmp_path / "sys/kernel/iommu_groups/7"
    group.mkdir(parents=True)
    (group / "type").write_text("DMA-FQ\n")
    (folder / "iommu_group").symlink_to(group)
    told = tmp_path / "proc/driver/nvidia/gpus/0000:19:00.0/information"
    told.parent.mkdir(parents=True)
    told.write_text("Model: \t\t NVIDIA L40S\nDevice Minor: \t 3\nGPU Excluded:\t No\n")
    [device] = probe(tmp_path).nvidia
    assert (device.link_width, device.link_width_max, device.upstream_width_max) == (8, 16, 16)
    assert (device.link_speed, device.link_speed_max) == ("16.0 GT/s PCIe", "32.0 GT/s PCIe")
    assert (device.numa_node, device.local_cpus, device.iommu) == (1, "32-63,96-127", "DMA-FQ")
    assert device.aer == AerErrors(correctable=2, nonfatal=1, kinds={"Unsupported Request": 1})
    assert device.above == ["0000:18:00.0", "0000:17:00.0", "0000:16:01.0"]
    assert (device.switch, device.root) == ("0000:18:00.0", "pci0000:16")
    assert (device.minor, device.excluded) == (3, False)


def test_what_a_lost_device_answers_is_not_known(tmp_path: Path) -> None:
    """A device that does not answer reads all ones; the kernel writes ``Unknown`` and -1 where it cannot say."""
    place(
        tmp_path, "pci0000:00/0000:00:01.0", "0000:01:00.0",
        current_link_width="63", max_link_width="0", current_link_speed="Unknown", numa_node="-1",
    )  # fmt: skip
    [device] = probe(tmp_path).nvidia
    assert (device.link_width, device.link_width_max, device.link_speed, device.numa_node) == (
        None,
        None,
        "",
        None,
    )
    assert (device.aer, device.iommu, device.upstream_width_max) == (None, "", None)


@pytest.mark.parametrize(
    "unreadable", ["current_link_width", "local_cpulist", "aer_dev_fatal", "iommu_group/type"]
)
def test_a_file_that_gives_an_error_hides_nothing_else(tmp_path: Path, unreadable: str) -> None:
    folder = place(tmp_path, "pci0000:00", "0000:01:00.0", max_link_width="16")
    (folder / unreadable).mkdir(
        parents=True
    )  # reading a folder fails with EISDIR as a lost device does with EIO
    assert probe(tmp_path).nvidia[0].link_width_max == 16


@pytest.mark.parametrize(
    ("space", "redirects"),
    [
        (acs(0x1D), True),
        (acs(0x01), True),
        (acs(0x04), True),
        (acs(0x00), False),
        (acs(0x40), False),
        (acs(0x1D, 64), None),  # all that is readable without root
        (acs(0x1D, 256), None),
        (bytes(4096), False),
        (b"\xff" * 4096, False),
        (
            (0x0001 | 0x100 << 20).to_bytes(4, "little").rjust(0x104, b"\0") + bytes(64),
            False,
        ),  # it points to itself
    ],
)
def test_access_control_of_the_bridge_above(tmp_path: Path, space: bytes, redirects: bool | None) -> None:
    folder = place(tmp_path, "pci0000:00/0000:00:01.0", "0000:01:00.0")
    (folder.parent / "config").write_bytes(space)
    [bridge] = probe(tmp_path).bridges
    assert (bridge.address, bridge.acs) == ("0000:00:01.0", redirects)


def test_gpus_of_other_makers_are_named_and_a_processors_own_graphics_of_intel_is_not(tmp_path: Path) -> None:
    place(tmp_path, "pci0000:00", "0000:00:02.0", vendor="0x8086", **{"class": "0x030000"})
    place(tmp_path, "pci0000:00/0000:00:01.0", "0000:03:00.0", vendor="0x8086", **{"class": "0x030000"})
    place(tmp_path, "pci0000:40/0000:40:01.0", "0000:41:00.0", vendor="0x1002", **{"class": "0x120000"})
    place(tmp_path, "pci0000:40/0000:40:01.0", "0000:41:00.1", vendor="0x1002", **{"class": "0x040300"})
    pci = probe(tmp_path)
    assert ([d.address for d in pci.amd], [d.address for d in pci.intel]) == (
        ["0000:41:00.0"],
        ["0000:03:00.0"],
    )
    assert pci.nvidia == []


def test_adapters_with_rdma_are_network_adapters_to_send_through(tmp_path: Path) -> None:
    nic = place(tmp_path, f"{SWITCH}/0000:18:01.0", "0000:1a:00.0", vendor="0x15b3", **{"class": "0x020700"})
    (nic / "infiniband/mlx5_0").mkdir(parents=True)
    (nic / "net/ib0").mkdir(parents=True)
    part = place(tmp_path, f"{SWITCH}/0000:18:01.0", "0000:1a:00.1", vendor="0x15b3", **{"class": "0x020700"})
    (part / "infiniband/mlx5_1").mkdir(parents=True)
    (part / "physfn").symlink_to(nic)
    place(tmp_path, SWITCH, "0000:1b:00.0", vendor="0x8086", **{"class": "0x020000"})  # without RDMA
    place(tmp_path, f"{SWITCH}/0000:18:00.0", "0000:19:00.0")
    pci = probe(tmp_path)
    [adapter] = pci.nics
    assert adapter.names == ["mlx5_0", "ib0"]
    assert path_between(pci.gpus[0], adapter) == "PIX"


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (f"{SWITCH}/0000:18:00.0", f"{SWITCH}/0000:18:04.0", "PIX"),
        (f"{SWITCH}/0000:18:00.0/0000:19:00.0/0000:1a:00.0", f"{SWITCH}/0000:18:04.0", "PXB"),
        (SWITCH, "pci0000:16/0000:16:02.0/0000:30:00.0", "PHB"),
        (SWITCH, "pci0000:40/0000:40:01.0", "NODE"),
        (SWITCH, "pci0000:80/0000:80:01.0", "SYS"),
    ],
)
def test_how_two_devices_are_connected(tmp_path: Path, first: str, second: str, path: str) -> None:
    place(tmp_path, first, "0000:90:00.0", numa_node="0")
    place(tmp_path, second, "0000:91:00.0", numa_node="1" if "pci0000:80" in second else "0")
    one, other = probe(tmp_path).gpus
    assert path_between(one, other) == path_between(other, one) == path


def test_the_control_group_tells_whose_share_this_is(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    own = tmp_path / "proc/self/cgroup"
    own.parent.mkdir(parents=True)
    for text, share in (
        ("0::/user.slice/user-1000.slice/session-3.scope\n", False),
        ("0::/system.slice/slurmd.service\n", False),  # a prolog
        ("0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", True),
        ("12:devices:/slurm/uid_1000/job_7/step_0\n11:memory:/\n0::/\n", True),
        ("0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123.scope\n", True),
    ):
        own.write_text(text)
        assert probe(tmp_path).share is share, text


@pytest.mark.parametrize("by_attributes", [True, False])
def test_bridges_of_a_flat_copy_are_known_by_their_buses(tmp_path: Path, by_attributes: bool) -> None:
    add(tmp_path, "0000:19:00.0", "0x10de", "0x26b9", "0x030200", "nvidia")
    for address, first, last in (
        ("0000:16:01.0", 0x17, 0x1B),
        ("0000:17:00.0", 0x19, 0x19),
        ("0000:80:01.0", 0x81, 0x90),
    ):
        bridge = add(tmp_path, address, "0x1000", "0xc030", "0x060400")
        (bridge / "max_link_width").write_text("8\n")
        space = bytearray(acs(0x1D))
        if by_attributes:
            (bridge / "secondary_bus_number").write_text(f"{first}\n")
            (bridge / "subordinate_bus_number").write_text(f"{last}\n")
        else:
            space[0x19], space[0x1A] = first, last
        (bridge / "config").write_bytes(space)
    pci = probe(tmp_path)
    assert pci.gpus[0].above == ["0000:17:00.0", "0000:16:01.0"]
    assert pci.gpus[0].upstream_width_max == 8
    assert [(bridge.address, bridge.acs) for bridge in pci.bridges] == [
        ("0000:17:00.0", True),
        ("0000:16:01.0", True),
    ]
