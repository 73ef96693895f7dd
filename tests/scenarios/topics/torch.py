"""The patient's torch on a healthy machine."""

from gpudoctor.facts import Torch, TorchDevice
from tests.scenarios.machine import GIB, Machine

ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]
WITH_CUDA_12 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]


def facts(machine: Machine) -> Torch:
    """Return a torch that sees every GPU, or as many as are visible."""
    built = machine.cuda is not None
    devices = [
        TorchDevice(
            ordinal=n, name=model.name, capability=model.capability, memory_bytes=model.memory * GIB,
            multiprocessors=132,
        )
        for n, model in enumerate(machine.models)
    ] if built else []  # fmt: skip
    devices = devices[: machine.visible if machine.visible is not None else len(devices)]
    new = built and (machine.cuda or "").startswith("13")
    return Torch(
        file="/venv/lib/python3.11/site-packages/torch/__init__.py",
        imported=True,
        stage="done",
        version=machine.torch,
        cuda=machine.cuda,
        cudnn="9.15.1" if built else None,
        nccl="2.30.7" if built else None,
        nccl_available=built,
        gloo_available=True,
        mpi_available=False,
        distributed_available=True,
        arch_list=(ARCHITECTURES if new else WITH_CUDA_12) if devices else [],
        cuda_available=bool(devices),
        device_count=len(devices),
        devices=devices,
        threads=machine.cpus // 2,
        seconds=2.0,
    )
