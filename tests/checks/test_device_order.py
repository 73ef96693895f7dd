"""device-order: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Launch, Pci, Torch, TorchDevice
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("device-order")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


OLD = Gpu(index=0, name="Tesla T4", capability="7.5", memory_bytes=16 << 30)
NEW = Gpu(index=1, name="NVIDIA A100", capability="8.0", memory_bytes=80 << 30)
MORE = Gpu(index=2, name="NVIDIA A100", capability="8.0", memory_bytes=80 << 30)


def order(*devices, names=(), **variables):
    torch = Torch(devices=[TorchDevice(ordinal=n, name=name) for n, name in enumerate(names)])
    return run(*devices, launch=Launch(variables=variables), torch=torch)


def test_found_by_what_torch_sees():
    _, [finding] = order(OLD, NEW, names=["NVIDIA A100", "Tesla T4"])
    assert (
        finding.message
        == "CUDA_DEVICE_ORDER is unset: GPU 0 is NVIDIA A100 to CUDA, and Tesla T4 to nvidia-smi, so one number means two GPUs"
    )
    assert finding.severity is Severity.WARNING


def test_found_by_capability_where_torch_sees_nothing():
    _, [finding] = order(OLD, NEW, CUDA_DEVICE_ORDER="FASTEST_FIRST")
    assert "CUDA_DEVICE_ORDER is FASTEST_FIRST" in finding.message


def test_a_list_of_numbers_that_means_other_gpus_is_an_error():
    _, [finding] = order(OLD, NEW, MORE, CUDA_VISIBLE_DEVICES="1,2")
    assert (
        "means NVIDIA A100, Tesla T4 to CUDA, and NVIDIA A100, NVIDIA A100 by the numbers" in finding.message
    )
    assert finding.severity is Severity.ERROR


def test_a_value_that_cuda_does_not_know_is_a_note():
    _, [finding] = order(NEW, MORE, CUDA_DEVICE_ORDER="PCI_BUS")
    assert finding.severity is Severity.NOTE
    assert (
        finding.message == "CUDA_DEVICE_ORDER is PCI_BUS, and CUDA knows FASTEST_FIRST and PCI_BUS_ID alone"
    )
    assert order(NEW, MORE, CUDA_DEVICE_ORDER="FASTEST_FIRST")[0].status is CheckStatus.PASSED


def test_a_wrong_value_shows_without_a_gpu_too():
    launch = Launch(variables={"CUDA_DEVICE_ORDER": "PCI_ORDER"})
    no_driver = Gpus(error="Driver Not Loaded", error_code=9)
    for facts in ({"launch": launch}, {"launch": launch, "gpus": no_driver, "pci": Pci()}):
        _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert finding.severity is Severity.NOTE
        assert finding.message.startswith("CUDA_DEVICE_ORDER is PCI_ORDER, and CUDA knows")


def test_passes():
    for result, _ in (
        order(NEW, MORE),
        order(OLD, NEW, CUDA_DEVICE_ORDER="PCI_BUS_ID"),
        order(OLD, NEW, names=["Tesla T4", "NVIDIA A100"]),
        order(OLD, NEW, CUDA_VISIBLE_DEVICES="0,1"),
        order(OLD, NEW, CUDA_VISIBLE_DEVICES="GPU-1"),
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot({"launch": Launch(), **facts}))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(
        gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci(), launch=Launch()
    )
    assert result.status is CheckStatus.PASSED
