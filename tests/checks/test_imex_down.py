"""imex-down: an NVLink domain of several nodes without its service."""

import pytest

from gpudoctor.facts import Fabric, Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("imex-down")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


MESSAGE = (
    "memory of GPUs cannot be shared with other nodes of the NVLink domain{}: IMEX or its channel is missing"
)
EXAMPLES = {
    "gpu-03:811:902 [2] mnnvl.cc:70 NCCL WARN MNNVL (cliqueSize 18) is available but not supported on this system. Check the IMEX configuration.": (
        "memory of GPUs cannot be shared with other nodes of the NVLink domain (of 18 GPUs): IMEX or its channel is missing"
    ),
    (
        "NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX configuration "
        "(nvidia-imex-ctl -N). Set NCCL_MNNVL_ENABLE=0 to ignore this issue."
    ): MESSAGE.format(" (of 8 GPUs)"),
    (
        "nvidia-imex.service - NVIDIA IMEX service\n"
        "     Loaded: loaded (/usr/lib/systemd/system/nvidia-imex.service; enabled)\n"
        "     Active: failed (Result: exit-code) since Mon"
    ): MESSAGE.format(""),
    "nvidia-imex.service: Failed with result 'exit-code'.": MESSAGE.format(""),
    "On both of them nvidia-imex is inactive": MESSAGE.format(""),
    "NCCL WARN MemManager: cuMemExportToShareableHandle (FABRIC) failed for ptr=0x7f00": MESSAGE.format(""),
}
NOT_THIS = ["NCCL INFO MNNVL busId 0x3b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0"]
RACK = Gpus(devices=[Gpu(index=n, fabric_clique="c0ffee-1") for n in range(4)])
ALONE = Gpus(devices=[Gpu(index=0)])
SERVED = Fabric(imex=True, imex_channels=1)
TWO_NODES = Launch(variables={"SLURM_NNODES": "2"})


@pytest.mark.parametrize(
    ("facts", "severity", "says"),
    [
        (
            {"fabric": Fabric(imex=True)},
            Severity.WARNING,
            "no channel is in /dev/nvidia-caps-imex-channels: a job",
        ),
        ({"fabric": Fabric(imex=False, imex_channels=1)}, Severity.WARNING, "no nvidia-imex daemon runs"),
        ({"fabric": Fabric(imex=False), "launch": TWO_NODES}, Severity.ERROR, "this job on 2 nodes"),
    ],
)
def test_found(facts, severity, says):
    _, [finding] = run(gpus=RACK, **facts)
    assert finding.severity is severity
    assert says in finding.message


def test_a_container_is_given_the_channel():
    _, [finding] = run(gpus=RACK, fabric=Fabric(), host=Host(container="docker"))
    assert any("--device /dev/nvidia-caps-imex-channels/channel0" in fix.command for fix in finding.fixes)


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": RACK, "fabric": SERVED},
        {"gpus": RACK, "fabric": Fabric(imex_channels=2)},
        {"gpus": ALONE, "fabric": Fabric(imex=False)},
        {"gpus": RACK, "fabric": Fabric(imex=False), "launch": Launch(variables={"NCCL_MNNVL_ENABLE": "0"})},
    ],
)
def test_passes(facts):
    assert run(**facts)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run(gpus=RACK)[0].status is CheckStatus.UNKNOWN
