"""Words of a failure in a text that shows no state of the machine, or denies it."""

import pytest

from gpudoctor.bad_input import BadInput
from gpudoctor.complaints import of_machine
from gpudoctor.environment import check
from gpudoctor.model import Role, Severity, Source
from gpudoctor.registry import Registry

BLOCK = """\
PyTorch version: 2.4.1+{build}
Is debug build: False
CUDA used to build PyTorch: 12.1
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA L4
Nvidia driver version: 550.90.07
"""


@pytest.fixture(scope="module")
def registry():
    return Registry()


@pytest.fixture
def examined(tmp_path, registry):
    def examine(text, **options):
        path = tmp_path / "ticket.txt"
        path.write_text(text)
        return check(source=str(path), checks=registry, **options)

    return examine


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "gpu-arch-unsupported"),
        ("ImportError: libcudart.so.8.0: cannot open shared object file: No such file", "torch-import-broken"),
        ("RuntimeError: operator torchvision::nms does not exist", "torchvision-mismatch"),
        ('docker: Error: could not select device driver "" with capabilities: [[gpu]].', "docker-no-runtime"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error.", "shm-too-small"),
        ("slurmstepd: error: Detected 2 oom_kill events in StepId=7.0. Some of the step tasks …", "host-oom-killed"),
    ],
)  # fmt: skip
def test_words_alone(text, id, examined):
    report = examined(f"Since today I get this:\n\n{text}\n")
    [finding] = [f for f in report.findings if f.role is Role.CAUSE]
    assert (finding.id, finding.severity, finding.source) == (id, Severity.ERROR, Source.LOG)
    assert report.verdict.primary == id
    assert finding.evidence[0].where == "the text:3"


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("ncclInternalError: Internal check failed.\nBootstrap : no socket interface found", "nccl-interface"),
        ("NCCL WARN Socket creation failed : Address family not supported by protocol", "address-family"),
    ],
)  # fmt: skip
def test_what_nccl_says_of_the_network(text, id, examined):
    assert [f.id for f in examined(f"It ends with\n{text}\n").findings] == [id]


def test_words_of_one_program_are_for_explain(examined):
    with pytest.raises(BadInput, match=r"cuda-oom.* gpudoctor explain"):
        examined("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")


@pytest.mark.parametrize(
    "line", ["* No `GPU has fallen off the bus`", "There was no GPU has fallen off the bus"]
)
def test_what_somebody_did_not_see(line, examined):
    assert examined(f"torch 2.9.0+cu130\n\n{line} in the log.\n").findings == []


def test_a_mismatch_stands_beside_a_block_of_another_moment(examined):
    report = examined(
        BLOCK.format(build="cu121") + "\nFailed to initialize NVML: Driver/library version mismatch\n"
    )
    assert report.verdict.primary == "driver-library-mismatch"


def test_what_the_facts_deny_is_another_moment(examined):
    report = examined(
        BLOCK.format(build="cu121") + "\nAssertionError: Torch not compiled with CUDA enabled\n"
    )
    assert [f.id for f in report.findings if f.severity is Severity.ERROR] == []


def test_what_the_facts_show_is_said_once(examined):
    text = BLOCK.format(build="cpu").replace("PyTorch: 12.1", "PyTorch: None").replace("True", "False")
    report = examined(text + "\nAssertionError: Torch not compiled with CUDA enabled\n")
    assert [f.source for f in report.findings if f.id == "torch-cpu-build"] == [Source.ENVIRONMENT]


def test_a_training_that_failed_says_nothing_of_the_machine(examined):
    report = examined(
        BLOCK.format(build="cu121")
        + "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    )
    assert report.findings == []


@pytest.mark.parametrize(
    ("warning", "id"),
    [
        ("Connect to 10.0.0.4<43567> failed : Connection refused", "nccl-interface"),
        ("Mismatched NCCL version detected : rank 0 version 21805 rank 1 version 21704", "nccl-version-mismatch"),
        ("Call to ibv_modify_qp failed with error No such device", "nccl-infiniband"),
        ("Call to connect failed : Connection timed out", "nccl-interface"),
        ("Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152", "nccl-nvls"),
    ],
)  # fmt: skip
def test_nccl_warns_of_its_machine_when_it_starts(warning, id, examined):
    head = "node1:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>\nNCCL version 2.18.1+cuda12.1\n"
    report = examined(f"{head}node1:1:7 [0] bootstrap.cc:77 NCCL WARN {warning}\n")
    assert [f.id for f in report.findings if f.severity is not Severity.NOTE] == [id]


def test_nccl_before_it_wrote_its_name(examined):
    text = (
        "node1:1:1 [0] INFO NET : Using interface eth0:10.0.0.3<0>\nNCCL version 2.2.13+cuda9.0\n"
        "node1:1:7 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out\n"
    )
    assert [f.id for f in examined(text).findings if f.severity is not Severity.NOTE] == ["nccl-interface"]


def test_the_interface_that_a_variable_names_is_not_there(examined):
    told = "node1:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth5\n"
    report = examined(told + "node1:1:1 [0] NCCL WARN Bootstrap : no socket interface found\n")
    assert [f.id for f in report.findings if f.severity is not Severity.NOTE] == ["nccl-interface"]


def test_nccl_does_not_warn_of_its_machine_where_a_peer_left(examined):
    head = "node1:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>\nNCCL version 2.18.1+cuda12.1\n"
    gone = "node1:1:7 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer 10.0.0.4<43567>"
    report = examined(f"{head}{gone}\n")
    assert [f.id for f in report.findings if f.severity is not Severity.NOTE] == []


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ("ModuleNotFoundError: No module named 'torch'", "torch-missing"),
        ("ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package", "torch-shadowed"),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file", "torch-import-broken"),
    ],
)
def test_a_list_of_packages_does_not_say_that_torch_can_be_imported(words, id, examined):
    listed = "$ pip list\nPackage     Version\n----------- -----------\nnumpy       1.26.4\ntorch       2.4.0+cu121\n"
    assert id in {f.id for f in examined(f"{words}\n\n{listed}").findings}
    block = BLOCK.format(build="cu121")  # in which torch was imported
    assert id not in {f.id for f in examined(f"{words}\n\n{block}").findings}


def test_a_service_that_a_card_needs_not(examined):
    words = (
        "Job for nvidia-fabricmanager.service failed because the control process exited with error code.\n"
    )
    [finding] = examined(words).findings
    assert (finding.id, finding.severity) == ("fabric-manager-down", Severity.ERROR)
    assert examined(BLOCK.format(build="cu121") + words).findings == []
    nothing = (
        "request to query NVSwitch devices failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\n"
    )
    with pytest.raises(BadInput):
        examined(nothing + words)


def test_prose_is_unreadable(examined):
    with pytest.raises(BadInput, match="no words of a failure"):
        examined("It is slow since yesterday.\n")


def test_a_check_that_was_not_asked_says_nothing(examined):
    report = examined("RuntimeError: operator torchvision::nms does not exist\n", only=["driver"])
    assert report.findings == []


@pytest.mark.parametrize(
    ("id", "expected"),
    [("gpu-xid", True), ("docker-no-runtime", True), ("shm-too-small", True), ("cudnn-failure", False),
     ("nccl-timeout", False), ("cuda-oom", False), ("host-oom-killed", False), ("port-privileged", False),
     ("nccl-infiniband", True), ("nccl-p2p", False), ("nccl-not-built", True), ("disk-full", True)],
)  # fmt: skip
def test_which_checks_know_a_machine(id, expected, registry):
    assert of_machine(registry.check(id)) is expected


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "gpu-busy"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "gpu-ecc-error"),
        ("Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.", "gpu-fell-off-bus"),
        ("GPU Recovery Action                   : Reset", "gpu-reset-required"),
        ("WARNING: infoROM is corrupted at gpu 0000:41:00.0", "gpu-inforom-corrupt"),
        ("CUDA error: uncorrectable NVLink error detected during the execution", "nvlink-errors"),
        ("[9.1] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:762)", "gpu-missing"),
        ("root@4f1c:/# nvidia-smi\nFailed to initialize NVML: Unknown Error", "container-lost-gpu"),
        ("RuntimeError: can't start new thread", "thread-limit"),
        ("nvidia-container-cli: initialization error: driver rpc error: timed out", "driver-hangs"),
        ("Failed to initialize NVML: GPU access blocked by the operating system", "wsl-gpu-mode"),
    ],
)
def test_what_no_fact_of_another_moment_denies(words, id, examined):
    block = BLOCK.format(build="cu121")
    assert examined(block).findings == []
    assert id in {f.id for f in examined(f"{block}\n{words}\n").findings if f.severity is not Severity.NOTE}
