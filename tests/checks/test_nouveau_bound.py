"""nouveau-bound: the kernel's own driver holds an NVIDIA GPU."""

from msgspec.structs import replace

from gpudoctor.facts import Host, Pci, PciDevice, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nouveau-bound")
MESSAGE = "nouveau, the kernel's own driver, holds the GPU: NVIDIA's driver cannot have it, and nouveau cannot run CUDA"
EXAMPLES = {
    "nouveau              2306048  3\nand nvidia-smi fails": "nouveau, the kernel's own driver, holds the GPU: NVIDIA's driver cannot have it, and nouveau cannot run CUDA",
    (
        "[  530.504692] NVRM: The NVIDIA probe routine was not called for 1 device(s).\n"
        "[  530.504693] NVRM: This can occur when a driver such as:\nNVRM: nouveau, rivafb, nvidiafb or rivatv\n"
        "NVRM: was loaded and obtained ownership of the NVIDIA device(s)."
    ): MESSAGE,
    "ERROR: The Nouveau kernel driver is currently in use by your system.  This driver is incompatible": MESSAGE,
}
HELD = PciDevice(address="0000:01:00.0", device_class="0x0300", driver="nouveau")
FREE = PciDevice(address="0000:41:00.0", device_class="0x0302", driver="nvidia")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_found():
    _, [finding] = run(pci=Pci(nvidia=[HELD]), torch=Torch(imported=True, cuda="13.2"))
    assert finding.severity is Severity.ERROR
    assert "nouveau holds 1 NVIDIA GPU" in finding.message
    assert finding.evidence[0].where == "/sys/bus/pci/devices/0000:01:00.0"
    assert any("blacklist nouveau" in fix.command for fix in finding.fixes)


def test_a_card_for_the_screen_beside_others_is_a_note():
    _, [finding] = run(pci=Pci(nvidia=[HELD, FREE]))
    assert finding.severity is Severity.NOTE


def test_a_card_without_a_plug_for_a_screen_is_missed():
    _, [finding] = run(pci=Pci(nvidia=[replace(HELD, device_class="0x0302"), FREE]))
    assert finding.severity is Severity.WARNING
    assert "no plug for a screen" in finding.message


def test_a_card_of_the_same_model_is_a_note_too():
    """Left to itself nouveau takes all of them: it holds one alone where somebody wants it to."""
    held, free = replace(HELD, device="0x2684"), replace(FREE, device="0x2684")
    _, [finding] = run(pci=Pci(nvidia=[held, free]))
    assert finding.severity is Severity.NOTE


def test_who_chose_a_torch_for_the_cpu_gets_a_warning():
    _, [finding] = run(pci=Pci(nvidia=[HELD]), torch=Torch(imported=True, version="2.15.0+cpu"))
    assert finding.severity is Severity.WARNING


def test_in_a_container_the_host_is_named():
    _, [finding] = run(pci=Pci(nvidia=[HELD]), host=Host(container="docker"))
    assert "its host must be repaired" in finding.message


def test_passed():
    result, found = run(pci=Pci(nvidia=[FREE]))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


def test_nouveau_in_use_where_the_installer_could_not_load_its_module():
    failed = "ERROR: Unable to load the kernel module 'nvidia.ko'."
    assert matches(f"{failed}\nnouveau              2306048  1", [CHECK])
    assert not matches(f"{failed}\nnouveau              2306048  0", [CHECK])
