"""gpu-fell-off-bus: seen in logs, and in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-fell-off-bus")
MESSAGE = "the GPU no longer answers on the bus: every process on it is dead, and the others wait for it"
EXAMPLES = {
    "Error: nvmlDeviceGetHandleByIndex(): Unknown Error": "the GPU no longer answers on the bus: every process on it is dead, and the others wait for it",
    "the card dies at random with Xid 79 under load": (
        "the GPU no longer answers on the bus: every process on it is dead, and the others wait for it"
    ),
    "[ 8812.440021] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": (
        "the GPU at 0000:3b:00 no longer answers on the bus: every process on it is dead, and the others wait "
        "for it"
    ),
    "Mar  3 04:11:52 node0 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.": (
        "the GPU at 0000:3b:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "NVRM: GPU at 0000:3b:00.0 has fallen off the bus.": (
        "the GPU at 0000:3b:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "[   21.000113] NVRM: fallen off the bus and is not responding to commands.": MESSAGE,
    "NVRM: Xid (PCI:0000:5e:00): 45, pid=4711, name=python3, Ch 00000001 caused by previous Xid 79": MESSAGE,
    "XidCriticalError: Xid=79 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.": MESSAGE,
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",modelName="NVIDIA H100"} 79': MESSAGE,
    "NVRM: nvAssertFailedNoLog: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)": MESSAGE,
    "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error": (
        "the GPU at 0000:3B:00.0 no longer answers on the bus: every process on it is dead, and the others "
        "wait for it"
    ),
    "Unable to determine the device handle for GPU 1: Unknown Error": MESSAGE,
    "pynvml.NVMLError_GpuIsLost: GPU is lost": MESSAGE,
    "slurmstepd: error: NVML: Failed to get usage(15): GPU is lost": MESSAGE,
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev ff)": (
        "the GPU at 3b:00.0 no longer answers on the bus: every process on it is dead, and the others wait for "
        "it"
    ),
}
NOT_THIS = [
    "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
    "Unable to determine the device handle for GPU0000:3B:00.0: Not Found",
    "Unable to determine the device handle for GPU 0000:3B:00.0: Insufficient Permissions",
    "Failed to initialize NVML: Unknown Error",
    "NVRM: RmInitAdapter failed! (0x26:0x65:1482)",
    "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=python3, Ch 00000008",
]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


WELL = Gpu(index=0, name="H100", pci_address="0000:0a:00.0")
FALLEN = KernelLog(events=[KernelEvent(kind="xid", code=79, pci_address="0000:0a:00.0", text="NVRM: Xid 79")])


@pytest.mark.parametrize(
    "gpu",
    [
        Gpu(index=1, lost=True, handle_code=15),
        Gpu(index=1, name="H100", lost=True, errors=["power: GPU is lost"]),
        Gpu(index=1, errors=["handle: Unknown Error"], handle_code=999),
        Gpu(index=1, errors=["GPU is lost"]),
        Gpu(index=1, errors=["name: Unknown Error"]),
    ],
)
def test_found(gpu):
    _, [finding] = run(WELL, gpu)
    assert finding.message.startswith("GPU 1 of 2 does not answer any more")
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0"
    assert finding.severity is Severity.ERROR


def test_the_kernel_log_alone_is_worth_a_warning_where_the_gpu_answers_again():
    _, [finding] = run(WELL, kernel_log=FALLEN)
    assert finding.severity is Severity.WARNING
    _, [finding] = run(Gpu(index=0, name="H100", pci_address="0000:1a:00.0"), kernel_log=FALLEN)
    assert "NVML does not show it" in finding.message
    assert finding.severity is Severity.ERROR


def test_passes():
    for gpu in (
        WELL,
        Gpu(index=1, handle_code=4),
        Gpu(index=1, name="H100", errors=["memory: Unknown Error"]),
    ):
        result, _ = run(WELL, gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED


def test_the_kernel_log_alone_tells() -> None:
    event = KernelEvent(
        kind="xid", code=79, pci_address="0000:b3:00.0", text="NVRM: GPU has fallen off the bus"
    )
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"kernel_log": KernelLog(events=[event])}))
    assert finding.message == "the GPU at 0000:b3:00.0 fell off the bus (Xid 79)"
    nothing = Snapshot({"kernel_log": KernelLog()})
    assert examine(CHECK, Source.ENVIRONMENT, nothing)[0].status is CheckStatus.UNKNOWN


def test_a_gpu_that_is_counted_and_not_found():
    gpus = Gpus(devices=[Gpu(index=0, name="A"), Gpu(index=1, errors=["handle: Not Found"], handle_code=6)])
    _, [finding] = run(gpus=gpus)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "the driver counts GPU 1 and finds nothing behind the number: it could not start"
    )
    assert [e.text for e in finding.evidence] == ["GPU 1: handle: Not Found"]
