"""gpu-confidential-mode: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Launch, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-confidential-mode")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


TWO = [Gpu(index=0, name="H100"), Gpu(index=1, name="H100")]


def mode(devices=TWO, launch=None, **fields):
    facts = {"gpus": Gpus(devices=devices, **fields)}
    return run(**facts, **({"launch": launch} if launch else {}))


def test_found():
    _, [finding] = mode(confidential=True, confidential_multi_gpu="none")
    assert "without a mode for several GPUs, and 2 are here" in finding.message
    assert finding.severity is Severity.ERROR


def test_found_not_ready():
    fields = {"confidential": True, "confidential_multi_gpu": "protected_pcie"}
    _, [finding] = mode(TWO[:1], **fields, confidential_ready=False)
    assert "were not set ready" in finding.message
    assert mode(**fields, confidential_ready=True)[0].status is CheckStatus.PASSED


def test_passes():
    one = Launch(variables={"CUDA_VISIBLE_DEVICES": "1"})
    for result, _ in (
        mode(),
        mode(confidential=False),
        mode(confidential=True, confidential_multi_gpu="protected_pcie"),
        mode(TWO[:1], confidential=True, confidential_multi_gpu="none"),
        mode(launch=one, confidential=True, confidential_multi_gpu="none"),
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_without_the_mode():
    result, _ = mode(confidential=True)
    assert result.status is CheckStatus.UNKNOWN


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
