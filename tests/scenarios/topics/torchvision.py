"""The patient's torchvision on a healthy machine."""

from gpudoctor.facts import Torchvision
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Torchvision:
    """Return one that fits the torch."""
    return Torchvision(
        version="0.30.0",
        requires_torch=[f"torch=={machine.torch.partition('+')[0]}"],
        torch_version=machine.torch,
        library="/venv/lib/python3.11/site-packages/torchvision/_C_stable.so",
        operators_load=True,
    )
