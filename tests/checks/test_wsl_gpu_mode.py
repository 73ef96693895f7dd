"""wsl-gpu-mode: seen in logs, and by WSL's kernel."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.snapshot import Snapshot

MESSAGE = "Windows keeps the GPU from WSL: nothing in WSL can use it"
EXAMPLES = {
    "Failed to initialize NVML: GPU access blocked by the operating system": MESSAGE,
    "Failed to properly shut down NVML: GPU access blocked by the operating system": MESSAGE,
    "pynvml.NVMLError_OperatingSystem: The operating system has blocked the request.": MESSAGE,
}
NOT_THIS = [
    "Failed to initialize NVML: Unknown Error",
    "Access to the file was blocked by the operating system",
]

CUDA = Torch(imported=True, version="1.12.1+cu116", cuda="11.6", cuda_available=False)


def look(kernel: str, torch: Torch | None):
    facts = {"host": Host(system="Linux", kernel=kernel, wsl=True), "torch": torch}
    check = Registry().check("wsl-gpu-mode")
    return examine(check, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))[1]


def test_nvml_says_so():
    facts = {"host": Host(system="Linux", kernel="5.15.90.1-microsoft-standard-WSL2", wsl=True)}
    facts["gpus"] = Gpus(error="The operating system has blocked the request.", error_code=17)
    check = Registry().check("wsl-gpu-mode")
    assert examine(check, Source.ENVIRONMENT, Snapshot(facts))[1][0].message == MESSAGE


@pytest.mark.parametrize(("model", "wsl", "found"), [("TCC", True, 1), ("WDDM", True, 0), ("TCC", False, 0)])
def test_a_gpu_in_tcc_mode(model, wsl, found):
    gpus = Gpus(devices=[Gpu(index=0, name="NVIDIA L40S", driver_model=model)])
    check = Registry().check("wsl-gpu-mode")
    facts = Snapshot({"host": Host(system="Linux", wsl=wsl), "gpus": gpus})
    assert len(examine(check, Source.ENVIRONMENT, facts)[1]) == found


def test_wsl_1_has_no_gpu():
    [finding] = look("4.4.0-19041-Microsoft", CUDA)
    assert finding.severity is Severity.ERROR
    assert finding.fixes[0].command == "wsl --set-version DISTRIBUTION 2"


@pytest.mark.parametrize(
    ("kernel", "torch"),
    [
        ("5.15.90.1-microsoft-standard-WSL2", CUDA),
        ("4.4.0-19041-generic", CUDA),
        ("4.4.0-19041-Microsoft", None),
        ("4.4.0-19041-Microsoft", Torch(imported=True, version="2.4.0+cpu", cuda_available=False)),
    ],
)
def test_another_kernel_or_nothing_to_use_a_gpu(kernel, torch):
    assert look(kernel, torch) == []
