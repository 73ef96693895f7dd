"""fabric-state: seen in logs, and in what NVML says of each GPU."""

import pytest

from gpudoctor.facts import Gpu, Gpus
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("fabric-state")
MESSAGE = "the NVLink fabric is not ready: peer traffic fails or is slow"
EXAMPLES = {
    "    Fabric\n        State                             : In Progress\n        Status                            : N/A": (
        "the NVLink fabric is not ready (In Progress): peer traffic fails or is slow"
    ),
    (
        "    Fabric\n        State                             : Completed\n"
        "        Status                            : Insufficient Resources"
    ): "the NVLink fabric is not ready (Insufficient Resources): peer traffic fails or is slow",
    (
        "    Fabric\n        State                             : Completed\n        Health\n"
        "            Summary                       : Unhealthy"
    ): "the NVLink fabric is not ready (Unhealthy): peer traffic fails or is slow",
    (
        "    Fabric\n        State                             : Completed\n        Health\n"
        "            Bandwidth                     : Degraded"
    ): "the NVLink fabric is not ready (Degraded): peer traffic fails or is slow",
    "            Route Unhealthy               : True": (
        "the NVLink fabric is not ready (Route Unhealthy): peer traffic fails or is slow"
    ),
    "gpu 2: fabric state is not healthy: state=In Progress": (
        "the NVLink fabric is not ready (not healthy): peer traffic fails or is slow"
    ),
    "node0:4711:4811 [0] NCCL INFO MNNVL busId 0x3b000 fabric UUID 0.0 cliqueId 0x0 state 2 healthMask 0x0": (
        "the NVLink fabric is not ready (state 2 instead of 3): peer traffic fails or is slow"
    ),
    "RuntimeError: expandable_segments: FABRIC handle type configured but device 0 does not support fabric access.": (
        "the NVLink fabric is not ready for GPU 0: peer traffic fails or is slow"
    ),
    "RuntimeError: All ranks using fabric handles must be in the same NVLink domain.": MESSAGE,
}
NOT_THIS = [
    "    Fabric\n        State                             : Completed\n        Status                            : Success",
    "    Fabric\n        State                             : N/A\n        Status                            : N/A",
    "State : In Progress",
    "NCCL INFO MNNVL busId 0x3b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0",
    "Error 802: system not yet initialized",
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def board(*states: str | None, **fields: object) -> Gpus:
    return Gpus(
        devices=[
            Gpu(index=n, name="NVIDIA H100 80GB HBM3", fabric_state=state, **fields)  # type: ignore[arg-type]
            for n, state in enumerate(states)
        ]
    )


@pytest.mark.parametrize(
    ("gpus", "severity", "says"),
    [
        (
            board("completed", "in_progress"),
            Severity.ERROR,
            "GPU 1 has not joined the NVLink fabric (state: in progress)",
        ),
        (board("completed", fabric_status=999), Severity.ERROR, "ended with NVML error 999"),
        (board("completed", fabric_health=["route_unhealthy"]), Severity.ERROR, "a route is not healthy"),
        (board("completed", fabric_health=["degraded_bandwidth"]), Severity.WARNING, "bandwidth is degraded"),
        (
            Gpus(devices=[Gpu(index=0, name="NVIDIA H100 NVL", fabric_state="in_progress")]),
            Severity.WARNING,
            "GPU 0",
        ),
    ],
)
def test_found(gpus, severity, says):
    _, [finding] = run(gpus=gpus)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    "gpus",
    [
        board("completed", "completed", fabric_status=0),
        board("not_supported", None),
        board("in_progress", "not_started"),  # that is the fabric manager
        Gpus(),
    ],
)
def test_passes(gpus):
    assert run(gpus=gpus)[0].status is CheckStatus.PASSED


@pytest.mark.parametrize("facts", [{}, {"gpus": Gpus(error="Driver Not Loaded")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN
