"""nvlink-down: seen in logs, and in the links that NVML lists."""

import pytest

from gpudoctor.facts import Cuda, Gpu, GpuPair, Gpus, NvLink, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nvlink-down")
MESSAGE = "NVLink is down: GPUs talk over PCIe or not at all"
EXAMPLES = {
    (
        "node0:4711:4811 [1] graph/paths.cc:279 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. This should "
        "not be the case given their connectivity, and is probably due to a hardware issue."
    ): "NVLink is down on GPU 1 towards GPU 0: GPUs talk over PCIe or not at all",
    "GPU 0: NVIDIA A100-SXM4-80GB\n\t Link 3: <inactive>": (
        "NVLink is down (link 3): GPUs talk over PCIe or not at all"
    ),
    "\t Link 0: inActive": "NVLink is down (link 0): GPUs talk over PCIe or not at all",
    "NVML: Unable to retrieve NVLink information as all links are inActive": MESSAGE,
    "ERROR: node0: GPU 3 has nvlinks inactive": (
        "NVLink is down on GPU 3: GPUs talk over PCIe or not at all"
    ),
    "GPU 3: 2 inactive NVLinks (allowed: 0).": "NVLink is down on GPU 3: GPUs talk over PCIe or not at all",
    "GPU 3's NvLink link 2 is currently down. Check DCGM and system logs for errors.": (
        "NVLink is down (link 2) on GPU 3: GPUs talk over PCIe or not at all"
    ),
    "DCGM_FR_GPU_EXPECTED_NVLINKS_UP": MESSAGE,
    "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!": MESSAGE,
    "GPU 0 reported Xid 149, NETIR_LINK_DOWN Fatal XC0 i0 Link 14": MESSAGE,
}
NOT_THIS = [
    # a card that no bridge joins has no link that could be up
    "GPU: NVIDIA A100 80GB PCIe\n| | GPU 0's NvLink link 0 is currently down ... |",
    "The H100 PCIE cards have 12 of 18 links by design\nGPU 0 has nvlinks inactive: Link 4: Inactive",
    "This is on any system without NvLink.\nGPU 0's NvLink link 0 is currently down",
    (
        "NCCL INFO P2P is disabled between connected GPUs 2 and 1. You can repress this message with "
        "NCCL_IGNORE_DISABLED_P2P=1."
    ),
    "\t Link 0: 25 GB/s",
    "mlx5_core 0000:17:00.0 eth0: Link is Down",
    "GPU 0: NVIDIA A100-SXM4-80GB\n  MIG 3g.40gb     Device  0: (UUID: MIG-00000000)\n\t Link 0: <inactive>",
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


H100, A100, CARD = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"
TWO = Pci(
    nvidia=[PciDevice(address=f"0000:{n}0:00.0", device_class="0x0300", driver="nvidia") for n in range(1, 3)]
)
SWITCHES = Pci(nvidia=[PciDevice(address="0000:c0:00.0", device_class="0x0680")])


def nvml(name: str, of: int, *active: int, **fields: object) -> Gpus:
    return Gpus(
        devices=[
            Gpu(
                index=n, name=name, nvlinks=[NvLink(link=i, active=i < up) for i in range(of)], nvlinks_active=up,
                **fields,  # type: ignore[arg-type]
            )
            for n, up in enumerate(active)
        ]
    )  # fmt: skip


def matrix(name: str, number: int, lonely: int) -> Gpus:
    pairs = [
        GpuPair(first=a, second=b, path="SYS" if lonely in (a, b) else "NV18")
        for a in range(number)
        for b in range(a + 1, number)
    ]
    return Gpus(devices=[Gpu(index=n, name=name) for n in range(number)], pairs=pairs)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            {"gpus": nvml(H100, 18, 18, 17, 18)},
            "GPU 1: 17 of its NVLinks are up (down: 17), its siblings have 18",
        ),
        ({"gpus": nvml(A100, 12, 12, 0)}, "GPU 1: 0 of its NVLinks are up"),
        ({"gpus": nvml(A100, 12, *[0] * 8)}, "the NVLinks of all 8 GPUs are down"),
        ({"gpus": nvml(H100, 18, 0), "pci": SWITCHES}, "the GPU's NVLinks are down, although NVSwitches"),
        ({"gpus": nvml(H100, 18, 16), "pci": SWITCHES}, "it should have 18"),
        ({"gpus": nvml("NVIDIA GeForce RTX 3090", 4, 3)}, "a bridge's links come up together"),
        ({"gpus": nvml(CARD, 12, 12, 8)}, "GPU 1: 8 of its NVLinks are up"),
        (
            {"gpus": nvml("NVIDIA GeForce RTX 3090", 4, 4, 0), "pci": TWO},
            "the links of its partner (GPU 1) are down",
        ),
        ({"gpus": matrix(H100, 8, 5)}, "GPU 5 has no NVLink to any other GPU"),
    ],
)
def test_found(facts, says):
    _, [finding] = run(**facts)
    assert finding.severity is Severity.ERROR
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": nvml(H100, 18, *[18] * 8), "pci": SWITCHES},
        {"gpus": nvml("NVIDIA GeForce RTX 3090", 4, 0, 0)},  # no bridge
        {"gpus": nvml(CARD, 12, 0, 0, 0, 0)},
        {"gpus": nvml("NVIDIA GeForce RTX 3090", 4, 4, 0)},  # its partner may belong to another container
        {"gpus": nvml(CARD, 12, 12, 12, 0)},  # the third card has no partner
        {"gpus": nvml(CARD, 12, 4, 4)},  # one bridge of three
        {"gpus": nvml("NVIDIA H100 PCIe", 18, 12, 12)},
        {"gpus": nvml("Tesla V100-SXM2-16GB", 6, 4, 4, 4, 4)},  # a guest with four of eight
        {"gpus": nvml(H100, 18, 0)},  # one GPU handed to a guest
        {"gpus": nvml("NVIDIA GH200 480GB", 18, 0)},
        {"gpus": nvml(H100, 18, 0, 0, mig=True)},
        {"gpus": nvml(H100, 18, 0, 0, fabric_state="in_progress"), "pci": SWITCHES},
        {"gpus": nvml(A100, 12, 0, 0), "cuda": Cuda(init=802), "pci": SWITCHES},
        {"gpus": Gpus(devices=[Gpu(index=0, name="NVIDIA L4")])},
        {"gpus": matrix(CARD, 3, 2)},
        {"gpus": matrix("", 3, 2)},  # cards or not: two are joined, as a bridge joins them
        {"gpus": matrix(H100, 2, 1)},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_a_guest_with_a_part_of_a_board_may_be_meant_to_be_so():
    _, [finding] = run(gpus=nvml(A100, 12, 0, 0))
    assert finding.severity is Severity.WARNING
    assert "the NVLinks of all 2 GPUs are down" in finding.message


def of_one(index: int, of: int, up: int) -> Gpus:
    links = [NvLink(link=n, active=n < up) for n in range(of)]
    return Gpus(devices=[Gpu(index=index, name=A100, nvlinks=links, nvlinks_active=up)])


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        (of_one(3, 12, 10), "GPU 3: 10 of 12 NVLinks are up (down: 10, 11)"),
        (of_one(2, 0, 0), "GPU 2: no NVLink is up"),
    ],
)
def test_the_one_gpu_of_a_board_that_a_text_shows(gpus, says):
    _, [finding] = run(gpus=gpus)
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize("gpus", [of_one(0, 12, 0), of_one(3, 12, 12)])
def test_the_one_gpu_of_a_board_whose_links_are_as_they_should_be(gpus):
    assert run(gpus=gpus)[1] == []


def test_a_machine_without_a_gpu_is_asked_nothing():
    assert run(gpus=Gpus(error="NVML Shared Library Not Found"), pci=Pci())[0].status is CheckStatus.PASSED


@pytest.mark.parametrize("facts", [{}, {"gpus": Gpus(error="Driver Not Loaded")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


NVL = "NVIDIA H100 NVL"


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        (nvml(NVL, 12, 0, 0, 12, 12), ["GPUs 0,1: no NVLink is up, while 2 other cards of this model"]),
        (nvml(NVL, 12, 8, 8), ["8 of the 12 NVLinks", "8 of the 12 NVLinks"]),
        (
            nvml("NVIDIA H200 NVL", 18, 18, 18, 12, 12),
            ["GPU 2: 12 of its NVLinks are up", "GPU 3: 12 of its NVLinks"],
        ),
    ],
)
def test_cards_that_are_sold_with_their_bridges(gpus, says):
    _, findings = run(gpus=gpus)
    assert len(findings) == len(says)
    for finding, words in zip(findings, says, strict=True):
        assert words in finding.message


def test_cards_without_any_bridge():
    assert run(gpus=nvml(NVL, 12, 0, 0, 0, 0))[1] == []


def test_a_matrix_that_is_cut_off_shows_nothing_of_the_rest():
    whole = matrix(H100, 8, 5)
    for pairs in (whole.pairs[:7], [pair for pair in whole.pairs if pair.second < 3]):
        assert run(gpus=Gpus(devices=whole.devices, pairs=pairs))[1] == []


@pytest.mark.parametrize(
    ("name", "joined", "found"), [(A100, False, True), (A100, True, False), (CARD, False, False)]
)
def test_a_matrix_of_nvlink_alone(name: str, joined: bool, found: bool) -> None:
    pairs = [GpuPair(first=0, second=1, nvlink=joined)]
    _, findings = run(gpus=Gpus(devices=[Gpu(index=n, name=name) for n in range(2)], pairs=pairs))
    assert bool(findings) is found
