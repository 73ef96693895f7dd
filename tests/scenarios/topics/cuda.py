"""What the CUDA driver library of a healthy machine answers."""

from gpudoctor.facts import Cuda, CudaDevice
from tests.scenarios.machine import GIB, Machine
from tests.scenarios.topics.gpus import address

LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so.{driver}"
WSL_LIBRARY = "/usr/lib/wsl/lib/libcuda.so.1.1"
ABSENT = "libcuda.so.1: cannot open shared object file: No such file or directory"


def facts(machine: Machine) -> Cuda:
    """Return a driver that starts every GPU; of one in MIG mode it counts one instance."""
    if not machine.models:
        return Cuda(error=ABSENT, stage="done")
    devices = [
        CudaDevice(
            ordinal=n,
            name=model.name,
            pci_address=address(n),
            capability=model.capability,
            memory_bytes=model.memory * GIB,
        )
        for n, model in enumerate(machine.models)
    ]
    chosen = machine.variables.get("CUDA_VISIBLE_DEVICES")
    visible = devices[: machine.visible if machine.visible is not None else len(devices)]
    return Cuda(
        library=WSL_LIBRARY if machine.wsl else LIBRARY.format(driver=machine.driver),
        init=0,
        version=machine.cuda_driver,
        count=1 if machine.mig else len(devices),
        devices=devices[:1] if machine.mig else devices,
        visible_init=None if chosen is None else 0,
        visible=None if chosen is None else visible,
        stage="done",
    )
