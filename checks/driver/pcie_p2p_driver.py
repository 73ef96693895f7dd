"""RTX 40 cards with a driver that promises peer access which they do not have.

## What happens

With two or more RTX 4090 (or others of the series) NCCL hangs in its first collective with all GPUs at 100 %, or the
copies arrive with wrong data. accelerate stops with "Using RTX 4000 series doesn't support faster communication broadband
via P2P or IB". On one card everything works.

## Why

GeForce cards of that series have no peer access over PCIe. Early drivers said that they had, and NCCL believed them.
accelerate takes 550.40.07 for the first driver that does not: older ones get peer access and InfiniBand turned off.

## How to tell

`nvidia-smi --query-gpu=name,driver_version --format=csv`, and `nvidia-smi topo -p2p r`, which a driver that is right
answers with CNS or NS between those cards.

## See also

- [nccl-tests 117](https://github.com/NVIDIA/nccl-tests/issues/117): RTX 4090s that hang, while older cards work
- [accelerate 2328](https://github.com/huggingface/accelerate/issues/2328): for which cards it turns peer access off
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import (
    Gpus,
    Launch,
    NcclConfiguration,
    nccl_variables,
)

SERIES = re.compile(r"\bRTX 40[5-9]0\b")
# accelerate/utils/environment.py, check_cuda_p2p_ib_support: the first driver without the fault.
FIRST_GOOD = (550, 40, 7)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where NCCL_P2P_DISABLE=1 is set",
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and this line",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Install a current driver and restart",
            "sudo apt install nvidia-driver-580 && sudo reboot",
            Kind.ADMIN,
        ),
        Fix(
            "Keep NCCL from peer copies until then: with a driver that is right it does so by itself",
            "export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs 2 RTX 40 cards and a driver before 550.40.07",
)


@check.environment
def environment(
    gpus: Gpus, launch: Launch | None, configuration: NcclConfiguration | None
) -> Iterator[Finding]:
    """Several cards of the series, with a driver before the first good one."""
    cards = [gpu for gpu in gpus.devices if SERIES.search(gpu.name)]
    if len(cards) < 2:
        return
    if not gpus.driver_version:
        raise CannotTell("the driver's version is not known")
    version = tuple(int(n) for n in re.findall(r"\d+", gpus.driver_version))
    if version >= FIRST_GOOD:
        return
    off = nccl_variables(launch, configuration).get("NCCL_P2P_DISABLE") == "1"
    message = (
        f"driver {gpus.driver_version} with {count(len(cards), 'RTX 40 card')}: before 550.40.07 it promises peer access "
        "that these cards do not have, and NCCL hangs or copies wrong data"
    )
    if off:
        message += "; NCCL_P2P_DISABLE=1 is set, which keeps NCCL from it"
    yield check.found(message, severity=Severity.NOTE if off else None)
