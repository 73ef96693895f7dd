"""gpu-missing: each layer counts, and the first that counts fewer is named."""

import pytest

from gpudoctor.facts import (
    Cuda,
    CudaDevice,
    DeviceNode,
    Driver,
    Gpu,
    Gpus,
    Host,
    KernelEvent,
    KernelLog,
    Launch,
    Pci,
    PciDevice,
    Raised,
    Torch,
)
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-missing")
EXAMPLES = {
    "One of them is visible in lspci, but not in nvidia-smi, since Monday.": "the driver could not start a GPU, and goes on without it",
    "The second card only gives me RmInitAdapter failed at each start.": "the driver could not start a GPU, and goes on without it",
    "The reboot of the node came up short a GPU.": "1 GPU is told to be missing: compare what each layer counts",
    "After the reboot the node has lost a GPU.": "1 GPU is told to be missing: compare what each layer counts",
    "Since this morning two GPUs disappeared from nvidia-smi.": "2 GPUs are told to be missing: compare what each layer counts",
    "Only 7 of the 8 cards are detected.": "7 GPUs of 8 are seen: compare what each layer counts",
    "The box holds four GPUs and since Monday nvidia-smi lists only three.": "3 GPUs of 4 are seen: compare what each layer counts",
    "torch.cuda.device_count() returns 1 instead of 4": "1 GPU of 4 is seen: compare what each layer counts",
    "[   21.091872] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)": "the driver could not start the GPU 0000:01:00.0, and goes on without it",
    "NVRM: rm_init_adapter failed for device bearing minor number 0": "the driver could not start the GPU /dev/nvidia0, and goes on without it",
    "NVRM: RmInitAdapter failed! (0x26:0xffff:1127)": "the driver could not start a GPU, and goes on without it",
    "   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-03-04T05:06:07]": (
        "Slurm counts 7 of the 8 GPUs that the node is said to have, and gives it no jobs"
    ),
    "gres/gpu count too low (3 < 4)": (
        "Slurm counts 3 of the 4 GPUs that the node is said to have, and gives it no jobs"
    ),
}
NOT_THIS = [
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x65:1860)\nNVRM: GPU 0000:01:00.0: RmInitAdapter: Cannot initialize GSP firmware RM",
    "   Gres=gpu:h100:8(S:0-1)",
    "   Reason=Low RealMemory (reported:515000 < 100.00% of configured:1031518)",
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def card(n: int, driver: str | None = "nvidia", device: str = "0x26b9") -> PciDevice:
    return PciDevice(
        address=f"0000:{n:02x}:00.0", device=device, device_class="0x0302", driver=driver, minor=n
    )


def gpu(n: int, mig: bool | None = None) -> Gpu:
    return Gpu(index=n, name="NVIDIA L40S", pci_address=f"0000:{n:02x}:00.0", mig=mig)


BUS = Pci(nvidia=[card(n) for n in range(4)], cgroup="/user.slice/user-1000.slice/session-3.scope")
GPUS = Gpus(devices=[gpu(n) for n in range(4)])
THREE = Gpus(devices=[gpu(n) for n in range(3)])
CUDA = Cuda(
    init=0, count=4, devices=[CudaDevice(ordinal=n, pci_address=f"0000:{n:02x}:00.0") for n in range(4)]
)
LOADED = Driver(version="580.82.07")
TORCH = Torch(imported=True, cuda="13.2", cuda_available=True, device_count=4)
SWITCH = PciDevice(address="0000:c0:00.0", device_class="0x0680", driver="nvidia-nvswitch")
NODES = [DeviceNode(path=f"/dev/nvidia{n}", readable=True, writable=True) for n in range(3)]
FAILED = KernelEvent(
    kind="nvrm", text="NVRM: GPU 0000:03:00.0: RmInitAdapter failed!", pci_address="0000:03:00.0"
)


def test_the_driver_did_not_take_one():
    left = Pci(nvidia=[*BUS.nvidia[:3], card(3, None)])
    log = KernelLog(source="/dev/kmsg", events=[FAILED])
    _, [finding] = run(pci=left, gpus=THREE, driver=LOADED, cuda=CUDA, kernel_log=log)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "the driver holds 3 of 4 GPUs on the PCI bus and did not take 0000:03:00.0"
    )
    assert finding.evidence[0].text == FAILED.text


def test_one_without_a_node_that_the_driver_says_it_did_not_start():
    facts = {"pci": BUS, "gpus": THREE, "driver": Driver(version="580.82.07", nodes=NODES)}
    assert run(**facts)[1] == []  # hidden on purpose
    _, [finding] = run(**facts, kernel_log=KernelLog(source="/dev/kmsg", events=[FAILED]))
    assert "NVML lists 3: 0000:03:00.0 is missing" in finding.message


def test_an_old_card_for_the_screens_is_a_note():
    left = Pci(nvidia=[*BUS.nvidia[:3], card(3, None, "0x128b")])
    _, [finding] = run(pci=left, gpus=THREE, driver=LOADED)
    assert finding.severity is Severity.NOTE


def test_nvml_lists_fewer_than_the_bus_has():
    _, [finding] = run(pci=BUS, gpus=THREE, driver=LOADED)
    assert finding.message.startswith("the PCI bus has 4 GPUs and NVML lists 3: 0000:03:00.0 is missing")


def test_a_container_that_was_handed_every_node():
    """Of a share of the GPUs it has the nodes of these alone, or somebody named them."""
    nodes = [*NODES, DeviceNode(path="/dev/nvidia3", readable=True, writable=True)]
    facts = {"pci": BUS, "gpus": THREE, "host": Host(container="docker")}
    _, [finding] = run(**facts, driver=Driver(version="580.82.07", nodes=nodes))
    assert "NVML lists 3" in finding.message
    some = Launch(variables={"NVIDIA_VISIBLE_DEVICES": "0,1,2"})
    assert not run(**facts, driver=Driver(version="580.82.07", nodes=nodes), launch=some)[1]
    assert not run(**facts, driver=Driver(version="580.82.07", nodes=NODES))[1]


def test_a_gpu_of_a_virtual_machine_is_a_note():
    held = Pci(nvidia=[*BUS.nvidia[:3], card(3, "vfio-pci")])
    _, [finding] = run(pci=held, gpus=THREE, driver=LOADED)
    assert finding.severity is Severity.NOTE
    assert "0000:03:00.0 is held by vfio-pci" in finding.message


def test_nvml_lists_none():
    _, [finding] = run(pci=BUS, gpus=Gpus(driver_version="580.82.07"))
    assert "NVML lists 0" in finding.message
    _, [finding] = run(pci=BUS, gpus=Gpus(driver_version="580.82.07"), driver=LOADED)
    assert finding.message.endswith("is loaded and started none of them, and no program can use a GPU")
    said = KernelLog(
        events=[KernelEvent(kind="nvrm", text="NVRM: requires use of the NVIDIA open kernel modules.")]
    )
    facts = {"pci": BUS, "gpus": Gpus(driver_version="580.82.07"), "driver": LOADED, "kernel_log": said}
    assert run(**facts)[0].status is CheckStatus.PASSED  # open-kernel-module


def test_slurm_gives_more_than_nvml_lists():
    job = {"SLURM_JOB_ID": "7", "SLURM_GPUS_ON_NODE": "4"}
    _, [finding] = run(pci=BUS, gpus=THREE, driver=LOADED, launch=Launch(variables=job))
    assert finding.message.startswith("Slurm gives this job 4 GPUs on this node, and NVML lists 3")
    whole = Launch(variables=job | {"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    assert len(run(pci=BUS, gpus=THREE, driver=LOADED, launch=whole)[1]) == 1
    for some in ("0", "0,1,2"):  # a task that was bound to some of them
        bound = Launch(variables=job | {"CUDA_VISIBLE_DEVICES": some})
        assert run(pci=BUS, gpus=THREE, driver=LOADED, launch=bound)[0].status is CheckStatus.PASSED


def test_gpus_without_a_node_are_left_to_gpu_device_nodes():
    nodes = [DeviceNode(path=f"/dev/nvidia{n}", readable=True, writable=True) for n in range(3)]
    driver = Driver(version="580.82.07", nodes=nodes)
    cuda = Cuda(init=0, count=3, devices=CUDA.devices[:3])
    result, _ = run(pci=BUS, gpus=GPUS, driver=driver, cuda=cuda, torch=TORCH)
    assert result.status is CheckStatus.PASSED
    _, [finding] = run(pci=BUS, gpus=GPUS, driver=driver, cuda=Cuda(init=0, count=2), torch=TORCH)
    assert "CUDA starts 2" in finding.message


def test_cuda_starts_fewer_than_nvml_lists():
    cuda = Cuda(init=0, count=3, devices=CUDA.devices[1:])
    _, [finding] = run(pci=BUS, gpus=GPUS, driver=LOADED, cuda=cuda, torch=TORCH)
    assert (
        "NVML lists 4 GPUs and CUDA starts 3: 1 GPU (GPU 0 (0000:00:00.0)) cannot be used" in finding.message
    )


def test_torch_counts_fewer_than_cuda():
    torch = Torch(imported=True, cuda="13.2", cuda_available=True, device_count=2)
    _, [finding] = run(pci=BUS, gpus=GPUS, driver=LOADED, cuda=CUDA, torch=torch)
    assert finding.severity is Severity.WARNING
    assert "CUDA has 4 GPUs for this process and torch sees 2" in finding.message


def test_a_board_with_switches_is_whole():
    seven = Pci(nvidia=[*(card(n) for n in range(7)), SWITCH])
    _, [finding] = run(pci=seven)
    assert "such a board has 8, so 1 GPU did not come up" in finding.message


def test_slurm_knows_how_many_there_were():
    launch = Launch(variables={"SLURM_JOB_ID": "1", "SLURM_GPUS_ON_NODE": "8"})
    _, [finding] = run(pci=BUS, gpus=GPUS, launch=launch)
    assert finding.message.startswith("Slurm gives this job 8 GPUs on this node, and the PCI bus has 4")


MIG = Gpus(devices=[gpu(0, mig=True), gpu(1, mig=False)])


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": BUS, "gpus": GPUS, "driver": LOADED, "cuda": CUDA, "torch": TORCH},
        {"pci": BUS, "gpus": THREE, "driver": LOADED, "host": Host(container="docker")},
        {"pci": BUS, "gpus": THREE, "driver": LOADED, "launch": Launch(variables={"SLURM_JOB_ID": "1"})},
        {
            "pci": Pci(nvidia=BUS.nvidia, cgroup="/slurm/uid_1000/job_7/step_0"),
            "gpus": THREE,
            "driver": LOADED,
        },
        # a sandbox whose /dev has some of the nodes only
        {"pci": BUS, "gpus": THREE, "driver": Driver(version="580.82.07", nodes=NODES)},
        {"pci": BUS, "gpus": Gpus(error="Driver Not Loaded", error_code=9), "driver": Driver()},
        {"pci": BUS, "gpus": Gpus(), "driver": LOADED},  # NVML told nothing
        {"pci": BUS, "gpus": Gpus(devices=THREE.devices, interrupted="no answer in 12 s"), "driver": LOADED},
        {"pci": BUS, "gpus": GPUS, "cuda": Cuda(init=999)},
        {"pci": BUS, "gpus": GPUS, "cuda": Cuda(init=0, count=1, interrupted="no answer in 10 s")},
        {"gpus": MIG, "cuda": Cuda(init=0, count=1)},
        {
            "gpus": GPUS,
            "torch": Torch(imported=True, cuda="13.2", cuda_available=True, device_count=1),
            "launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "2"}),
        },
        # what the variable hides, or spoils, is cuda-visible-devices
        *(
            {
                "gpus": GPUS,
                "cuda": Cuda(init=0, count=n),
                "launch": Launch(variables={"CUDA_VISIBLE_DEVICES": value}),
            }
            for value, n in (("0,0,1", 0), ("0 1 2 3", 1), ("+2", 1), ("9", 0))
        ),
        {"pci": Pci(), "gpus": GPUS, "host": Host(wsl=True)},
        {"pci": Pci(nvidia=[*(card(n) for n in range(8)), SWITCH])},
        {"pci": Pci(nvidia=[*(card(n) for n in range(8)), card(8, device="0x27b8"), SWITCH])},
        {"pci": Pci(nvidia=[*(card(n) for n in range(7)), SWITCH]), "host": Host(container="kubernetes")},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("facts", [{}, {"gpus": Gpus(error="NVML Shared Library Not Found")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


def test_the_runtime_of_torch_counts_none():
    none = Torch(
        imported=True,
        version="2.15.0",
        cuda="13.2",
        cuda_available=False,
        cuda_error=Raised(type="RuntimeError", message="No CUDA GPUs are available"),
    )
    facts = {"pci": BUS, "gpus": GPUS, "cuda": CUDA, "torch": none}
    _, [finding] = run(**facts)
    assert "starts 4 GPUs, and the CUDA runtime that torch brings counts none" in finding.message
    hidden = Launch(variables={"CUDA_VISIBLE_DEVICES": ""})
    assert run(**facts, launch=hidden)[1] == []


def test_cuda_starts_fewer_than_the_variable_names():
    launch = Launch(variables={"CUDA_VISIBLE_DEVICES": "0,1,2"})
    _, [finding] = run(gpus=GPUS, cuda=Cuda(init=0, count=2), launch=launch)
    assert finding.message.endswith("torch.cuda.device_count() may still count them")


def test_a_text_in_which_the_driver_lists_none():
    _, [finding] = run(gpus=Gpus())
    assert (finding.severity, finding.message[:42]) == (
        Severity.WARNING,
        "the driver answers and lists no GPU: it co",
    )
    assert run(gpus=Gpus(interrupted="no answer in 12 s"))[1] == []
