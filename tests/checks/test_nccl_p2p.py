"""nccl-p2p: seen in logs, and in what NVML says of each pair."""

import pytest

from gpudoctor.facts import Gpu, GpuPair, Gpus
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-p2p")
MESSAGE = "GPUs of this machine cannot reach each other's memory: peer access is not supported between these two devices"
EXAMPLES = {
    "g:51:96 [1] src/transport/p2p.cc:239 NCCL WARN hipIpcGetMemHandle failed : invalid argument": (
        "GPUs of this machine cannot reach each other's memory: invalid argument"
    ),
    "node0:4711:4790 [1] transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 30 unknown error": (
        "GPUs of this machine cannot reach each other's memory: unknown error"
    ),
    "RuntimeError: CUDA error: peer access is not supported between these two devices": MESSAGE,
    "[rank0]: Cuda failure 217 'peer access is not supported between these two devices'": MESSAGE,
    "node0:4711:4790 [1] transport/p2p.cc:160 NCCL WARN failed to peer with device 1(=1e000): 4 driver shutting down": (
        "GPUs of this machine cannot reach each other's memory: driver shutting down"
    ),
    "RuntimeError: CUDA error: peer access has not been enabled": (
        "GPUs of this machine cannot reach each other's memory: peer access has not been enabled"
    ),
    "[2026-09-01 08:30:11] node0:812:860 [0] transport/p2p.cc:275 (ncclP2pImportShareableBuffer) NCCL WARN Cuda failure 1 'invalid argument'": (
        "GPUs of this machine cannot reach each other's memory: invalid argument"
    ),
    "node0:812:860 [0] misc/ipcsocket.cc:250 NCCL WARN UDS: Sending data over socket /tmp/nccl-socket-1-7f03 failed : Connection refused (111)": (
        "GPUs of this machine cannot reach each other's memory: Connection refused (111)"
    ),
    'NotImplementedError: Using RTX 4000 series doesn\'t support faster communication broadband via P2P or IB. Please set `NCCL_P2P_DISABLE="1"`': (
        "GPUs of this machine cannot reach each other's memory"
    ),
    "[2026-09-01 08:30:11] node0:774:854 [0] transport/shm.cc:590 NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'": (
        "the ranks of this machine cannot share host memory by CUDA's own calls: peer access is not supported between these two devices"
    ),
    "failed to enable peer access from 0x7f10 to 0x7f20: CUDA_ERROR_UNKNOWN": (
        "GPUs of this machine cannot reach each other's memory"
    ),
    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": "GPUs of this machine cannot reach each other's memory",
}
NOT_THIS = [
    (
        "node0:4711:4711 [0] graph/paths.cc:310 NCCL WARN P2P is disabled between NVLINK connected GPUs 0 and 1. This should not be the "
        "case given their connectivity, and is probably due to a hardware issue."
    ),
    "node0:4711:4711 [0] NCCL INFO P2P is disabled between connected GPUs 6 and 7. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.",
    "node0:4711:4711 [0] NCCL INFO Could not enable P2P between dev 0(=1a000) and dev 1(=1b000)",
    "node0:4711:4790 [0] NCCL INFO Channel 00/02 : 0[0] -> 1[1] via P2P/CUMEM",
    "Using RTX 3090 or 4000 series which doesn't support faster communication speedups. Ensuring P2P and IB communications are disabled.",
    "node0:4711:4790 [0] transport/p2p.cc:120 NCCL WARN Cuda failure 2 'out of memory'",
    "RuntimeError: CUDA error: peer mapping resources exhausted",
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def nvml(path: str, p2p: str, name: str = "NVIDIA L40S", **fields: object) -> Gpus:
    return Gpus(
        devices=[Gpu(index=n, name=name, **fields) for n in range(2)],  # type: ignore[arg-type]
        pairs=[GpuPair(first=0, second=1, path=path, p2p=p2p)],
    )


@pytest.mark.parametrize(
    ("gpus", "severity", "says"),
    [
        (
            nvml("NV12", "GNS"),
            Severity.ERROR,
            "GPU 0 and GPU 1 are joined (NV12), and peer access is denied (GNS)",
        ),
        (nvml("PIX", "CNS", "NVIDIA A100-SXM4-80GB"), Severity.ERROR, "are joined (PIX)"),
        (nvml("SYS", "DR"), Severity.WARNING, "it was turned off by a setting of the driver"),
        (nvml("PIX", "CNS"), Severity.NOTE, "the chipset does not support it"),
    ],
)
def test_found(gpus, severity, says):
    _, [finding] = run(gpus=gpus)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    "gpus",
    [
        nvml("NV12", "OK"),
        nvml("NV12", ""),
        nvml("SYS", "TNS"),
        nvml("PHB", "CNS"),
        nvml("PIX", "CNS", "NVIDIA GeForce RTX 4090"),
        nvml("NV12", "NS", mig=True),
        Gpus(confidential=True, pairs=[GpuPair(first=0, second=1, path="NV18", p2p="NS")]),
    ],
)
def test_passes(gpus):
    result, findings = run(gpus=gpus)
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("facts", [{}, {"gpus": Gpus(error="Driver Not Loaded")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


def test_a_matrix_alone_is_a_note() -> None:
    pairs = [GpuPair(first=0, second=1, p2p="CNS")]
    _, [finding] = run(gpus=Gpus(devices=[Gpu(index=0), Gpu(index=1)], pairs=pairs))
    assert finding.severity is Severity.NOTE
    cards = [Gpu(index=n, name="NVIDIA GeForce RTX 4090") for n in range(2)]
    assert run(gpus=Gpus(devices=cards, pairs=pairs))[1] == []
