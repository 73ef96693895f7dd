"""container-lost-gpu: seen in logs."""

import pytest

from gpudoctor.facts import Cuda, DeviceNode, Driver, Gpus, Host
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("container-lost-gpu")
MESSAGE = "the GPUs' device nodes can no longer be opened (Unknown Error): new processes in this container find no GPU"
EXAMPLES = {
    "Failed to initialize NVML: Unknown Error": MESSAGE,
    "ValueError: invalid literal for int() with base 10: 'Failed to initialize NVML: Unknown Error'": MESSAGE,
    "pynvml.NVMLError_Unknown: Unknown Error": (
        "the GPUs' device nodes can no longer be opened: new processes in this container find no GPU"
    ),
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Unknown Error": MESSAGE,
    "nvidia-container-cli: detection error: nvml error: unknown error: unknown": (
        "the GPUs' device nodes can no longer be opened (unknown error): new processes in this container find "
        "no GPU"
    ),
    "After few hours , nvidia-smi gives  **failed to initialize nvml unknown error** inside the docker": (
        "the GPUs' device nodes can no longer be opened (unknown error): new processes in this container find "
        "no GPU"
    ),
    "cat: /dev/nvidiactl: Operation not permitted": (
        "the GPUs' device nodes can no longer be opened (Operation not permitted): new processes in this "
        "container find no GPU"
    ),
}
NOT_THIS = [
    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
    "Failed to initialize NVML: Driver/library version mismatch",
    "Failed to initialize NVML: Driver Not Loaded",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    "crw-rw-rw- 1 root root 195, 255 Jan  1 00:00 /dev/nvidiactl",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


NODES = [DeviceNode(path=f"/dev/nvidia{name}", readable=True, writable=True) for name in (0, "ctl", "-uvm")]
LOST = {
    "host": Host(container="docker"),
    "gpus": Gpus(error="Unknown Error", error_code=999),
    "driver": Driver(version="580.82.07", nodes=NODES),
}


def test_nodes_that_are_there_and_do_not_open():
    _, [finding] = run(**LOST, cuda=Cuda(library="/usr/lib/libcuda.so.1", init=999))
    assert "NVML says Unknown Error in this container (docker)" in finding.message
    assert [e.text for e in finding.evidence] == ["Unknown Error", "cuInit gives error 999"]


@pytest.mark.parametrize(
    "facts",
    [
        {"host": Host()},
        {"gpus": Gpus()},
        {"gpus": Gpus(error="Driver Not Loaded", error_code=9)},  # container-without-gpus
        {"cuda": Cuda(init=0)},
        {
            "gpus": Gpus(error="Insufficient Permissions", error_code=4),
            "driver": Driver(
                version="580.82.07",
                nodes=[DeviceNode(path="/dev/nvidiactl", readable=False, writable=False, open_to_all=False)],
            ),
        },  # gpu-device-nodes
    ],
)
def test_environment_passed(facts):
    result, found = run(**{**LOST, **facts})
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(host=Host(container="docker"))[0].status is CheckStatus.UNKNOWN
