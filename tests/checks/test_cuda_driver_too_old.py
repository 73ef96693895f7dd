"""cuda-driver-too-old: seen in logs."""

import pytest

from gpudoctor.facts import Cuda, Driver, Gpus, Host, Raised, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cuda-driver-too-old")
MESSAGE = "the driver supports an older CUDA version than the one torch is built with: no GPU can be used"
TORCH = (
    "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12020). Please update "
    "your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx"
)
OLD_TORCH = "AssertionError: \nThe NVIDIA driver on your system is too old (found version 9010).\nPlease update your GPU driver"
RUNTIME_ERROR = (
    "RuntimeError: cuda runtime error (35) : CUDA driver version is insufficient for CUDA runtime version at "
    "/pytorch/aten/src/THC/THCGeneral.cpp:50"
)
DEVICE_QUERY = "Insufficient driver: 11040 < 12000"
CONTAINER_CLI = (
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer "
    "version, or use an earlier cuda container: unknown"
)
NVIDIA_IMAGE = (
    "ERROR: This container was built for NVIDIA Driver Release 530.30 or later, but\n"
    "   version 470.57.02 was detected and compatibility mode is UNAVAILABLE."
)
PTX = "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain."
KERNEL_LOG = (
    "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2330)\nNVRM: installed in this system is not supported by the\n"
    "NVRM: NVIDIA 450.80.02 driver release."
)
EXAMPLES = {
    "RuntimeError: cuda runtime error (35)": MESSAGE,
    "cudart init failure: 35": "the driver supports an older CUDA version than the one torch is built with: no GPU can be used",
    TORCH: "the driver supports CUDA 12.2 at most, and torch is built for a newer one: no GPU can be used",
    "our system is too old (found version 12020). Please update": (
        "the driver supports CUDA 12.2 at most, and torch is built for a newer one: no GPU can be used"
    ),
    OLD_TORCH: (
        "the driver supports CUDA 9.1 at most, and torch is built for a newer one: no GPU can be used"
    ),
    RUNTIME_ERROR: MESSAGE,
    "[rank1]: torch.AcceleratorError: CUDA error: CUDA driver version is insufficient for CUDA runtime version": MESSAGE,
    DEVICE_QUERY: "the driver supports CUDA 11.4 at most, and CUDA 12.0 is needed: no GPU can be used",
    CONTAINER_CLI: "the image wants cuda>=12.4, and the host's driver is older",
    NVIDIA_IMAGE: "the image wants driver 530.30 or later, and the host has 470.57.02",
    PTX: "a kernel was compiled by a CUDA version newer than the driver's: the driver cannot translate it",
    "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.4; current version is '8.2'": (
        "a kernel was compiled by a CUDA version newer than the driver's: the driver cannot translate it"
    ),
    KERNEL_LOG: "this GPU is newer than the driver, which does not support it",
    "The NVIDIA driver's CUDA version is 12.1 which is older than the ptxas CUDA version (12.3.107).": (
        "the driver supports CUDA 12.1 at most, and torch is built for a newer one: no GPU can be used"
    ),
}
NOT_THIS = [
    "NOTE: CUDA Forward Compatibility mode ENABLED.",
    "    PyTorch no longer supports this GPU because it is too old.",
    "NCCL WARN Cuda failure 'API call is not supported in the installed CUDA driver'",
    "FATAL: kernel too old",
    "RuntimeError: Found no NVIDIA driver on your system.\nCUDA driver version is insufficient for CUDA runtime version",
    "The NVIDIA driver on your system is too old (found version 0).",
]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (TORCH, "whl/cu126"),
        (OLD_TORCH, "nvidia-driver-580"),
        (RUNTIME_ERROR, "whl/cu126"),
        (DEVICE_QUERY, "whl/cu118"),
        (CONTAINER_CLI, "gpus all IMAGE"),
        (NVIDIA_IMAGE, "gpus all IMAGE"),
        (PTX, "whl/cu126"),
        (KERNEL_LOG, "nvidia-driver-580"),
    ],
)
def test_the_wheel_or_the_driver_fits_the_version(text, command):
    (seen,) = matches(text, [CHECK])
    assert command in seen.finding.fixes[0].command


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


REFUSED = (
    "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12020)."
)


def built(cuda, **fields):
    return Torch(imported=True, version="2.15.0", cuda=cuda, cuda_available=False, **fields)


@pytest.mark.parametrize(
    ("cuda", "driver", "needed"),
    [
        ("13.2", "575.51.03", "580"),
        ("12.8", "520.61.05", "525"),
        ("11.8", "440.100", "450.36.06"),
        ("10.2", "430.64", "440.33"),
        ("9.0", "375.66", "384.81"),
    ],
)
def test_the_table_of_nvidia(cuda, driver, needed):
    _, [finding] = run(torch=built(cuda), gpus=Gpus(driver_version=driver))
    assert f"needs driver {needed} or later, and here is driver {driver}" in finding.message


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("13.2", "580.65.06"),
        ("12.9", "525.60.13"),
        ("12.8", "590.48.01"),
        ("11.8", "470.256.02"),
        ("10.2", "440.33.01"),
    ],
)
def test_every_driver_of_the_same_major_version_runs_it(cuda, driver):
    result, found = run(torch=built(cuda), gpus=Gpus(driver_version=driver))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_what_torch_says_is_enough():
    torch = built("13.2", warnings=[REFUSED])
    _, [finding] = run(torch=torch)
    assert finding.evidence[0].text == REFUSED


def test_the_wheel_that_this_driver_runs_is_offered():
    _, [finding] = run(torch=built("13.2"), gpus=Gpus(driver_version="535.183.01", cuda_version="12.2"))
    assert "cu126" in finding.fixes[0].command


def test_windows_has_other_numbers():
    wsl = Host(wsl=True)
    fine = Gpus(driver_version="461.33", cuda_version="13.0")
    assert run(torch=built("13.2"), gpus=fine, host=wsl)[1] == []
    old = Gpus(driver_version="591.33", cuda_version="12.9")
    assert len(run(torch=built("13.2"), gpus=old, host=wsl)[1]) == 1


@pytest.mark.parametrize("host", [Host(wsl=True), Host(system="Windows")])
def test_the_table_of_windows_where_only_the_driver_is_known(host):
    _, [finding] = run(torch=built("12.4"), gpus=Gpus(driver_version="516.94"), host=host)
    assert "needs driver 527.41 or later, and here is driver 516.94" in finding.message
    for cuda, fine in (("12.4", "528.33"), ("11.3", "452.39"), ("10.2", "441.66")):
        assert run(torch=built(cuda), gpus=Gpus(driver_version=fine), host=host)[1] == []


def test_an_old_module_beside_a_new_library_goes_with_the_restart():
    module = Driver(version="570.86.15")
    refused = Gpus(error="Driver/library version mismatch", error_code=18)
    for new in (Cuda(version="13.0", init=803), Cuda(version="13.0")):
        assert run(torch=built("13.2"), driver=module, gpus=refused, cuda=new)[1] == []
    old = Cuda(version="12.8", init=803)
    assert len(run(torch=built("13.2"), driver=module, gpus=refused, cuda=old)[1]) == 1
    assert run(torch=built("13.2"), driver=module, gpus=refused)[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    "facts",
    [
        {
            "torch": Torch(imported=True, cuda="13.2", cuda_available=True),
            "gpus": Gpus(driver_version="470.1"),
        },
        {"torch": Torch(imported=True), "gpus": Gpus(driver_version="470.1")},
        {"torch": built("13.2"), "driver": Driver()},
        {
            "torch": built("13.2"),
            "gpus": Gpus(driver_version="535.183.01"),
            "cuda": Cuda(library="/usr/local/cuda/compat/libcuda.so.595.1", init=0, version="13.2"),
        },
    ],
)
def test_environment_passed(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(torch=built("13.2"))[0].status is CheckStatus.UNKNOWN


def test_torch_s_own_words_in_a_text_that_does_not_name_the_build():
    said = "The NVIDIA driver on your system is too old (found version 11040)."
    torch = Torch(
        imported=True, cuda="", cuda_available=False, cuda_error=Raised(type="RuntimeError", message=said)
    )
    _, [finding] = run(torch=torch, cuda=Cuda(version="11.4"))
    assert finding.message == (
        "torch says that the driver is too old for the CUDA that it is built for, and here is CUDA 11.4 at most: no GPU "
        "can be used"
    )
