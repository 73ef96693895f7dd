"""container-without-gpus: the host has GPUs, and this container was given none of them."""

import pytest

from gpudoctor.facts import ContainerStart, DeviceNode, Driver, Gpus, Host, Launch, Pci, PciDevice, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("container-without-gpus")
CARD = PciDevice(address="0000:3b:00.0", device="0x2330", device_class="0x0302", driver="nvidia")
CUDA = Torch(imported=True, version="2.15.0+cu132", cuda="13.2", cuda_available=False)
DOCKER = Host(system="Linux", container="docker")
LOADED = Driver(version="580.82.07")
NODE = DeviceNode(path="/dev/nvidia0", readable=True, writable=True)
NO_NVML = Gpus(error="NVML Shared Library Not Found", error_code=12)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


@pytest.mark.parametrize(
    ("container", "command"),
    [
        ("docker", "docker run --gpus all IMAGE"),
        ("podman", "podman run --device nvidia.com/gpu=all IMAGE"),
        ("kubernetes", "resources: {limits: {nvidia.com/gpu: 1}}"),
        ("apptainer", "apptainer exec --nv IMAGE torchrun --standalone --nproc-per-node=2 train.py"),
    ],
)
def test_found(container, command):
    host = Host(system="Linux", container=container)
    _, [finding] = run(pci=Pci(nvidia=[CARD]), driver=LOADED, gpus=NO_NVML, torch=CUDA, host=host)
    assert finding.severity is Severity.WARNING
    assert "1 NVIDIA GPU with driver 580.82.07" in finding.message
    assert finding.fixes[0].command == command


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        ({"launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "0,1"})}, Severity.ERROR),
        ({"launch": Launch(variables={"NVIDIA_VISIBLE_DEVICES": "all"})}, Severity.ERROR),
        ({"launch": Launch(variables={"NVIDIA_VISIBLE_DEVICES": "void"})}, Severity.NOTE),
        ({"torch": Torch(imported=True, version="2.13.0+cpu")}, Severity.NOTE),
    ],
)
def test_how_much_it_matters(facts, severity):
    known = {"pci": Pci(nvidia=[CARD]), "driver": LOADED, "host": DOCKER, "torch": CUDA}
    _, [finding] = run(**{**known, **facts})
    assert finding.severity is severity


def test_a_container_that_has_the_driver_alone():
    control = Driver(
        version="580.82.07", nodes=[DeviceNode(path="/dev/nvidiactl", readable=True, writable=True)]
    )
    facts = {"pci": Pci(nvidia=[CARD]), "driver": control, "host": DOCKER, "torch": CUDA}
    wanted = Launch(variables={"NVIDIA_VISIBLE_DEVICES": "none"})
    _, [finding] = run(launch=wanted, **facts)
    assert finding.severity is Severity.NOTE
    assert "has no node of a GPU" in finding.message
    assert run(**facts)[1] == []  # gpu-device-nodes


@pytest.mark.parametrize(
    "facts",
    [
        {"host": Host(system="Linux"), "driver": LOADED},
        {"host": DOCKER, "driver": Driver(version="580.82.07", nodes=[NODE])},
        {"host": DOCKER, "driver": Driver(dxg=True)},
        {"host": DOCKER, "driver": Driver(), "pci": Pci()},
    ],
)
def test_passed(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


@pytest.mark.parametrize("asked", ["0,1", "GPU-5c0f0000-77aa-4b1c-9e2d-0123456789ab"])
def test_gpus_that_are_named_and_not_there(asked):
    launch = Launch(variables={"NVIDIA_VISIBLE_DEVICES": asked})
    facts = {"host": Host(system="Linux", container="kubernetes"), "driver": Driver(), "launch": launch}
    _, [finding] = run(pci=Pci(), torch=CUDA, **facts)
    assert (finding.severity, finding.message.split(",")[0][:23]) == (
        Severity.WARNING,
        "NVIDIA_VISIBLE_DEVICES=",
    )
    assert "sees neither a GPU nor a driver" in finding.message
    assert (
        run(pci=Pci(), torch=Torch(imported=True, version="2.15.0+cpu"), **facts)[1][0].severity
        is Severity.NOTE
    )


@pytest.mark.parametrize("asked", ["all", "void", "none", ""])
def test_what_images_set_asks_for_nothing(asked):
    launch = Launch(variables={"NVIDIA_VISIBLE_DEVICES": asked})
    assert run(pci=Pci(), torch=CUDA, host=DOCKER, driver=Driver(), launch=launch)[1] == []


def test_unknown():
    assert run(host=DOCKER)[0].status is CheckStatus.UNKNOWN
    assert run(host=DOCKER, driver=Driver())[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("engine", "verb", "option"),
    [
        ("docker", "run", "--gpus"),
        ("podman", "run", "--device nvidia.com/gpu=all"),
        ("singularity", "exec", "--nv"),
    ],
)
def test_a_command_that_hands_on_no_gpu(engine, verb, option):
    start = ContainerStart(engine=engine, verb=verb, gpus=False, missing="nvidia-smi: command not found")
    _, [finding] = run(container_start=start)
    words = f"`{engine} {verb}` is called without {option}, and inside: nvidia-smi: command not found."
    assert finding.message.startswith(words)
    assert option in finding.fixes[0].command
    _, [finding] = run(container_start=ContainerStart(engine=engine, verb=verb, gpus=False), torch=CUDA)
    assert "inside: torch finds no GPU there" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"container_start": ContainerStart(engine="docker", verb="run", gpus=False)},
        {"container_start": ContainerStart(engine="docker", verb="run", gpus=True, missing="nvidia-smi is not found")},
    ],
)  # fmt: skip
def test_a_command_alone_shows_nothing(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.UNKNOWN, [])
    assert "neither the container nor its device nodes" in result.reason


def test_a_command_that_handed_them_on():
    facts = {"host": DOCKER, "driver": LOADED, "pci": Pci(nvidia=[CARD]), "torch": CUDA}
    assert run(**facts)[1]
    result, found = run(**facts, container_start=ContainerStart(engine="docker", verb="run", gpus=True))
    assert (result.status, found) == (CheckStatus.PASSED, [])
