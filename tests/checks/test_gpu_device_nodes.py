"""gpu-device-nodes: the driver's files are missing, or not open to this user."""

import pytest

from gpudoctor.facts import Cuda, DeviceNode, Driver, Gpu, Gpus, Host
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

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


def test_in_a_container_it_is_started_anew():
    _, [finding] = run(driver=driver("ctl"), gpus=GPUS, cuda=FAILED, host=Host(container="docker"))
    assert "/dev/nvidia-uvm and /dev/nvidia0 are missing in this container" in finding.message
    assert "--gpus all" in finding.fixes[0].command


def test_nodes_that_may_not_be_opened():
    _, [finding] = run(driver=driver(0, "ctl", "-uvm", open=False), gpus=GPUS, cuda=FAILED)
    assert "may not read and write /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia0" in finding.message
    assert any("usermod" in fix.command for fix in finding.fixes)


@pytest.mark.parametrize(
    "facts",
    [
        {"driver": driver(0, "ctl"), "cuda": Cuda(init=0)},  # nvidia-modprobe makes it on the way
        {"driver": driver(0, "ctl", "-uvm"), "cuda": FAILED},
        {"driver": Driver(version="580.82.07"), "cuda": FAILED},  # container-without-gpus
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
