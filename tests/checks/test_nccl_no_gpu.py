"""nccl-no-gpu: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Launch, Pci, PciDevice, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "NCCL moves data between GPUs only, and this process sees none"
EXAMPLES = {
    (
        "ValueError: device_id cuda:1 is out of range. Please use a device index less than the number of accelerators "
        "available: 0."
    ): MESSAGE,
    "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!": MESSAGE,
    "[rank0]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!": MESSAGE,
    "[rank1]: RuntimeError: nccl2 requires at least one CUDA device": MESSAGE,
}
NOT_THIS = [
    "ValueError: Cuda is not available.",
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "RuntimeError: No CUDA GPUs are available",
    "GPU available: False, used: False",
    "torch.cuda is not available, training on the CPU",
]

CHECK = Registry().check("nccl-no-gpu")
NONE = Torch(version="2.15.0+cu132", cuda="13.2", device_count=0)
RANKS = Launch(variables={"NCCL_DEBUG": "INFO", "WORLD_SIZE": "4"})
JOB = Launch(variables={**RANKS.variables, "SLURM_GPUS_ON_NODE": "4"})
GPU = Pci(nvidia=[PciDevice(address="0000:01:00.0", device_class="0x0302")])


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_ranks_for_nccl_without_a_gpu() -> None:
    result, [finding] = run(launch=JOB, torch=NONE, pci=Pci())
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert "NCCL_DEBUG is set and the launch has 4 ranks" in finding.message


def test_without_a_promise_of_gpus_it_is_a_note() -> None:
    assert run(launch=RANKS, torch=NONE, pci=Pci())[1][0].severity is Severity.NOTE


def test_passes() -> None:
    assert run(launch=Launch(variables={"NCCL_DEBUG": "INFO"}), torch=NONE, pci=Pci())[1] == []
    assert run(launch=Launch(variables={"WORLD_SIZE": "4"}), torch=NONE, pci=Pci())[1] == []
    assert run(launch=RANKS, torch=NONE, pci=GPU)[1] == []
    assert run(launch=RANKS, torch=NONE)[1] == []


def test_unknown() -> None:
    assert run(launch=RANKS)[0].reason == "torch: not in this report"
