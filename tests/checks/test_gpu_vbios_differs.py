"""gpu-vbios-differs: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-vbios-differs")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(index, vbios, name="H100", part="692-2G520-0200-000"):
    return Gpu(index=index, name=name, vbios=vbios, board_part=part)


def test_found():
    _, [finding] = run(one(0, "96.00.74"), one(1, "96.00.61"), one(2, "96.00.74"))
    assert finding.message == "3 x H100 have 2 versions of the VBIOS: 96.00.61, 96.00.74"
    assert [e.text for e in finding.evidence] == ["96.00.61: GPU 1", "96.00.74: GPU 0,2"]
    assert finding.severity is Severity.WARNING


def test_a_note_for_cards_that_are_bought_one_by_one():
    _, [finding] = run(one(0, "94.02", "RTX A6000", ""), one(1, "94.03", "RTX A6000", ""))
    assert finding.severity is Severity.NOTE


def test_another_part_number_is_a_note_and_has_a_firmware_of_its_own():
    _, [finding] = run(one(0, "96.00.74"), one(1, "96.00.61", part="692-2G520-0205-000"), one(2, "96.00.74"))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("3 x H100 are of 2 part numbers")
    assert [e.text for e in finding.evidence] == ["692-2G520-0200-000: GPU 0,2", "692-2G520-0205-000: GPU 1"]


def test_passes():
    cards = [one(0, "95.01", "NVIDIA GeForce RTX 4090", ""), one(1, "95.02", "NVIDIA GeForce RTX 4090", "")]
    kinds = [one(0, "96.00.74"), one(1, "92.00.19", "A100")]
    shops = [one(n, "95.01", "NVIDIA GeForce RTX 4090", part) for n, part in enumerate(("900-1", "900-2"))]
    for some in (cards, kinds, shops, [one(0, ""), one(1, "96.00.61")]):
        result, _ = run(*some)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
