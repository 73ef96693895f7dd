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
        ("RuntimeError: received 0 items of ancdata", "too-many-open-files"),
        ("Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152:", "nccl-nvls"),
        ("OSError: [Errno 116] Stale file handle: '/data/a.tar'", "storage-stalled"),
        ("Gloo connectFullMesh failed with [gloo/pair.cc:144] no error, remote=[127.0.0.1]:3", "hostname-resolution"),
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


def test_what_nccl_only_informs_of_may_not_be_why(examined):
    report = examined(
        "It is slow.\n\nNCCL INFO NET/Plugin: libnccl-net-x.so: /l.so.1: version `V_34' not found (by\n"
    )
    [finding] = [f for f in report.findings if f.role is Role.CAUSE]
    assert (finding.id, finding.severity) == ("nccl-net-plugin", Severity.WARNING)


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
    assert examined(f"torch 2.10.0+cu130\n\n{line} in the log.\n").findings == []


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
     ("nccl-infiniband", True), ("nccl-p2p", False), ("nccl-not-built", True), ("disk-full", True),
     ("too-many-open-files", True), ("hostname-resolution", True)],
)  # fmt: skip
def test_which_checks_know_a_machine(id, expected, registry):
    assert of_machine(registry.check(id)) is expected


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (
            "[9.1] NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW_BOOT: (progress 0x4)",
            "gsp-firmware",
        ),
        ("[9.1] NVRM: GPU 0000:01:00.0: RmInitAdapter: Cannot initialize GSP firmware RM", "gsp-firmware"),
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


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ('level=INFO msg="driver library libcuda.so.1" error="cuInit err: 802"', "fabric-manager-down"),
        ("warn: cuda driver error 802 while looking for devices", "fabric-manager-down"),
        ("cuda driver library init failure: 999", "cuda-init-failed"),
        ("error looking up devices: cuInit err: 803", "driver-library-mismatch"),
        ("cudart init failure: 35", "cuda-driver-too-old"),
        ("The box holds four GPUs and since Monday nvidia-smi lists only three.", "gpu-missing"),
        ("torch.cuda.device_count() returns 1 instead of 4", "gpu-missing"),
        ("Only 7 of the 8 cards are detected.", "gpu-missing"),
        ("conda gave me pytorch-cpu, and torch.cuda.is_available() is False", "torch-cpu-build"),
    ],
)  # fmt: skip
def test_as_other_programs_and_people_put_it(words, id, examined):
    assert id in {f.id for f in examined(words + "\n").findings if f.severity is Severity.ERROR}


@pytest.mark.parametrize(
    "words",
    [
        "There are 8 GPUs here, and nvidia-smi shows 8 GPUs.",
        "With 4 GPUs the step takes 2 s; torch reports 3 warnings.",
        "I set CUDA_VISIBLE_DEVICES=0, and torch sees 1 of 4 GPUs, as it should.",
        "nvidia-smi shows 2 processes on each of the 8 GPUs",
    ],
)
def test_numbers_of_gpus_that_are_right(words, examined):
    report = examined(f"{words}\nRANK=0\nWORLD_SIZE=1\nMASTER_ADDR=10.0.0.1\n")
    assert "gpu-missing" not in {f.id for f in report.findings}


def test_a_registration_without_memory_beside_the_limit(examined):
    told = (
        "n1:7:9 [0] ibvwrap.cc:11 NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory\n"
        "Max locked memory         65536                65536                bytes\n"
    )
    assert "memlock-limit" in {f.id for f in examined(told).findings if f.severity is Severity.ERROR}
    enough = told.replace("65536                65536", "unlimited            unlimited")
    assert "memlock-limit" not in {f.id for f in examined(enough).findings}


def test_a_size_in_a_sentence_denies_that_shared_memory_is_small(examined):
    died = "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n"
    assert "shm-too-small" in {f.id for f in examined(died).findings}
    report = examined(died + "\nThe machine has 512 GB, and /dev/shm is 251G, nearly empty.\n")
    assert "shm-too-small" not in {f.id for f in report.findings}


def test_a_crawl_between_gpus(examined):
    matrix = (
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 911.90   0.02\n     1   0.03 913.07\n"
    )
    assert [f.id for f in examined(matrix).findings] == ["p2p-corruption"]
    assert examined(matrix.replace("0.02", "25.1").replace("0.03", "25.2")).findings == []


def test_detectron2_compiled_for_another_gpu(examined):
    listed = (
        "detectron2              0.6 @/opt/detectron2\ndetectron2 arch flags   {flags}\n"
        "PyTorch                 1.11.0 @/opt/env/lib/python3.9/site-packages/torch\n"
        "PyTorch debug build     False\nGPU available           True\n"
        "GPU 0                   NVIDIA A40 (arch=8.6)\n"
    )
    assert [f.id for f in examined(listed.format(flags="7.0, 7.5")).findings] == ["gpu-arch-unsupported"]
    assert examined(listed.format(flags="7.0, 8.0")).findings == []
    older = listed.replace(
        " (arch=8.6)", ""
    )  # which told the architectures otherwise, and the GPU's not at all
    assert [f.id for f in examined(older.format(flags="sm_37")).findings] == ["gpu-arch-unsupported"]


TABLE = """\
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA A40                     On  |   00000000:01:00.0 Off |                    0 |
|  0%   30C    P8             21W /  300W |       4MiB /  46068MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A40                     On  |   00000000:25:00.0 Off |                    0 |
|  0%   31C    P8             22W /  300W |       4MiB /  46068MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""


@pytest.mark.parametrize("count", ["torch.cuda.device_count() returns 1", ">>> torch.cuda.device_count()\n1"])
def test_torch_counts_fewer_than_the_table_beside_it(count, examined):
    assert [f.id for f in examined(f"{count}\n\n{TABLE}").findings] == ["gpu-missing"]
    assert examined(f"{count.replace('1', '2')}\n\n{TABLE}").findings == []
    assert "gpu-missing" not in {
        f.id for f in examined(f"CUDA_VISIBLE_DEVICES=0\n{count}\n\n{TABLE}").findings
    }


def test_a_stub_that_a_program_names(examined):
    ids = [f.id for f in examined("warp: CUDA driver error 34: CUDA driver is a stub library\n").findings]
    assert ids[0] == "cuda-stub-library"


def test_a_node_of_kubernetes_without_memory(examined):
    report = examined("Evicted: The node was low on resource: memory. Threshold quantity: 100Mi\n")
    assert [f.id for f in report.findings] == ["host-oom-killed"]
    report = examined('The notebook says "Killed"\n`The node was low on resource: memory.`\n')
    assert [f.id for f in report.findings] == ["host-oom-killed"]


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)\n", "host-oom-killed"),
        ("   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)\n", "scheduler-ended-job"),
        ("$ nvidia-smi mig -lgi\nNo GPU instances found: Not Found\n", "mig-multi-gpu"),
    ],
)
def test_tools_of_a_machine_say_what_was_done(text, id, examined):
    assert id in {f.id for f in examined(text).findings if f.severity is Severity.ERROR}


def test_a_gpu_of_which_nothing_can_be_read(examined):
    errors = TABLE.replace(
        "|  0%   31C    P8             22W /  300W |       4MiB /  46068MiB |      0%      ",
        "|ERR!  ERR! ERR!            N/A /  ERR! |       4MiB /  46068MiB |    ERR!      ",
    )
    assert [f.id for f in examined(errors).findings] == ["gpu-fell-off-bus"]


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("On both hosts: Permission denied (publickey). So deepspeed stops.", "launcher-ssh"),
        (
            "SLURM_NTASKS=4\nsrun --gpus-per-task=1 python train.py\nRuntimeError: CUDA error: invalid device ordinal",
            "slurm-gpu-binding",
        ),
        ("[8122.1] python invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), order=0", "host-oom-killed"),
        ("After three days dmesg -T says it is because of Memory cgroup out of memory.", "host-oom-killed"),
        ("ERROR NVML power get failed with status: GPUIsLost", "gpu-fell-off-bus"),
        (
            "docker: write /var/lib/docker/tmp/a: no space left on device.\n/dev/sda5 156G 21G 128G 14% /",
            "disk-full",
        ),
    ],
)
def test_what_tickets_tell_of_a_site(text, id, examined):
    assert id in [finding.id for finding in examined(text).findings]
