"""Machines on which nothing is wrong: notes at most, and the verdict says what they can do."""

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import (
    DeviceNode,
    Distribution,
    Distributions,
    Driver,
    Gpu,
    Gpus,
    Host,
    Interface,
    Interfaces,
    Launch,
    Limit,
    Listener,
    Names,
    Pci,
    PciDevice,
    Python,
    Resolution,
    Sockets,
    Torch,
    TorchDevice,
    Torchvision,
)
from gpudoctor.model import Severity
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, ProbeResult, ProbeStatus, Status
from gpudoctor.snapshot import Snapshot

GIB = 1024**3


def gpus(count, name="NVIDIA H100 80GB HBM3", capability="9.0"):
    return Gpus(
        driver_version="580.82.07",
        cuda_version="13.0",
        devices=[
            Gpu(index=n, name=name, uuid=f"GPU-{n:08d}-0000-0000-0000-000000000000", capability=capability,
                memory_bytes=80 * GIB, pci_address=f"0000:{n:02x}:00.0", compute_mode="default")
            for n in range(count)
        ],
    )  # fmt: skip


def torch(devices=0, **fields):
    known = {
        "file": "/venv/lib/python3.11/site-packages/torch/__init__.py", "imported": True, "stage": "done",
        "version": "2.15.0+cu132", "cuda": "13.2", "nccl": "2.30.7", "nccl_available": True, "gloo_available": True,
        "distributed_available": True, "cuda_available": devices > 0, "device_count": devices,
        "devices": [TorchDevice(ordinal=n, name="NVIDIA H100 80GB HBM3", capability="9.0") for n in range(devices)],
    }  # fmt: skip
    return Torch(**{**known, **fields})


def machine(count=0, **facts):
    """A healthy machine with `count` GPUs, before `facts` take their place."""
    bus = [
        PciDevice(address=f"0000:{n:02x}:00.0", device="0x2330", device_class="0x0302", driver="nvidia")
        for n in range(count)
    ]
    nodes = [
        DeviceNode(path=f"/dev/nvidia{n}", readable=True, writable=True)
        for n in [*range(count), "ctl", "-uvm"]
    ]
    version = "580.82.07" if count else None
    known = {
        "python": Python(executable="/venv/bin/python", version="3.11.7", environment="virtual environment"),
        "distributions": Distributions(installed=[
            Distribution(name="torch", version="2.15.0"),
            Distribution(name="torchvision", version="0.29.2", requires=["torch>=2.14.0"]),
            Distribution(name="pip", version="25.3"),
        ]),
        "torch": torch(count),
        "torchvision": Torchvision(
            version="0.29.2", requires_torch=["torch>=2.14.0"], torch_version="2.15.0+cu132", operators_load=True,
            library="/venv/lib/python3.11/site-packages/torchvision/_C_stable.so",
        ),
        "pci": Pci(nvidia=bus),
        "driver": Driver(version=version, module_version=version, nodes=nodes if count else []),
        "gpus": gpus(count) if count else Gpus(error="NVML Shared Library Not Found", error_code=12),
        "host": Host(system="Linux", os="Ubuntu 24.04.2 LTS", cpus=64, cpus_usable=64, memory_bytes=512 * GIB,
                     shm_bytes=256 * GIB, shm_free_bytes=256 * GIB, limits={"nofile": Limit(soft=1024, hard=1048576)}),
        "names": Names(own=Resolution(name="node1", addresses=["10.0.0.4"])),
        "interfaces": Interfaces(all=[
            Interface(name="lo", up=True, addresses=["127.0.0.1", "::1"], loopback=True, virtual=True),
            Interface(name="eth0", up=True, addresses=["10.0.0.4"]),
            Interface(name="docker0", up=False, addresses=["172.17.0.1"], virtual=True),
        ]),
        "sockets": Sockets(listeners=[Listener(port=22, address="0.0.0.0"), Listener(port=8888, pid=7, command="jupyter-lab")]),
        "launch": Launch(),
    }  # fmt: skip
    known.update(facts)
    return Snapshot(known, [ProbeResult(name=name, status=ProbeStatus.OK) for name in known])


LOOPBACK = Names(own=Resolution(name="vm", addresses=["127.0.0.1"]))
DEBIAN = Names(own=Resolution(name="vm", addresses=["127.0.1.1"]))
TORCHRUN = {
    "RANK": "0", "WORLD_SIZE": "8", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1",
    "ROLE_RANK": "0", "ROLE_WORLD_SIZE": "8", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none", "OMP_NUM_THREADS": "1",
}  # fmt: skip
MACHINES = {
    "a machine without a GPU, CUDA build of torch": machine(),
    "the same, and its name resolves to loopback": machine(names=LOOPBACK),
    "the same as Debian installs it": machine(names=DEBIAN),
    "a CPU build of torch on a CPU machine": machine(
        torch=torch(version="2.13.0+cpu", cuda=None, nccl=None, nccl_available=False),
        torchvision=Torchvision(), distributions=Distributions(installed=[Distribution(name="torch", version="2.13.0+cpu")]),
    ),
    "no torchvision": machine(torchvision=Torchvision()),
    "a container on a CPU machine with an ample /dev/shm": machine(
        host=Host(system="Linux", container="docker", cpus=2, shm_bytes=8 * GIB, shm_free_bytes=8 * GIB), names=LOOPBACK
    ),
    "a fresh cloud image with one GPU": machine(1, names=DEBIAN),
    "eight GPUs on bare metal": machine(8),
    "eight GPUs under torchrun, as rank 0": machine(8, launch=Launch(variables=TORCHRUN)),
    "rank 3 of torchrun, whose port rank 0 holds": machine(
        8,
        launch=Launch(variables={**TORCHRUN, "RANK": "3", "LOCAL_RANK": "3"}),
        sockets=Sockets(listeners=[Listener(port=29500, pid=4711, command="python")]),
    ),
    "rank 0 of torchrun, whose own agent holds the port": machine(
        8,
        launch=Launch(variables=TORCHRUN),
        sockets=Sockets(listeners=[Listener(port=29500, pid=4711, command="torchrun", own=True)]),
    ),
    "a pod in Kubernetes": machine(
        4,
        host=Host(system="Linux", container="kubernetes", cpus=64, shm_bytes=64 * GIB, shm_free_bytes=64 * GIB),
        launch=Launch(variables={"KUBERNETES_SERVICE_HOST": "10.96.0.1", "NVIDIA_VISIBLE_DEVICES": "all"}),
    ),
    "a container whose GPUs were handed in one by one": machine(
        2,
        host=Host(system="Linux", container="docker", cpus=64, shm_bytes=64 * GIB, shm_free_bytes=64 * GIB),
        launch=Launch(variables={"NVIDIA_VISIBLE_DEVICES": "GPU-00000000-0000-0000-0000-000000000000,GPU-00000001-0000-0000-0000-000000000000"}),
    ),
    "two of four GPUs chosen": machine(4, torch=torch(2), launch=Launch(variables={"CUDA_VISIBLE_DEVICES": "2,3"})),
    "GPUs chosen by the first digits of their UUIDs": machine(
        4, torch=torch(2), launch=Launch(variables={"CUDA_VISIBLE_DEVICES": "GPU-00000001,GPU-00000003"})
    ),
    "a task of Slurm on two nodes": machine(
        8,
        names=Names(own=Resolution(name="node1", addresses=["10.0.0.4"]), master=Resolution(name="node1", addresses=["10.0.0.4"])),
        launch=Launch(variables={
            "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "16", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]",
            "MASTER_ADDR": "node1", "MASTER_PORT": "29511", "RANK": "0", "WORLD_SIZE": "16", "LOCAL_RANK": "0",
        }),
    ),
    "a shell inside a Slurm allocation, nothing launched": machine(
        8, launch=Launch(variables={"SLURM_JOB_ID": "1", "SLURM_NNODES": "1", "SLURM_NTASKS": "8"})
    ),
    "WSL": machine(
        1,
        pci=Pci(), driver=Driver(dxg=True),
        host=Host(system="Linux", wsl=True, cpus=16, shm_bytes=8 * GIB, shm_free_bytes=8 * GIB),
    ),
    "a virtual machine host that hands its GPUs on": machine(
        pci=Pci(nvidia=[PciDevice(address="0000:3b:00.0", device_class="0x0302", driver="vfio-pci")])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_is_wrong(name):
    snapshot = MACHINES[name]
    registry = Registry()
    report = diagnose(snapshot, registry.checks())
    assert [(f.id, f.message) for f in report.findings if f.severity is not Severity.NOTE] == []
    assert [(r.id, r.reason) for r in report.checks if r.status is CheckStatus.CRASHED] == []
    assert report.verdict.status is Status.HEALTHY


def test_the_verdict_of_a_cpu_machine_says_what_it_can_do():
    sentence = diagnose(machine(names=LOOPBACK), Registry().checks()).verdict.sentence
    assert sentence.startswith("Healthy for CPU training")
    assert "gloo" in sentence


def test_the_verdict_of_a_gpu_machine_counts_its_gpus():
    assert "8 GPUs" in diagnose(machine(8), Registry().checks()).verdict.sentence
