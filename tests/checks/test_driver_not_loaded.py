"""driver-not-loaded: NVIDIA hardware without a driver, or a container without its GPUs."""

import pytest

from gpudoctor.facts import DeviceNode, Driver, Gpu, Gpus, Host, Launch, Pci, PciDevice, Raised, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("driver-not-loaded")
MESSAGE = "no NVIDIA driver can be reached: it is not loaded, or this container was started without its GPUs"
EXAMPLES = {
    '  File "/venv/lib/torch/cuda/__init__.py", line 90, in _check_driver\n    http://www.nvidia.com/Downlo': MESSAGE,
    "lightning.fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend found!": (
        "Lightning was to use GPUs, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this "
        "torch is a CPU build"
    ),
    "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found": MESSAGE,
    (
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an "
        "NVIDIA GPU and installed a driver from"
    ): MESSAGE,
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make "
        "sure that the latest NVIDIA driver is"
    ): MESSAGE,
    "Failed to initialize NVML: Driver Not Loaded": MESSAGE,
    "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.": MESSAGE,
    "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded": MESSAGE,
    "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.": MESSAGE,
    "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory": MESSAGE,
    "modprobe: FATAL: Module nvidia not found in directory /lib/modules/5.15.0-91-generic": MESSAGE,
    "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when": MESSAGE,
    "ERROR: Unable to load the 'nvidia-drm' kernel module.": MESSAGE,
    "Consult /var/lib/dkms/nvidia/470.256.02/build/make.log for more information.": MESSAGE,
    "Building DKMS module 'nvidia-410.73' for kernel-4.18.16_1... FAILED!": MESSAGE,
    "INFO:    Could not find any nv files on this host!": MESSAGE,
    "modprobe: ERROR: could not insert 'nvidia': No such device": MESSAGE,
    (
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: "
        "no such file or directory: unknown"
    ): MESSAGE,
    "Unable to determine the device handle for GPU 0000:3B:00.0: Driver Not Loaded": MESSAGE,
    "NVRM: No NVIDIA GPU found.": MESSAGE,
    (
        "I external/local_xla/xla/stream_executor/cuda/cuda_diagnostics.cc:163] kernel driver does not appear to be running on "
        "this host (node7): /proc/driver/nvidia/version does not exist"
    ): MESSAGE,
    "ValueError: Cuda is not available.": (
        "torchrun was to start one process per GPU, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES "
        "hides it, or this torch is a CPU build"
    ),
    "RuntimeError: No accelerator available for NUMA binding": (
        "torchrun was to bind each process to the NUMA node of its GPU, and torch sees none: no driver or no GPU is here, "
        "CUDA_VISIBLE_DEVICES hides it, or this torch is a CPU build"
    ),
    "ValueError: You requested to find 2 devices but there are no visible CUDA devices on this machine.": (
        "the program was to use GPUs, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this torch is a CPU build"
    ),
    "MisconfigurationException: GPUs requested but none are available.": (
        "the program was to use GPUs, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this torch is a CPU build"
    ),
    "RuntimeError: JIT builder for 'adam' found no CUDA devices.": (
        "the program was to use GPUs, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this torch is a CPU build"
    ),
    "bash: nvidia-smi: command not found": "no NVIDIA driver can be reached: it is not loaded, or this container was started without its GPUs",
    "装好系统以后找不到NVIDIA驱动，训练跑不起来": "no NVIDIA driver can be reached: it is not loaded, or this container was started without its GPUs",
    "No supported gpu backend found!": "Lightning was to use GPUs, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this torch is a CPU build",
}
NOT_THIS = [
    "torch.cuda is not available, training on the CPU",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11060).",
    "Failed to initialize NVML: Driver/library version mismatch",
    "RuntimeError: No CUDA GPUs are available",
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
    "nvidia-container-cli: initialization error: nvml error: unknown error: unknown",
    "nvidia-container-cli: initialization error: cuda error: out of memory: unknown.",
    "nvidia-container-cli: initialization error:",
    "nvidia-container-cli: initialization error: \nnvml error: driver/library version mismatch: unknown",
    "UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.",
]
CARD = PciDevice(address="0000:3b:00.0", device="0x2330", device_class="0x0302")
HELD = PciDevice(address="0000:3b:00.0", device="0x2330", device_class="0x0302", driver="nvidia")
NO_NVML = Gpus(error="NVML Shared Library Not Found", error_code=12)
NO_DRIVER = Gpus(error="Driver Not Loaded", error_code=9)
CUDA = Torch(imported=True, version="2.15.0+cu132", cuda="13.2", cuda_available=False)
LINUX = Host(system="Linux")
DOCKER = Host(system="Linux", container="docker")
PASTED = {"gpus": Gpus(error="nvidia-smi gave nothing"), "driver": Driver(), "host": LINUX}


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_gpus_on_the_bus_and_no_module():
    _, [finding] = run(pci=Pci(nvidia=[CARD, CARD]), driver=Driver(), gpus=NO_DRIVER, torch=CUDA, host=LINUX)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("2 NVIDIA GPUs on the PCI bus, and no NVIDIA driver is loaded")
    assert "Driver Not Loaded" in [e.text for e in finding.evidence]
    assert "modprobe nvidia" in finding.fixes[1].command


def test_what_nouveau_holds_is_not_told_twice():
    card = PciDevice(address="0000:01:00.0", device_class="0x0300", driver="nouveau")
    assert run(pci=Pci(nvidia=[card]), driver=Driver(), gpus=NO_NVML)[1] == []
    _, [finding] = run(pci=Pci(nvidia=[card, CARD]), driver=Driver(), gpus=NO_NVML)
    assert "2 NVIDIA GPUs" in finding.message


def test_a_container_on_a_host_without_a_driver():
    _, [finding] = run(pci=Pci(nvidia=[CARD]), driver=Driver(), gpus=NO_NVML, host=DOCKER)
    assert "on the host" in finding.fixes[0].summary


def test_a_container_without_its_gpus_is_another_failure():
    facts = {"driver": Driver(version="580.82.07"), "gpus": NO_NVML, "torch": CUDA, "host": DOCKER}
    assert run(pci=Pci(nvidia=[HELD]), **facts)[1] == []


def test_nvml_says_so_itself():
    _, [finding] = run(gpus=NO_DRIVER, host=Host(system="Linux"))
    assert finding.severity is Severity.ERROR
    assert "Driver Not Loaded" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"launch": Launch(variables={"NVIDIA_VISIBLE_DEVICES": "all"})},
        {"launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "0,1"})},
        {"launch": Launch(variables={"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64"})},
        {"gpus": Gpus(error="nvidia-smi gave nothing, and the CUDA toolkit 12.4.131 is installed")},
    ],
)
def test_a_pasted_text_in_which_a_gpu_is_expected(facts):
    _, [finding] = run(**{**PASTED, "torch": CUDA, **facts})
    assert finding.severity is Severity.WARNING


def test_a_pasted_text_with_nothing_but_a_wheel_for_cuda_gets_a_note():
    _, [finding] = run(**PASTED, torch=CUDA)
    assert finding.severity is Severity.NOTE
    assert "if this machine has a GPU" in finding.message


NODES = [DeviceNode(path="/dev/nvidiactl", readable=True, writable=True)]


@pytest.mark.parametrize(
    "facts",
    [
        {
            "pci": Pci(),
            "driver": Driver(),
            "gpus": NO_NVML,
            "torch": CUDA,
            "host": LINUX,
        },  # a CPU machine in CI
        {"pci": Pci(), "driver": Driver(), "gpus": NO_DRIVER, "torch": CUDA, "host": DOCKER},
        {"pci": Pci(), "driver": Driver(dxg=True), "gpus": NO_NVML, "torch": CUDA},
        {
            "pci": Pci(nvidia=[HELD]),
            "driver": Driver(version="580.82.07", nodes=NODES),
            "gpus": NO_NVML,
            "host": DOCKER,
        },
        {"pci": Pci(nvidia=[HELD]), "driver": Driver(version="580.82.07"), "gpus": NO_NVML, "host": LINUX},
        {"pci": Pci(nvidia=[CARD]), "driver": Driver(), "gpus": Gpus(devices=[Gpu(index=0)])},
        {
            "pci": Pci(nvidia=[PciDevice(address="1", device_class="0x0300", driver="vfio-pci")]),
            "driver": Driver(),
        },
        {"pci": Pci(nvidia=[PciDevice(address="1", device_class="0x0403")]), "driver": Driver()},
        {
            "torch": Torch(imported=True, version="2.5.1", cuda="12.4", cuda_available=True),
            "driver": Driver(),
        },
        {"gpus": Gpus(driver_version="550.54"), "driver": Driver(version="550.54"), "torch": CUDA},
        {"gpus": NO_NVML, "host": Host(system="Darwin")},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"pci": Pci(nvidia=[CARD])},
        {
            **PASTED,
            "torch": Torch(imported=True, version="2.5.0", cuda=None, cuda_available=False),
        },  # TPU, cpuonly
        {**PASTED, "torch": Torch(imported=True, version="2.5.0", cuda="12.4")},
        {
            **PASTED,
            "torch": Torch(imported=True, cuda="12.4", cuda_available=False, warnings=["driver is too old"]),
        },
        {"torch": CUDA},
        # what `check --only` of something else keeps of a machine that has no GPU
        {
            "torch": Torch(
                imported=True,
                seconds=1.9,
                version="2.15.0",
                cuda="13.2",
                cuda_available=False,
                cuda_error=Raised(type="RuntimeError", message="Found no NVIDIA driver on your system."),
            )
        },
    ],
)
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Found no NVIDIA driver on your system", Severity.ERROR),
        ("UserWarning: Found no NVIDIA driver on your system; using CPU", Severity.NOTE),
    ],
)
def test_a_program_that_goes_on_without_a_gpu_has_not_failed(text, severity):
    (seen,) = matches(text, [CHECK])
    assert seen.finding.severity is severity


def test_a_text_in_which_lsmod_lists_no_module():
    _, [finding] = run(pci=Pci(nvidia=[CARD]), driver=Driver(unlisted=True))
    assert (
        finding.message
        == "1 NVIDIA GPU on the PCI bus, and lsmod lists no module of NVIDIA's: CUDA sees no GPU"
    )
    assert not finding.evidence
