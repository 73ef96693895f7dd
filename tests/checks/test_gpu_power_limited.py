"""gpu-power-limited: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "One V100 of this node is capped at 150 W, the others are not.": (
        "a GPU may draw no more than 150 W: where that is less than its default, it costs speed under load"
    ),
}
NOT_THIS = ["nvidia-smi -pl 250: the card is limited to 250 W now", "it draws 150 W of 300 W"]
CHECK = Registry().check("gpu-power-limited")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(index, limit, default=700):
    return Gpu(index=index, name="H100", power_limit_watts=limit, power_limit_default_watts=default)


def test_found():
    _, [finding] = run(one(0, 700), one(1, 450))
    assert "GPU 1: the power limit is 450 W, and 700 W by default" in finding.message
    assert "all ranks wait for it" in finding.message
    assert finding.fixes[1].command == "sudo nvidia-smi -i 1 -pl 700"
    assert finding.severity is Severity.WARNING


def test_unknown_without_limits():
    result, _ = run(one(0, None, None))
    assert result.status is CheckStatus.UNKNOWN


def test_passes():
    for gpu in (one(0, 700), one(0, 690), one(0, 800)):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED


def test_others_of_the_model_have_more_where_the_default_is_not_told():
    gpus = [
        Gpu(index=n, name="NVIDIA H100 80GB HBM3", power_limit_watts=watts)
        for n, watts in enumerate((400.0, 700.0))
    ]
    findings = run(*gpus)[1]
    assert "GPU 0: the power limit is 400 W, and 700 W of others of the same model" in findings[0].message
    alike = [Gpu(index=n, name="NVIDIA H100 80GB HBM3", power_limit_watts=400.0) for n in range(2)]
    assert run(*alike)[1] == []


def test_names_that_the_table_cut_are_of_no_model():
    cards = [
        Gpu(index=n, name="NVIDIA GeForce", power_limit_watts=watts) for n, watts in enumerate((370, 300))
    ]
    assert run(*cards)[1] == []
