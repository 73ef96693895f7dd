"""The NVIDIA kernel driver."""

from msgspec import Struct

from gpudoctor.facts.kernel_log import KernelLog
from gpudoctor.facts.pci import PciDevice

UNFIT = (
    "requires use of the NVIDIA open kernel modules",
    "not supported by open",
    "I/O region assigned to your NVIDIA device is invalid",
)
"""What NVIDIA's module writes into the kernel log where it or the machine's firmware is why a GPU was not started."""


class DeviceNode(Struct, frozen=True, kw_only=True):
    """One ``/dev/nvidia*`` node."""

    path: str
    readable: bool
    writable: bool
    device: bool | None = None
    """It is a character device; a plain file of that name leads nowhere. ``None``: not known."""
    open_to_all: bool | None = None
    """Its mode lets everybody read and write it, so what keeps a user out is a control group. ``None``: not known."""

    @property
    def usable(self) -> bool:
        """Whether this user may read and write it, as CUDA does."""
        return self.readable and self.writable and self.device is not False


class Driver(Struct, frozen=True, kw_only=True):
    """The NVIDIA kernel module and its device nodes."""

    version: str | None = None
    """From ``/proc/driver/nvidia/version``; ``None``: the module is not loaded."""
    module_version: str | None = None
    """From ``/sys/module/nvidia/version``."""
    description: str = ""
    """The NVRM line of ``/proc/driver/nvidia/version``: open or closed module, build."""
    nodes: list[DeviceNode] = []
    unlisted: bool = False
    """``lsmod`` lists no module of NVIDIA's, in a text that somebody sent."""
    dxg: bool = False
    """``/dev/dxg`` exists: WSL 2, where the driver is Windows' and no NVIDIA module is loaded here."""

    @property
    def gpu_nodes(self) -> list[DeviceNode]:
        """The nodes of GPUs: ``/dev/nvidia0``, ``/dev/nvidia1`` …, without those for control and memory."""
        return [node for node in self.nodes if node.path.removeprefix("/dev/nvidia").isdecimal()]

    @property
    def kind(self) -> str:
        """The kind of kernel module that is loaded: ``open`` or ``closed``."""
        return "open" if "Open Kernel Module" in self.description else "closed"

    def unfit(self, cards: list[PciDevice], log: KernelLog | None) -> bool:
        """Return whether the kind of module may be why it started none of these GPUs: not where both kinds run them."""
        said = any(words in event.text for event in (log.of("nvrm") if log else []) for words in UNFIT)
        return said or not all(card.runs_under(self.kind) for card in cards)

    @property
    def loaded(self) -> bool:
        """Whether a driver is there, as a module of this kernel or as WSL's."""
        return self.version is not None or self.module_version is not None or self.dxg
