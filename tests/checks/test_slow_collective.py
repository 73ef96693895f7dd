"""slow-collective: seen in measurements."""

from gpudoctor.facts import (
    Collective,
    DeviceSpeed,
    Gpu,
    GpuPair,
    Gpus,
    Launch,
    Measurements,
    Missing,
    Payload,
    PeerCopy,
)
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

H100, CARD = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 3090"


def nccl(bus, ranks=8, size=1 << 30, **more):
    return Collective(
        backend="nccl",
        ranks=ranks,
        payloads=[Payload(size=size, seconds=0.01, bus=bus)],
        checked=["float32"],
        **more,
    )


def nvml(count, path):
    pairs = [GpuPair(first=a, second=b, path=path) for a in range(count) for b in range(a + 1, count)]
    devices = [
        Gpu(index=n, name="x", pci_address=f"0000:{n:02x}:00.0", pcie_generation_max=4, pcie_width=16)
        for n in range(count)
    ]
    return Gpus(devices=devices, pairs=pairs)


def run(name=H100, count=8, collectives=(), copies=(), path="", missing=(), variables=None):
    devices = [DeviceSpeed(ordinal=n, name=name, pci_address=f"0000:{n:02x}:00.0") for n in range(count)]
    measured = Measurements(
        devices=devices, collectives=list(collectives), copies=list(copies), missing=list(missing)
    )
    facts = {"measurements": measured, "launch": Launch(variables=variables or {})}
    if path:
        facts["gpus"] = nvml(count, path)
    return examine(Registry().check("slow-collective"), Source.ENVIRONMENT, Snapshot(facts))


def copy(a, b, speed, **more):
    return PeerCopy(source=a, target=b, speed=speed, wrong_elements=0, **more)


def test_eight_h100_with_200():
    _, [finding] = run(collectives=[nccl(200.0)])
    assert finding.message == (
        "all-reduce of 1.0 GiB over 8 GPUs has a bus bandwidth of 200 GB/s, 43 % of the 460 that such links give: "
        "every step of the training waits for it"
    )


def test_without_nvls_it_is_slower_and_fine():
    """8 x H200 give 367 GB/s over rings (stas00/ml-engineering), 90 % of that at 256 MiB."""
    result, findings = run(collectives=[nccl(330.0, size=256 << 20)], path="NV18")
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_small_messages_are_not_judged():
    result, findings = run(collectives=[nccl(40.0, size=1 << 20)])
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_two_gpus_are_held_against_the_links_between_them():
    result, _ = run(count=2, collectives=[nccl(76.0, ranks=2)], path="NV4")
    assert result.status is CheckStatus.PASSED
    _, [finding] = run(count=2, collectives=[nccl(12.0, ranks=2)], path="NV4")
    assert "12 GB/s, 12 % of the 100" in finding.message


def test_cards_without_nvlink_are_not_held_against_it():
    result, findings = run(CARD, 2, [nccl(4.0, ranks=2)], [copy(0, 1, 9.0), copy(1, 0, 9.0)], path="PHB")
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_peer_copies_through_an_iommu():
    """2 GB/s where the way through host memory gives 13 to 22 (huggingface/ml-engineering)."""
    _, [finding] = run(CARD, 2, copies=[copy(0, 1, 1.8), copy(1, 0, 14.0)], path="SYS")
    assert "GPU 0 sends GPU 1 1.8 GB/s over SYS, where its link carries 32" in finding.message


def test_one_pair_below_the_others_of_its_kind():
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    _, [finding] = run(
        "NVIDIA Unheard Of", 4, copies=[copy(a, b, 6.0 if (a, b) == (2, 3) else 20.0) for a, b in pairs]
    )
    assert "GPU 2 sends GPU 3 6.0 GB/s, where pairs of the same kind reach 20" in finding.message


def test_what_was_set_by_hand_comes_first():
    _, [finding] = run(collectives=[nccl(20.0)], variables={"NCCL_P2P_DISABLE": "1"})
    assert finding.fixes[0].command == "unset NCCL_P2P_DISABLE"
    _, [finding] = run(collectives=[nccl(20.0)])
    assert "unset" not in finding.fixes[0].command


def test_one_gpu_has_nobody_to_be_slow_with():
    result, findings = run(
        count=1, missing=[Missing(what="copies between GPUs and NCCL", why="there is one GPU")]
    )
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_unknown_where_it_failed_or_was_not_tried():
    result, _ = run(collectives=[Collective(backend="nccl", ranks=8, error="rank 2: unhandled system error")])
    assert (result.status, "rank 2: unhandled system error" in result.reason) == (CheckStatus.UNKNOWN, True)
    result, _ = run(count=0, missing=[Missing(what="GPUs and copies between them", why="torch can use none")])
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "torch can use none")


def test_unknown_where_nothing_is_known_of_the_links():
    result, _ = run("NVIDIA Unheard Of", 2, [nccl(4.0, ranks=2)])
    assert (result.status, "how the GPUs are connected" in result.reason) == (CheckStatus.UNKNOWN, True)
