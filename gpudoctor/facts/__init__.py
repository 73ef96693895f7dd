"""What is known of one machine: frozen typed structs, one module per topic.

A check names the types it needs in its function's annotations and gets the values.
Every field says its unit and where the value comes from; ``None`` means *not known*, never *zero*.
"""

from gpudoctor.facts.accelerators import for_processors_alone, gpus_here
from gpudoctor.facts.affinity import Affinity, cpus_in
from gpudoctor.facts.checkpoint_file import (
    CheckpointFile,
    Entry,
    Foreign,
    Format,
    Key,
    Optimizer,
    Prefix,
    StateDict,
)
from gpudoctor.facts.checkpoint_values import CheckpointValues
from gpudoctor.facts.comparison import Comparison, KeyGroup, Outcome, ShapeDifference
from gpudoctor.facts.cuda import Cuda, CudaDevice
from gpudoctor.facts.distributions import Distribution, Distributions
from gpudoctor.facts.driver import DeviceNode, Driver
from gpudoctor.facts.evidence import Log, Run, Silence
from gpudoctor.facts.fabric import Fabric
from gpudoctor.facts.gpu_models import Expected, GpuModel, gpu_model, pcie_speed
from gpudoctor.facts.gpus import Gpu, GpuPair, GpuProcess, Gpus, NvLink, RemappedRows
from gpudoctor.facts.host import Host, Limit
from gpudoctor.facts.interfaces import Interface, Interfaces
from gpudoctor.facts.kernel_log import KernelEvent, KernelLog
from gpudoctor.facts.launch import Launch
from gpudoctor.facts.measurements import (
    Collective,
    Connection,
    DeviceSpeed,
    Disk,
    Measurements,
    Missing,
    Payload,
    PeerCopy,
    siblings_median,
)
from gpudoctor.facts.names import Names, Resolution
from gpudoctor.facts.nccl_configuration import ConfigurationFile, NcclConfiguration, Setting, settings
from gpudoctor.facts.pci import AerErrors, Bridge, Pci, PciDevice, path_between
from gpudoctor.facts.peers import over_pcie, own_gpu
from gpudoctor.facts.python import Python
from gpudoctor.facts.sockets import Listener, Sockets
from gpudoctor.facts.torch import Raised, Torch, TorchDevice
from gpudoctor.facts.torchvision import Torchvision
from gpudoctor.facts.variable_grammar import Misread, misread, number
from gpudoctor.facts.variable_history import HARMLESS, REMOVED, RENAMED, is_elsewhere
from gpudoctor.facts.variables import Library, Variables

__all__ = [
    "HARMLESS",
    "REMOVED",
    "RENAMED",
    "AerErrors",
    "Affinity",
    "Bridge",
    "CheckpointFile",
    "CheckpointValues",
    "Collective",
    "Comparison",
    "ConfigurationFile",
    "Connection",
    "Cuda",
    "CudaDevice",
    "DeviceNode",
    "DeviceSpeed",
    "Disk",
    "Distribution",
    "Distributions",
    "Driver",
    "Entry",
    "Expected",
    "Fabric",
    "Foreign",
    "Format",
    "Gpu",
    "GpuModel",
    "GpuPair",
    "GpuProcess",
    "Gpus",
    "Host",
    "Interface",
    "Interfaces",
    "KernelEvent",
    "KernelLog",
    "Key",
    "KeyGroup",
    "Launch",
    "Library",
    "Limit",
    "Listener",
    "Log",
    "Measurements",
    "Misread",
    "Missing",
    "Names",
    "NcclConfiguration",
    "NvLink",
    "Optimizer",
    "Outcome",
    "Payload",
    "Pci",
    "PciDevice",
    "PeerCopy",
    "Prefix",
    "Python",
    "Raised",
    "RemappedRows",
    "Resolution",
    "Run",
    "Setting",
    "ShapeDifference",
    "Silence",
    "Sockets",
    "StateDict",
    "Torch",
    "TorchDevice",
    "Torchvision",
    "Variables",
    "cpus_in",
    "for_processors_alone",
    "gpu_model",
    "gpus_here",
    "is_elsewhere",
    "misread",
    "number",
    "over_pcie",
    "own_gpu",
    "path_between",
    "pcie_speed",
    "settings",
    "siblings_median",
]  # fmt: skip
