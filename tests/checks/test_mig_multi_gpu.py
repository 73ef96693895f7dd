"""mig-multi-gpu: seen in logs, and in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Pci
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("mig-multi-gpu")
MESSAGE = "several MIG instances (1g.10gb) are there: a process sees one, and NCCL before 2.30 cannot use two of one GPU"
TWO_VISIBLE = (
    "CUDA_VISIBLE_DEVICES=MIG-00000000-1111-2222-3333-444444444444,MIG-00000000-1111-2222-3333-555555555555"
)
TWO_LISTED = (
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-1111-2222-3333-444444444444)\n"
    "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)\n"
    "  MIG 3g.40gb     Device  1: (UUID: MIG-00000000-1111-2222-3333-555555555555)"
)
NO_INSTANCE = "No MIG devices found"
DUPLICATE = (
    "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)\n"
    "\n"
    "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"
)
EXAMPLES = {
    "No GPU instances found: Not Found": "MIG is on and no instance was made: CUDA sees no GPU there",
    "six instances, and only MIG device 0 is used": "a process sees one MIG instance, however many there are, and NCCL before 2.30 cannot use two of one GPU",
    TWO_VISIBLE: "CUDA_VISIBLE_DEVICES names 2 MIG instances, of which a CUDA process sees one",
    TWO_LISTED: "several MIG instances (3g.40gb) are there: a process sees one, and NCCL before 2.30 cannot use two of one GPU",
    "            nvidia.com/mig-1g.10gb: 4": MESSAGE,
    "#SBATCH --gres=gpu:1g.10gb:4": MESSAGE,
    "`device_count()` shows only one gpu on an A100 with MIG": (
        "a process sees one MIG instance, however many there are, and NCCL before 2.30 cannot use two of one GPU"
    ),
    "with MIG on, CUDA can access only one device": (
        "a process sees one MIG instance, however many there are, and NCCL before 2.30 cannot use two of one GPU"
    ),
    NO_INSTANCE: "MIG is on and no instance was made: CUDA sees no GPU there",
    DUPLICATE: "ranks are on MIG instances of one GPU, and this NCCL takes them for ranks on one GPU",
    "GPU 0: NVIDIA A100 (UUID: GPU-1), MIG mode: Enabled\nRuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at CUDAContext.cpp:50": (
        "the job asks for a second device, and a process sees one MIG instance"
    ),
}
NOT_THIS = [
    "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
    "|                               |                      |               MIG M. |",
    "CUDA_VISIBLE_DEVICES=MIG-00000000-1111-2222-3333-444444444444",
    "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)",
    "            nvidia.com/mig-1g.10gb: 1",
    "only one GPU is here, and it is not in use",
    "the MIG of the table is Disabled, and one GPU alone is slow",
]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (TWO_VISIBLE, Severity.ERROR),
        (TWO_LISTED, Severity.WARNING),
        (NO_INSTANCE, Severity.ERROR),
        (DUPLICATE, Severity.ERROR),
    ],
)
def test_instances_that_are_merely_there_are_a_warning(text, severity):
    (seen,) = matches(text, [CHECK])
    assert seen.finding.severity is severity


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


CUT = Gpu(index=0, name="A100", mig=True, mig_uuids=["MIG-1", "MIG-2"])
WHOLE = Gpu(index=1, name="A100", mig=False)


def launched(*devices, **variables):
    return run(*devices, launch=Launch(variables=variables))


def test_found_in_the_facts():
    _, [finding] = launched(CUT, LOCAL_WORLD_SIZE="2")
    assert "MIG is on for GPU 0, and 2 ranks start here" in finding.message
    _, [finding] = launched(CUT, CUDA_VISIBLE_DEVICES="MIG-1,MIG-2")
    assert "CUDA_VISIBLE_DEVICES names 2 MIG instances" in finding.message
    _, [finding] = run(Gpu(index=0, name="A100", mig=True))
    assert "no instance was made" in finding.message
    _, [finding] = run(CUT, WHOLE)
    assert finding.severity is Severity.WARNING
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=1"


@pytest.mark.parametrize("devices", [[CUT, Gpu(index=1, name="A100", mig=True, mig_uuids=["MIG-3"])], [CUT]])
def test_a_note_where_there_are_several_instances_and_nobody_starts_ranks(devices):
    _, [finding] = run(*devices)
    assert finding.severity is Severity.NOTE


def test_passes():
    for result, _ in (
        run(Gpu(index=0, name="A100", mig=True, mig_uuids=["MIG-1"])),
        run(WHOLE),
        launched(CUT, CUDA_VISIBLE_DEVICES="MIG-1"),
        launched(WHOLE, LOCAL_WORLD_SIZE="8"),
        launched(CUT, WHOLE, CUDA_VISIBLE_DEVICES="1"),  # what the fix says
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED


def test_instances_that_a_variable_names_where_nobody_tells_the_mode():
    untold = Gpu(index=0, name="A100")
    _, [finding] = launched(untold, CUDA_VISIBLE_DEVICES="MIG-1,MIG-2")
    assert "names 2 MIG instances" in finding.message
    assert launched(untold, CUDA_VISIBLE_DEVICES="MIG-1")[0].status is CheckStatus.PASSED
