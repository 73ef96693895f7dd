"""Which GPU a rank uses, which GPUs send to each other over PCIe, and which sit on a board."""

import pytest

from gpudoctor.facts import (
    Gpu,
    GpuPair,
    Gpus,
    KernelEvent,
    KernelLog,
    Launch,
    Pci,
    PciDevice,
    over_pcie,
    own_gpu,
)

CARDS = [PciDevice(address=f"0000:0{n}:00.0", device_class="0x0302") for n in range(3)]
BUS = Pci(nvidia=CARDS)
GPUS = Gpus(devices=[Gpu(index=n, uuid=f"GPU-{n}abc", pci_address=f"0000:0{n}:00.0") for n in range(3)])


@pytest.mark.parametrize(
    ("variables", "index"),
    [
        ({"LOCAL_RANK": "2"}, 2),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "2,1"}, 2),
        ({"LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "GPU-0abc,GPU-2"}, 2),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 1),
        ({"RANK": "9", "SLURM_LOCALID": "1"}, 1),
        ({"SLURM_LOCALID": "0"}, None),  # a batch script's shell, too, has one
        ({"LOCAL_RANK": "3"}, None),
        ({"LOCAL_RANK": "-1"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "7"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": ""}, None),
        ({}, None),
    ],
)
def test_the_gpu_of_a_rank(variables: dict[str, str], index: int | None) -> None:
    own = own_gpu(BUS, GPUS, Launch(variables=variables))
    assert own == (None if index is None else CARDS[index])


def test_the_only_gpu_is_the_own_one() -> None:
    assert own_gpu(BUS, Gpus(devices=GPUS.devices[1:2]), None) == CARDS[1]
    assert own_gpu(BUS, None, None) is None


@pytest.mark.parametrize(
    ("name", "path", "p2p", "over"),
    [
        ("NVIDIA L40S", "PHB", "OK", True),
        ("NVIDIA L40S", "", "", True),
        ("NVIDIA L40S", "SYS", "CNS", False),
        ("NVIDIA A100-SXM4-80GB", "NV12", "OK", False),
        ("NVIDIA GeForce RTX 5090", "PHB", "", False),
        ("NVIDIA GeForce RTX 4090", "PHB", "OK", True),  # a patched driver
        ("Quadro RTX 5000", "PHB", "", True),
    ],
)
def test_who_sends_over_pcie(name: str, path: str, p2p: str, over: bool) -> None:
    gpus = Gpus(
        devices=[Gpu(index=n, name=name) for n in range(2)],
        pairs=[GpuPair(first=0, second=1, path=path, p2p=p2p)],
    )
    assert over_pcie(gpus) is over


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("Tesla V100-SXM2-32GB", True),
        ("NVIDIA A100-SXM4-80GB", True),
        ("NVIDIA H100 80GB HBM3", True),
        ("NVIDIA H200", True),
        ("NVIDIA H20", True),
        ("NVIDIA B200", True),
        ("NVIDIA GB200", True),
        ("NVIDIA B300 SXM6 AC", True),
        ("NVIDIA A100 80GB PCIe", False),
        ("NVIDIA A100-PCIE-40GB", False),
        ("NVIDIA H100 PCIe", False),
        ("NVIDIA H100 NVL", False),
        ("NVIDIA H200 NVL", False),
        ("NVIDIA H100 80GB HBM2e", False),
        ("NVIDIA GH200 480GB", False),
        ("NVIDIA GeForce RTX 3090", False),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", False),
        ("", False),
    ],
)
def test_gpus_of_boards_by_their_names(name: str, board: bool) -> None:
    assert Gpu(index=0, name=name).board is board


@pytest.mark.parametrize(
    ("seconds", "uptime", "age"),
    [(10.0, 25.0, 15.0), (None, 25.0, None), (10.0, None, None), (30.0, 25.0, None)],
)
def test_the_age_of_an_event(seconds: float | None, uptime: float | None, age: float | None) -> None:
    event = KernelEvent(kind="xid", text="", seconds=seconds)
    assert KernelLog(events=[event], uptime_seconds=uptime).age(event) == age
