"""cuda-visible-devices: the variable hides GPUs, or a rank asks for more than it leaves."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cuda-visible-devices")
MESSAGE = "the job asks for a GPU that it cannot see"
EXAMPLES = {
    "ValueError: local_rank 6 exceeds available GPUs in CUDA_VISIBLE_DEVICES=0,1,2": (
        "the job asks for a GPU that it cannot see: device 6 is not visible"
    ),
    "ValueError: device_id cuda:5 is out of range. Please use a device index less than the number of accelerators available: 4.": (
        "the job asks for a GPU that it cannot see: device 5 is not visible"
    ),
    "gpu-03:811:902 [2] init.cc:90 NCCL WARN Cuda failure 100 'no CUDA-capable device is detected'": (
        "the job asks for a GPU that it cannot see"
    ),
    "It ends with cuda runtime error (100)": MESSAGE,
    "THCudaCheck FAIL file=torch/csrc/cuda/Module.cpp line=37 error=101 : invalid device ordinal": MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=38 : no CUDA-capable device is detected": MESSAGE,
    "RuntimeError: cuda runtime error (10)": MESSAGE,
    "RuntimeError: No HIP GPUs are available": MESSAGE,
    "RuntimeError: HIP error: invalid device ordinal": MESSAGE,
    "AssertionError: Invalid CUDA '--device 0,1' requested, use '--device cpu' or pass valid CUDA device(s)": MESSAGE
    + ": it asks for 0,1",
    "ValueError: Invalid CUDA 'device=0,1' requested. Use 'device=cpu' or pass valid CUDA device(s) if available, i.e. 'device=0'": MESSAGE
    + ": it asks for 0,1",
    "AssertionError: CUDA unavailable, invalid device 0 requested": MESSAGE + ": it asks for 0",
    "ValueError: No slot '4' specified on host 'localhost'": MESSAGE + ": device 4 is not visible",
    "Check failed: e == cudaSuccess CUDA: invalid device ordinal": (
        "the job asks for a GPU that it cannot see"
    ),
    "RuntimeError: No CUDA GPUs are available": MESSAGE,
    'RuntimeError: INTERNAL ASSERT FAILED at "../aten/src/ATen/cuda/CUDAContext.cpp":49, please report a bug to PyTorch': MESSAGE,
    "RuntimeError: CUDA error: invalid device ordinal": MESSAGE,
    "RuntimeError: cuda runtime error (10) : invalid device ordinal at torch/csrc/cuda/Module.cpp:32": MESSAGE,
    (
        "RuntimeError: cuda runtime error (101) : invalid device ordinal at "
        "/pytorch/torch/csrc/cuda/Module.cpp:37"
    ): MESSAGE,
    "torch.AcceleratorError: CUDA error: invalid device ordinal": MESSAGE,
    "node1:9319:9379 [1] init.cc:1230 NCCL WARN Cuda failure 'invalid device ordinal'": MESSAGE,
    "node1:9319:9379 [1] init.cc:1230 NCCL WARN Cuda failure 101 'invalid device ordinal'": MESSAGE,
    (
        "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "
        '"../aten/src/ATen/cuda/CUDAContext.cpp":50'
    ): MESSAGE,
    "AssertionError: Invalid device id": MESSAGE,
    (
        "RuntimeError: cuda runtime error (38) : no CUDA-capable device is detected at "
        "/pytorch/aten/src/THC/THCGeneral.cpp:51"
    ): MESSAGE,
    "RuntimeError: CUDA error: no CUDA-capable device is detected": MESSAGE,
    "But your machine only has: [0, 1]": MESSAGE + ": only [0, 1] are visible",
    "RuntimeError: device 3 is not visible (CUDA_VISIBLE_DEVICES=[0, 1])": (
        MESSAGE + ": device 3 is not visible"
    ),
    "ValueError: You requested to find 4 devices but this machine only has 2 GPUs.": (
        "the job asks for a GPU that it cannot see: only 2 are visible"
    ),
    "ValueError: fp16 mixed precision requires a GPU": "the job asks for a GPU that it cannot see",
    "MisconfigurationException: GPUAccelerator can not run on your system since the accelerator is not available.": "the job asks for a GPU that it cannot see",
    "AssertionError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS variable to disable this check": "the job asks for a GPU that it cannot see",
    "CUDARuntimeError: cudaErrorInvalidDevice: invalid device ordinal": "the job asks for a GPU that it cannot see",
    "换了机器以后找不到GPU，只能用CPU跑": "the job asks for a GPU that it cannot see",
}
NOT_THIS = [
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=405 error=11 : invalid argument",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: Found no NVIDIA driver on your system.",
    "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 train.py",
    "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
]
UUIDS = [f"GPU-{letter * 8}-0000-4000-8000-00000000000{i}" for i, letter in enumerate("abcd")]
FOUR = Gpus(devices=[Gpu(index=i, name="A100", uuid=uuid) for i, uuid in enumerate(UUIDS)])
MIG = "MIG-06a16211-6455-5548-9f34-9a810ac2fc5c"
SLICED = Gpus(devices=[Gpu(index=0, name="H200", uuid=UUIDS[0], mig=True, mig_uuids=[MIG, "MIG-1111"])])


def run(value=None, gpus=FOUR, torch=None, **variables):
    if value is not None:
        variables["CUDA_VISIBLE_DEVICES"] = value
    facts = {"launch": Launch(variables=variables), "gpus": gpus, "torch": torch}
    return examine(
        CHECK, Source.ENVIRONMENT, Snapshot({name: fact for name, fact in facts.items() if fact is not None})
    )


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "none"])
def test_hiding_every_gpu_may_be_meant(value):
    _, [finding] = run(value)
    assert finding.severity is Severity.WARNING
    assert "hides all 4 GPUs" in finding.message
    assert finding.fixes[0].command == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "0,1,7",
            "names 7, and this machine has GPUs 0,1,2,3: CUDA stops there, so 2 of the 3 that are named are visible",
        ),
        ("7", "so 0 of the 1"),
        ("7,0,1", "so 0 of the 3"),
        ("0,one", "names one"),
        ("0,,1", "names nothing"),
        ("all", "names all"),
        ("99", "names 99"),
        ("0,0", "names 0 twice: CUDA then shows none"),
        ("1, 01", "twice"),
        ("GPU-eeeeeeee", "names GPU-eeeeeeee"),
        (f"{UUIDS[0]},{UUIDS[0]}", "twice"),
        (f"{UUIDS[0]},1", "names 1"),
        (f"{UUIDS[0]},GPU-ffff", "so 1 of the 2"),
        ("GPU-", "names GPU-"),  # ambiguous
    ],
)
def test_errors(value, words):
    _, [finding] = run(value)
    assert finding.severity is Severity.ERROR
    assert words in finding.message
    assert "export CUDA_VISIBLE_DEVICES=0,1,2,3" in [fix.command for fix in finding.fixes]


@pytest.mark.parametrize("value", ["0;1;2", "0 1", "0:3,1", "0 ; 1", "0-3", "1]"])
def test_numbers_that_no_comma_parts_are_one(value):
    """torch.cuda._parse_visible_devices gives [0] for each, and [0, 1] for the third."""
    _, [finding] = run(value)
    assert finding.severity is Severity.WARNING
    visible = "2 of 4 GPUs are visible" if "," in value else "1 of 4 GPUs is visible"
    assert visible in finding.message


def test_a_name_that_nothing_reads():
    named = Launch(variables={"CUDA_VISIBLE_DEVICE": "0,1", "CUDA_VISIBLE_DEVICES_OLD": "0"})
    facts = {"launch": named, "gpus": FOUR}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert (finding.severity, finding.fixes[0].command) == (
        Severity.WARNING,
        "unset CUDA_VISIBLE_DEVICE; export CUDA_VISIBLE_DEVICES=0,1",
    )
    assert "so all 4 GPUs are visible" in finding.message
    right = Launch(variables=named.variables | {"CUDA_VISIBLE_DEVICES": "0,1"})
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts | {"launch": right}))
    assert finding.severity is Severity.NOTE


def test_an_instance_on_a_machine_without_mig():
    whole = Gpus(devices=[Gpu(index=n, uuid=uuid, mig=False) for n, uuid in enumerate(UUIDS)])
    _, [finding] = run("MIG-deadbeef-1111-2222-3333-444444444444", whole)
    assert "CUDA stops there, so 0 of the 1" in finding.message


def test_a_list_that_minus_one_ends_is_a_warning():
    _, [finding] = run("0,2,-1,1")
    assert finding.severity is Severity.WARNING
    assert "2 of the 4" in finding.message


@pytest.mark.parametrize(
    ("value", "gpus"),
    [
        (None, FOUR),
        ("0,1,2,3", FOUR),
        ("3,1", FOUR),
        (" 0 , 2", FOUR),
        ("+1", FOUR),
        ("1gpu2,2ampere", FOUR),  # as strtoul reads it
        (",".join(UUIDS[:2]), FOUR),
        ("GPU-bbbb", FOUR),
        (MIG, SLICED),
        (f"MIG-{UUIDS[0]}/1/0", SLICED),  # until driver 470
        (
            "gpu-uuid-1",
            Gpus(devices=[Gpu(index=i, uuid=f"gpu-uuid-{i + 1}") for i in range(12)]),
        ),  # a redacted report
    ],
)
def test_passes(value, gpus):
    result, findings = run(value, gpus)
    assert result.status is CheckStatus.PASSED, findings


def test_a_local_rank_beyond_the_visible_gpus():
    _, [finding] = run("0,1", LOCAL_RANK="2")
    assert finding.severity is Severity.ERROR
    assert "LOCAL_RANK is 2, and 2 GPUs are visible (CUDA_VISIBLE_DEVICES=0,1)" in finding.message
    _, [finding] = run(None, LOCAL_RANK="4")
    assert "torchrun --standalone --nproc-per-node=4 train.py" in [fix.command for fix in finding.fixes]
    assert run("2,3", LOCAL_RANK="1")[0].status is CheckStatus.PASSED


def test_one_gpu_for_each_rank_is_a_launchers_way():
    _, [finding] = run("3", LOCAL_RANK="3")
    assert finding.severity is Severity.WARNING
    assert "it is cuda:0" in finding.message


def test_several_mig_instances_count_as_one():
    _, [finding] = run(f"{MIG},MIG-1111", SLICED, LOCAL_RANK="1")
    assert "1 GPU is visible" in finding.message


def test_a_machine_without_gpus_gets_a_note():
    for gpus in (Gpus(), Gpus(error="NVML Shared Library Not Found", error_code=12)):
        _, [finding] = run("0,1", gpus)
        assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles"])
def test_what_hides_all_gpus_hides_none_where_there_is_none(value):
    _, [finding] = run(value, Gpus(error="Driver Not Loaded", error_code=9))
    assert finding.severity is Severity.NOTE
    assert "hides every GPU on a machine that has some" in finding.message


def test_a_container_that_was_started_without_gpus_gets_a_note():
    _, [finding] = run(None, Gpus(), NVIDIA_VISIBLE_DEVICES="void")
    assert finding.severity is Severity.NOTE
    assert "NVIDIA_VISIBLE_DEVICES=void" in finding.message


def test_torch_counts_where_nvml_is_missing():
    torch = Torch(imported=True, cuda="12.4", cuda_available=True, device_count=2)
    no_nvml = Gpus(error="NVML Shared Library Not Found", error_code=12)
    for gpus in (None, no_nvml):
        _, [finding] = run("0,1,2", gpus, torch)
        assert "names 3 GPUs, and torch sees 2" in finding.message
        _, [finding] = run("0,1", gpus, torch, LOCAL_RANK="2")
        assert "LOCAL_RANK is 2" in finding.message
        assert run("0,1", gpus, torch)[0].status is CheckStatus.PASSED
        assert run(None, gpus, torch)[0].status is CheckStatus.PASSED


def test_amds_gpus_have_other_variables():
    assert run("7", torch=Torch(imported=True, hip="6.4"))[0].status is CheckStatus.PASSED


def test_unknown():
    assert (
        examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": FOUR}))[0].reason == "launch: not in this report"
    )
    assert run("0", None)[0].status is CheckStatus.UNKNOWN
    assert run("0", Gpus(error="Unknown Error", error_code=999))[0].status is CheckStatus.UNKNOWN
    assert run(MIG, Gpus(devices=[Gpu(index=0, name="H200", mig=True)]))[0].status is CheckStatus.UNKNOWN
    assert run("GPU-aaaa", Gpus(devices=[Gpu(index=0)]))[0].status is CheckStatus.UNKNOWN


def test_all_are_hidden_on_a_machine_of_which_nothing_is_known():
    _, [finding] = run("-1", gpus=None)
    assert (finding.severity, finding.message) == (
        Severity.WARNING,
        "CUDA_VISIBLE_DEVICES=-1 hides every GPU of the machine",
    )
