"""What is installed beside a healthy torch."""

from gpudoctor.facts import Distribution, Distributions
from tests.scenarios.machine import Machine

HERE = "/venv/lib/python3.11/site-packages"


def facts(machine: Machine) -> Distributions:
    """Return the wheels that torch's own wheel asks for, each once."""
    torch = machine.torch.partition("+")[0]
    names = {"torch": torch, "torchvision": "0.30.0", "numpy": "2.4.1", "pip": "25.3"}
    if machine.cuda:
        major = machine.cuda.partition(".")[0]
        suffix = f"-cu{major}"
        names |= {f"nvidia-nccl{suffix}": "2.30.7", f"nvidia-cudnn{suffix}": "9.15.1.9"}
    return Distributions(
        installed=[Distribution(name=name, version=version, location=HERE) for name, version in names.items()]
    )
