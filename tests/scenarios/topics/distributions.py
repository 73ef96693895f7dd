"""What is installed beside a healthy torch."""

from gpudoctor.facts import Distribution, Distributions, WheelFile
from tests.scenarios.machine import Machine

HERE = "/venv/lib/python3.11/site-packages"


NCCL = {"12": "2.27.5", "13": "2.30.7"}
CUDNN = {"12": "9.15.1.9", "13": "9.26.0.51"}


def facts(machine: Machine) -> Distributions:
    """Return the wheels that torch's own wheel asks for, each once."""
    torch = machine.torch.partition("+")[0]
    names = {"torch": torch, "torchvision": "0.30.0", "numpy": "2.4.1", "pip": "25.3", "triton": "3.9.0"}
    major = (machine.cuda or "").partition(".")[0]
    nvidia = []
    if major:
        nvidia = [
            wheel(f"nvidia-nccl-cu{major}", NCCL[major], "nvidia/nccl/lib/libnccl.so.2", 395_000_000),
            wheel(f"nvidia-cudnn-cu{major}", CUDNN[major], "nvidia/cudnn/lib/libcudnn.so.9", 125_000),
            wheel(
                "nvidia-cuda-runtime" if major == "13" else "nvidia-cuda-runtime-cu12",
                f"{machine.cuda}.86",
                f"nvidia/{'cu13' if major == '13' else 'cuda_runtime'}/lib/libcudart.so.{major}",
                700_000,
            ),
        ]
    pins = [f"{w.name}=={w.version}; platform_system == 'Linux'" for w in nvidia]
    plain = [
        Distribution(name=name, version=version, location=HERE, pins=pins if name == "torch" else [])
        for name, version in names.items()
    ]
    return Distributions(installed=[*plain, *nvidia])


def wheel(name: str, version: str, path: str, size: int, there: int | None = None) -> Distribution:
    """Return one of NVIDIA's wheels with one library; `there` is the size of the file where that is another."""
    file = WheelFile(path=f"{HERE}/{path}", bytes=size, bytes_there=size if there is None else there)
    return Distribution(name=name, version=version, location=HERE, libraries=[file])
