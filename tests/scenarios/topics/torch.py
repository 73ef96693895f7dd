"""The patient's torch on a healthy machine."""

from gpudoctor.facts import Torch, TorchDevice
from tests.scenarios.machine import GIB, Machine

ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]
HERE = "/venv/lib/python3.11/site-packages"
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
        cudnn=("9.26.0" if new else "9.15.1") if devices else None,
        nccl=("2.30.7" if new else "2.27.5") if built else None,
        nccl_available=built,
        gloo_available=True,
        mpi_available=False,
        distributed_available=True,
        arch_list=(ARCHITECTURES if new else WITH_CUDA_12) if devices else [],
        cuda_available=bool(devices),
        device_count=len(devices),
        devices=devices,
        libraries=[
            f"{HERE}/nvidia/nccl/lib/libnccl.so.2",
            f"{HERE}/nvidia/cudnn/lib/libcudnn.so.9",
            f"{HERE}/nvidia/{'cu13/lib/libcudart.so.13' if new else 'cuda_runtime/lib/libcudart.so.12'}",
            f"{HERE}/torch/lib/libgomp.so.1",
        ]
        if built
        else [f"{HERE}/torch/lib/libgomp.so.1"],
        threads=machine.cpus // 2,
        seconds=2.0,
    )
