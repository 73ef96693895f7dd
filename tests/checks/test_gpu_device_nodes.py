"""gpu-device-nodes: the driver's files are missing, or not open to this user."""

import pytest

from gpudoctor.facts import Cuda, DeviceNode, Driver, Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CLOSED = "this user may not open /dev/kfd: ROCm cannot reach the GPUs"
EXAMPLES = {
    "Unable to open /dev/kfd read-write: Permission denied": CLOSED,
    'msg="permission problems block access" error="add your user to the render group. open /dev/kfd: permission denied"': CLOSED,
    "crw-rw-rw- 1 root root 195, 0 /dev/nvidia0\nls: cannot access '/dev/nvidia-uvm': No such file or directory": "/dev/nvidia-uvm is missing: CUDA cannot reach the driver through it",
    "Failed to initialize NVML: Insufficient Permissions": "this user, or this container, may not open the nodes of the GPUs in /dev: NVML says Insufficient Permissions",
}
NOT_THIS = ["ls: cannot access '/dev/nvidia*': No such file or directory"]

CHECK = Registry().check("gpu-device-nodes")
GPUS = Gpus(devices=[Gpu(index=0)])
FAILED = Cuda(library="/usr/lib/libcuda.so.1", init=999)


def driver(*names, open=True):
    nodes = [DeviceNode(path=f"/dev/nvidia{name}", readable=open, writable=open) for name in names]
    return Driver(version="580.82.07", nodes=nodes)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_missing_node_is_made():
    _, [finding] = run(driver=driver(0, "ctl"), gpus=GPUS, cuda=FAILED)
    assert finding.message.startswith(
        "/dev/nvidia-uvm is missing: CUDA cannot reach the driver (cuInit gives error 999)"
    )
    assert "nvidia-modprobe" in finding.fixes[1].command


def test_a_machine_that_has_none_of_them():
    asked = Cuda(library="/usr/lib/libcuda.so.580.82.07", init=100)
    _, [finding] = run(driver=Driver(version="580.82.07"), gpus=GPUS, cuda=asked, host=Host())
    assert finding.message.startswith("/dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidia0 are missing:")


def test_in_a_container_it_is_started_anew():
    _, [finding] = run(driver=driver("ctl"), gpus=GPUS, cuda=FAILED, host=Host(container="docker"))
    assert "/dev/nvidia-uvm and /dev/nvidia0 are missing in this container" in finding.message
    assert "--gpus all" in finding.fixes[0].command


def test_nodes_that_may_not_be_opened():
    _, [finding] = run(driver=driver(0, "ctl", "-uvm", open=False), gpus=GPUS, cuda=FAILED)
    assert "may not read and write /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia0" in finding.message
    assert any("usermod" in fix.command for fix in finding.fixes)


def test_gpus_without_a_node_are_the_ones_that_cuda_misses():
    four = Gpus(devices=[Gpu(index=n) for n in range(4)])
    facts = {"gpus": four, "cuda": Cuda(init=0, count=2)}
    _, [finding] = run(driver=driver(0, 1, "ctl", "-uvm"), **facts)
    assert finding.message.startswith("the machine has no node in /dev for 2 GPUs of 4, and CUDA starts 2")
    _, [inside] = run(driver=driver(0, 1, "ctl", "-uvm"), host=Host(container="docker"), **facts)
    assert inside.message.startswith("this container has no node")
    closed = driver(0, 1, "ctl", "-uvm").nodes + driver(2, 3, open=False).nodes
    _, [finding] = run(driver=Driver(version="580.82.07", nodes=closed), **facts)
    assert finding.message.startswith("this user may not open the nodes of 2 GPUs of 4")


@pytest.mark.parametrize("count", [1, 3, 4, None])
def test_gpus_that_cuda_misses_for_another_reason_are_not_these(count):
    four = Gpus(devices=[Gpu(index=n) for n in range(4)])
    result, _ = run(driver=driver(0, 1, "ctl", "-uvm"), gpus=four, cuda=Cuda(init=0, count=count))
    assert result.status is CheckStatus.PASSED


@pytest.mark.parametrize(
    "facts",
    [
        {"driver": driver(0, "ctl"), "cuda": Cuda(init=0)},  # nvidia-modprobe makes it on the way
        {"driver": driver(0, "ctl", "-uvm"), "cuda": FAILED},
        {"driver": Driver(version="580.82.07"), "cuda": FAILED},  # container-without-gpus
        {"driver": Driver(version="580.82.07"), "cuda": FAILED, "host": Host(container="docker")},
        {
            "driver": driver("ctl", "-uvm"),
            "cuda": FAILED,
            "launch": Launch(variables={"NVIDIA_VISIBLE_DEVICES": "none"}),  # the same
        },
        {"driver": Driver(dxg=True), "cuda": FAILED},
        {"driver": Driver(), "cuda": Cuda(error="no such file")},
    ],
)
def test_passed(facts):
    result, found = run(gpus=GPUS, **facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run(driver=driver(0, "ctl"), gpus=GPUS)[0].status is CheckStatus.UNKNOWN
    assert run(gpus=GPUS)[0].status is CheckStatus.UNKNOWN


def test_a_plain_file_in_the_place_of_a_node():
    nodes = [
        DeviceNode(path=f"/dev/nvidia{n}", readable=True, writable=True, device=n == 0) for n in range(2)
    ]
    two = Gpus(devices=[Gpu(index=n) for n in range(2)])
    facts = {"driver": Driver(version="580.82.07", nodes=nodes), "gpus": two, "cuda": Cuda(init=0, count=1)}
    _, [finding] = run(**facts)
    assert "may not open the nodes of 1 GPU of 2" in finding.message
