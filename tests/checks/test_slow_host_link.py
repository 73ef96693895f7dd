"""slow-host-link: seen in measurements."""

import pytest

from gpudoctor.facts import DeviceSpeed, Gpu, Gpus, Host, Measurements
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

H100 = "NVIDIA H100 80GB HBM3"
CARD = "NVIDIA GeForce RTX 4090"


def device(ordinal=0, name=H100, there=54.0, back=53.0):
    return DeviceSpeed(
        ordinal=ordinal,
        name=name,
        pci_address=f"0000:{ordinal:02x}:00.0",
        host_to_device=there,
        device_to_host=back,
    )


def nvml(generation=5, width=16, width_max=16, count=4):
    return [
        Gpu(
            index=n,
            name="GPU",
            pci_address=f"0000:{n:02x}:00.0",
            pcie_generation_max=generation,
            pcie_width=width,
            pcie_width_max=width_max,
        )
        for n in range(count)
    ]


def run(*devices, gpus=None, **facts):
    facts = {"measurements": Measurements(devices=list(devices)), **facts}
    if gpus is not None:
        facts["gpus"] = gpus
    return examine(Registry().check("slow-host-link"), Source.ENVIRONMENT, Snapshot(facts))


@pytest.mark.parametrize("gpus", [None, Gpus(devices=nvml())])
def test_a_board_gpu_at_a_quarter_whether_nvml_tells_or_not(gpus):
    _, [finding] = run(device(there=13.8), gpus=gpus)
    assert (
        "GPU 0 (0000:00:00.0) receives 13.8 GB/s, 22 % of the 63 that its PCIe link should carry"
        in finding.message
    )


def test_a_board_gpu_with_four_lanes_is_slow_even_for_its_link():
    _, [finding] = run(device(there=14.0, back=14.0), gpus=Gpus(devices=nvml(width=4)))
    assert "of the 63" in finding.message


def test_a_board_gpu_in_an_older_server_is_not():
    result, findings = run(device(there=25.0, back=25.0), gpus=Gpus(devices=nvml(generation=4)))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_a_board_gpu_behind_a_switch_with_an_older_link_is_not():
    """A100s of a cloud whose processors have PCIe 3."""
    a100 = "NVIDIA A100-SXM4-80GB"
    result, findings = run(device(name=a100, there=12.1, back=12.4), gpus=Gpus(devices=nvml(generation=4)))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_a_card_in_a_slot_of_eight_lanes_gives_what_they_carry():
    result, findings = run(device(name=CARD, there=12.6, back=12.5), gpus=Gpus(devices=nvml(4, 8)))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_sends_slowly_alone():
    _, [finding] = run(device(name=CARD, there=25.0, back=6.0), gpus=Gpus(devices=nvml(4)))
    assert "sends 6.0 GB/s, 19 % of the 32" in finding.message


def test_below_its_siblings_where_no_link_is_known():
    same = [device(n, "NVIDIA Unheard Of", 24.0, 24.0) for n in range(3)]
    _, [finding] = run(*same, device(3, "NVIDIA Unheard Of", 8.0, 24.0))
    assert "GPU 3 (0000:03:00.0) receives 8.0 GB/s, 33 % of the 24.0 of its siblings" in finding.message


def test_encrypted_copies_and_wsl_are_not_judged():
    slow = device(there=4.0, back=4.0)
    result, _ = run(slow, gpus=Gpus(devices=nvml(), confidential=True))
    assert (result.status, "confidential computing" in result.reason) == (CheckStatus.UNKNOWN, True)
    result, _ = run(slow, gpus=Gpus(devices=nvml()), host=Host(wsl=True))
    assert result.status is CheckStatus.UNKNOWN


def test_unknown_where_nothing_was_measured_or_known():
    result, _ = run()
    assert (result.status, result.reason) == (
        CheckStatus.UNKNOWN,
        "no copies between host and GPU were measured",
    )
    result, _ = run(device(name="NVIDIA Unheard Of"))
    assert result.status is CheckStatus.UNKNOWN
