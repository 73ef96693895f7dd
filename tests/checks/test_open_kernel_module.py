"""open-kernel-module: seen in logs, and in a driver that started no GPU."""

from gpudoctor.facts import Driver, Gpus, KernelEvent, KernelLog, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("open-kernel-module")
OPEN = "this GPU needs NVIDIA's open kernel module, and the closed one is installed: the driver does not start it"
CLOSED = "this GPU needs NVIDIA's closed kernel module, and the open one is installed: the driver does not start it"
EXAMPLES = {
    (
        "[    8.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
        "               NVRM: installed in this system requires use of the NVIDIA open kernel modules."
    ): OPEN,
    (
        "[ 1157.0] NVRM: The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5)\n"
        "               NVRM: installed in this system is not supported by open\n"
        "               NVRM: nvidia.ko because it does not include the required GPU"
    ): CLOSED,
    "[    3.5] NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.": CLOSED,
    "[    2.2] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:": (
        "the machine's firmware gives the GPU no address space: the driver cannot start it"
    ),
    "$ nvidia-smi\nNo devices were found": (
        "nvidia-smi finds no GPU that the driver has started; the kernel log says why"
    ),
}
NOT_THIS = [
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.82.07",
    "NVRM: installed in this system is not supported by the NVIDIA 390.157 driver release.",
    "WARNING: No devices were found by the Bluetooth scan, retrying",
]
CARD = PciDevice(address="0000:01:00.0", device="0x2b85", device_class="0x0300", driver="nvidia")
HOPPER = PciDevice(address="0000:01:00.0", device="0x2330", device_class="0x0302", driver="nvidia")
PASCAL = PciDevice(address="0000:01:00.0", device="0x1b80", device_class="0x0300", driver="nvidia")
CLOSED_MODULE = Driver(version="580.82.07", description="NVIDIA UNIX x86_64 Kernel Module  580.82.07")
OPEN_MODULE = Driver(version="580.82.07", description="NVIDIA UNIX Open Kernel Module for x86_64  580.82.07")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_found_where_the_driver_started_nothing_with_the_other_kind_to_install():
    gpus = Gpus(driver_version="580.82.07")
    _, [closed] = run(driver=CLOSED_MODULE, pci=Pci(nvidia=[CARD]), gpus=gpus)
    assert "1 NVIDIA GPU on the PCI bus, the driver is loaded (closed kernel module)" in closed.message
    assert any("580-server-open" in fix.command for fix in closed.fixes)
    _, [opened] = run(driver=OPEN_MODULE, pci=Pci(nvidia=[PASCAL]), gpus=gpus)
    assert "(open kernel module)" in opened.message
    assert not any("580-server-open" in fix.command for fix in opened.fixes)


def test_another_reason_where_the_loaded_kind_runs_the_gpu_unless_the_driver_says_so():
    gpus = Gpus(driver_version="580.82.07")
    for driver, card in [(OPEN_MODULE, CARD), (OPEN_MODULE, HOPPER), (CLOSED_MODULE, HOPPER)]:
        facts = {"driver": driver, "pci": Pci(nvidia=[card]), "gpus": gpus}
        assert run(**facts)[0].status is CheckStatus.PASSED
        said = KernelEvent(kind="nvrm", text="NVRM: installed in this system is not supported by open")
        assert run(kernel_log=KernelLog(events=[said]), **facts)[0].status is CheckStatus.FOUND


def test_a_module_that_ran_no_gpu_is_gone_and_its_words_are_in_the_log():
    card = PciDevice(address="0000:3b:00.0", device="0x1db4", device_class="0x0302")
    facts = {
        "driver": Driver(),
        "pci": Pci(nvidia=[card]),
        "gpus": Gpus(error="Driver Not Loaded", error_code=9),
    }
    assert run(kernel_log=KernelLog(), **facts)[0].status is CheckStatus.PASSED
    for text, kind in (
        ("NVRM: installed in this system is not supported by open", "closed"),
        ("NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "open"),
    ):
        log = KernelLog(events=[KernelEvent(kind="nvrm", text=text)])
        _, [finding] = run(kernel_log=log, **facts)
        assert f"it needs the {kind} kind of kernel module" in finding.message
        assert any("server-open" in fix.command for fix in finding.fixes) is (kind == "open")


def test_what_needs_no_root_is_offered():
    assert any(fix.kind is Kind.COMMAND and "--exclude=NODE" in fix.command for fix in CHECK.fixes)


def test_passes_without_a_driver_and_where_nvml_says_more():
    for driver, gpus in [
        (Driver(), Gpus()),
        (CLOSED_MODULE, Gpus(error="Driver/library version mismatch")),
    ]:
        result, _ = run(pci=Pci(nvidia=[CARD]), driver=driver, gpus=gpus)
        assert result.status is CheckStatus.PASSED


def test_unknown_without_the_bus():
    result, _ = run(driver=CLOSED_MODULE, gpus=Gpus())
    assert result.status is CheckStatus.UNKNOWN
