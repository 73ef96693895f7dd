"""fabric-manager-down: seen in logs, in what CUDA answers and in the state of the fabric."""

import pytest

from gpudoctor.facts import Cuda, Fabric, Gpu, Gpus, Pci, PciDevice, Raised, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("fabric-manager-down")
MESSAGE = "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used"
EXAMPLES = {
    "* nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n     Active: failed (Result: exit-code) since Mon": "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used",
    "[802] Call to cuInit results in UNKNOWN_CUDA_ERROR": "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used",
    "warn: cuda driver error 802 while looking for devices": "CUDA waits for the fabric manager: no GPU of this NVSwitch system can be used",
    "On H100 the start of CUDA fails with 802 system error": MESSAGE,
    "CUDA init gives error code 802 here": MESSAGE,
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    ): MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=802 : system not yet initialized": MESSAGE,
    "node0: Test CUDA failure common.cu:1030 'system not yet initialized'": MESSAGE,
    "failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY": MESSAGE,
    "[[ System not yet initialized (CUDA_ERROR_SYSTEM_NOT_READY) cuInit()=802 ]]": MESSAGE,
    "cudaGetDeviceProperties returned 802": MESSAGE,
    (
        "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120. Please "
        "update with matching NVIDIA driver package."
    ): (
        "CUDA waits for the fabric manager, which is of version 550.127.05 while the driver is 550.120: no GPU "
        "of this NVSwitch system can be used"
    ),
    "Mar 03 10:00:00 node0 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE": MESSAGE,
    "Failed to start NVIDIA fabric manager service.": MESSAGE,
    "Unit nvidia-fabricmanager.service could not be found.": MESSAGE,
    "Job for nvidia-fabricmanager.service failed because the control process exited with error code.": MESSAGE,
    '"/usr/bin/nv-fabricmanager -c /usr/share/nvidia/nvswitch/fabricmanager.cfg" failed! Exit code: 1': MESSAGE,
    "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager": MESSAGE,
    "DCGM_FR_CUDA_FM_NOT_INITIALIZED": MESSAGE,
    "CUDA Error 802 on every multi-GPU job": MESSAGE,
    "× nvidia-fabricmanager.service - NVIDIA fabric manager service": MESSAGE,
}
NOT_THIS = [
    (
        "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do "
        "[NV_WARN_NOTHING_TO_DO]"
    ),
    "Error 803: system has unsupported display driver / cuda driver combination",
    "systemd[1]: Started NVIDIA fabric manager service.",
    "Failed to initialize NVML: Driver/library version mismatch",
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


SWITCHES = Pci(nvidia=[PciDevice(address="0000:c0:00.0", device_class="0x0680")])
H100 = "NVIDIA H100 80GB HBM3"
BOARD = Gpus(devices=[Gpu(index=n, name=H100, fabric_state="in_progress") for n in range(8)])
A100 = Gpus(
    devices=[Gpu(index=n, name="NVIDIA A100-SXM4-80GB", fabric_state="not_supported") for n in range(8)]
)
CARDS = Gpus(devices=[Gpu(index=n, name="NVIDIA L40S") for n in range(2)])
NOT_READY = Cuda(init=802)
SAYS = Raised(
    type="RuntimeError", message="Unexpected error from cudaGetDeviceCount(). Error 802: system not yet ready"
)
TORCH = Torch(imported=True, cuda="13.2", cuda_available=False, cuda_error=SAYS)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"gpus": BOARD}, "no GPU of this board has joined the NVLink fabric"),
        ({"gpus": A100, "cuda": NOT_READY}, "CUDA cannot start (802, system not yet initialized)"),
        ({"gpus": A100, "pci": SWITCHES, "torch": TORCH}, "802"),
        ({"cuda": NOT_READY}, "802"),
    ],
)
def test_found(facts, says):
    _, [finding] = run(**facts)
    assert finding.severity is Severity.ERROR
    assert says in finding.message


def test_what_the_service_says_is_quoted():
    fabric = Fabric(manager=False, manager_installed=True, manager_said="[ERROR] driver version don't match")
    _, [finding] = run(gpus=BOARD, fabric=fabric)
    said = [evidence.text for evidence in finding.evidence]
    assert "nv-fabricmanager is installed and does not run" in said
    assert fabric.manager_said in said


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": Gpus(devices=[Gpu(index=0, name=H100, fabric_state="completed")])},
        {
            "gpus": A100,
            "cuda": Cuda(init=0),
            "fabric": Fabric(manager=False),
        },  # it runs elsewhere, or is not shown
        {"gpus": A100, "cuda": Cuda(init=999)},
        {"gpus": CARDS, "cuda": NOT_READY},  # confidential computing, or a fault of the kernel
        {"gpus": Gpus(devices=[Gpu(index=0, name="NVIDIA H100 NVL", fabric_state="in_progress")])},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_unknown():
    assert run(fabric=Fabric(manager=False))[0].status is CheckStatus.UNKNOWN
    # what a block of fields says of torch may be of another container
    assert run(torch=Torch(imported=True, cuda_available=True))[0].status is CheckStatus.UNKNOWN
    assert run(gpus=A100)[0].status is CheckStatus.UNKNOWN
    assert run(gpus=CARDS)[0].status is CheckStatus.PASSED
