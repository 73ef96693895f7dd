"""torch-cpu-build: a torch without CUDA beside NVIDIA hardware."""

import pytest

from gpudoctor.facts import (
    Distribution,
    Distributions,
    Driver,
    Gpu,
    Gpus,
    Host,
    Pci,
    PciDevice,
    Python,
    Raised,
    Torch,
)
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("torch-cpu-build")
MESSAGE = "this torch was built without CUDA: it can use no NVIDIA GPU, whatever the machine has"
EXAMPLES = {
    "With my RTX 3060 the installer gives me a CPU-only build of PyTorch": "this torch was built without CUDA: it can use no NVIDIA GPU, whatever the machine has",
    "conda gave me pytorch-cpu, and torch.cuda.is_available() is False": "this torch was built without CUDA: it can use no NVIDIA GPU, whatever the machine has",
    "AssertionError: Torch not compiled with CUDA enabled": MESSAGE,
    "RuntimeError: PyTorch was compiled without CUDA support": MESSAGE,
    (
        "RuntimeError: Cannot initialize CUDA without ATen_cuda library. PyTorch splits its "
        "backend into two shared libraries"
    ): MESSAGE,
    "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'": MESSAGE,
    "RuntimeError: torch.cuda.Stream requires CUDA support": MESSAGE,
    "xFormers was built for:\n    PyTorch 2.4.0+cu121 with CUDA 1201 (you have 2.4.0+cpu)": MESSAGE,
    "RuntimeError: Tried to instantiate dummy base class CUDAGraph": MESSAGE,
    "RuntimeError: PyTorch is not linked with support for cuda devices": MESSAGE,
    "Ultralytics YOLOv8.1.3 🚀 Python-3.10.11 torch-2.1.0+cpu\nValueError: Invalid CUDA 'device=0' requested. Use 'device=cpu'": MESSAGE,
    "NotImplementedError: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend. This could be because": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
    "RuntimeError: Found no NVIDIA driver on your system.",
    "AttributeError: module 'torch._C' has no attribute '_distributed_c10d'",
    "torch-2.1.0+cu121\nValueError: Invalid CUDA 'device=4' requested. Use 'device=cpu'",
    "NotImplementedError: Could not run 'aten::_slow_conv2d_forward' with arguments from the 'CUDA' backend.",
]
CPU = Torch(imported=True, version="2.13.0+cpu", cuda=None)
CARD = PciDevice(address="0000:3b:00.0", device_class="0x0302", driver="nvidia")
TWO = Gpus(devices=[Gpu(index=i, name="NVIDIA H100 80GB HBM3") for i in range(2)], cuda_version="13.0")
NO_NVML = Gpus(error="NVML Shared Library Not Found", error_code=12)
LINUX = Host(system="Linux", machine="x86_64")
PYTHON = Python(executable="/env/bin/python", version="3.11.7", environment="virtual environment")
PIP = Distributions(installed=[Distribution(name="pip", version="24.0")])


def run(**facts):
    return examine(
        CHECK,
        Source.ENVIRONMENT,
        Snapshot({"torch": CPU, "host": LINUX, "python": PYTHON, "distributions": PIP, **facts}),
    )


def test_found_beside_gpus_that_nvml_names():
    _, [finding] = run(gpus=TWO, pci=Pci(nvidia=[CARD, CARD]))
    assert finding.severity is Severity.ERROR
    assert "torch 2.13.0+cpu is a CPU build" in finding.message
    assert "2 x NVIDIA H100 80GB HBM3" in finding.message
    assert finding.fixes[0].command == "/env/bin/python -m pip install --force-reinstall torch torchvision"


def test_found_beside_hardware_without_a_driver():
    _, [finding] = run(
        gpus=Gpus(error="Driver Not Loaded", error_code=9), pci=Pci(nvidia=[CARD]), driver=Driver()
    )
    assert "1 x NVIDIA GPU" in finding.message
    assert finding.severity is Severity.ERROR


def test_found_in_a_pasted_text_that_lists_a_gpu():
    gpus = Gpus(devices=[Gpu(index=0, name="NVIDIA GeForce MX330")], driver_version="545.23.08")
    python = Python(executable="", version="3.11.8")
    _, [finding] = run(gpus=gpus, driver=Driver(version="545.23.08"), python=python)
    assert finding.fixes[0].command == "pip install --force-reinstall torch torchvision"


def test_a_driver_older_than_the_newest_wheel_lets_uv_choose():
    gpus = Gpus(devices=TWO.devices, cuda_version="12.2")
    _, [finding] = run(gpus=gpus)
    assert "12.2" in finding.fixes[0].summary
    assert finding.fixes[0].command == (
        "uv pip install --python /env/bin/python --reinstall --torch-backend=auto torch torchvision"
    )
    assert not any("pip install --force" in fix.command for fix in finding.fixes)


def test_each_environment_gets_its_own_tool():
    _, [uv] = run(gpus=TWO, distributions=Distributions())
    assert [f.command for f in uv.fixes] == [
        "uv pip install --python /env/bin/python --reinstall --torch-backend=auto torch torchvision"
    ]
    conda = Python(executable="/opt/conda/bin/python", version="3.11.7", environment="conda environment")
    _, [conda] = run(gpus=TWO, python=conda)
    assert conda.fixes[-1].command == "conda install -c conda-forge pytorch-gpu torchvision"
    _, [windows] = run(gpus=TWO, host=Host(system="Windows", machine="AMD64"))
    assert all(fix.command.startswith("uv") for fix in windows.fixes)


def test_a_container_without_its_gpus_may_be_meant_for_the_cpu():
    host = Host(system="Linux", container="docker")
    _, [finding] = run(pci=Pci(nvidia=[CARD]), gpus=NO_NVML, driver=Driver(version="580.82.07"), host=host)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": Pci(), "gpus": NO_NVML},  # a CPU machine
        {"pci": Pci()},
        {"gpus": Gpus()},
        {"torch": Torch(imported=True, version="2.13.0", cuda="13.0"), "gpus": TWO},
        {"torch": Torch(imported=True, version="2.13.0", hip="6.4"), "gpus": TWO},
        {
            "torch": Torch(imported=True, version="2.5.0", xla=True),
            "gpus": Gpus(error="nvidia-smi gave nothing"),
        },
        {"torch": Torch(imported=True, version="2.9.0+xpu"), "gpus": TWO},
        {"host": Host(system="Darwin", machine="arm64")},
        {"pci": Pci(nvidia=[PciDevice(address="0000:01:00.0", device_class="0x0300", driver="vfio-pci")])},
        {"pci": Pci(nvidia=[PciDevice(address="0000:01:00.1", device_class="0x0403")])},  # its audio function
    ],
)
def test_passes(facts):
    assert run(**facts)[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"gpus": NO_NVML},
        {"pci": Pci(), "gpus": NO_NVML, "driver": Driver(dxg=True)},  # WSL has its GPUs on no PCI bus
        {"torch": Torch(imported=False, error=Raised(type="ImportError", message="x")), "gpus": TWO},
        {"torch": Torch(imported=True), "gpus": TWO},
    ],
)
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


def test_unknown_without_torch():
    assert (
        examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": TWO}))[0].reason == "torch: not in this report"
    )


def test_conda_was_asked_for_cuda_and_gave_a_cpu_build():
    cpu = Torch(imported=True, version="1.9.0")
    asked = Distributions(installed=[Distribution(name="cudatoolkit", version="11.3")])
    _, [finding] = run(torch=cpu, distributions=asked)
    assert finding.severity is Severity.WARNING
    assert "cudatoolkit 11.3" in finding.message
    _, [unseen] = run(torch=cpu, distributions=asked, gpus=Gpus(error="nvidia-smi gave nothing"))
    assert unseen.severity is Severity.NOTE


def test_a_toolkit_where_no_gpu_was_seen_is_a_note():
    toolkit = Gpus(error="nvidia-smi gave nothing, and CUDA toolkit 12.1.105 is installed")
    _, [finding] = run(gpus=toolkit)
    assert finding.severity is Severity.NOTE
    assert "CUDA toolkit 12.1.105 is installed: if this machine has an NVIDIA GPU" in finding.message
    assert run(gpus=toolkit, pci=Pci())[1] == []


def test_a_driver_is_hardware_enough_where_nothing_else_is_known():
    """A ticket may hold the head of nvidia-smi's table alone."""
    cpu = Torch(imported=True, version="1.7.1+cpu")
    _, [finding] = run(torch=cpu, driver=Driver(version="430.50"))
    assert "this machine has NVIDIA's driver 430.50" in finding.message
    assert run(torch=cpu, driver=Driver(version="430.50"), gpus=Gpus(), pci=Pci())[1] == []
