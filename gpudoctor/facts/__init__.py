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
from gpudoctor.facts.distributions import Distribution, Distributions, WheelFile
from gpudoctor.facts.driver import DeviceNode, Driver
from gpudoctor.facts.evidence import Log, Run, Silence
from gpudoctor.facts.fabric import Fabric
from gpudoctor.facts.gpus import Gpu, GpuPair, GpuProcess, Gpus, NvLink, RemappedRows
from gpudoctor.facts.host import Host, Limit
from gpudoctor.facts.interfaces import Interface, Interfaces
from gpudoctor.facts.kernel_log import KernelEvent, KernelLog
from gpudoctor.facts.launch import Launch
from gpudoctor.facts.names import Names, Resolution
from gpudoctor.facts.nccl_configuration import ConfigurationFile, NcclConfiguration, Setting, settings
from gpudoctor.facts.pci import AerErrors, Bridge, Pci, PciDevice, path_between
from gpudoctor.facts.peers import over_pcie, own_gpu
from gpudoctor.facts.python import Python
from gpudoctor.facts.sockets import Listener, Sockets
from gpudoctor.facts.torch import Raised, Shadow, Torch, TorchDevice
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
    "Comparison",
    "ConfigurationFile",
    "Cuda",
    "CudaDevice",
    "DeviceNode",
    "Distribution",
    "Distributions",
    "Driver",
    "Entry",
    "Fabric",
    "Foreign",
    "Format",
    "Gpu",
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
    "Misread",
    "Names",
    "NcclConfiguration",
    "NvLink",
    "Optimizer",
    "Outcome",
    "Pci",
    "PciDevice",
    "Prefix",
    "Python",
    "Raised",
    "RemappedRows",
    "Resolution",
    "Run",
    "Setting",
    "Shadow",
    "ShapeDifference",
    "Silence",
    "Sockets",
    "StateDict",
    "Torch",
    "TorchDevice",
    "Torchvision",
    "Variables",
    "WheelFile",
    "cpus_in",
    "for_processors_alone",
    "gpus_here",
    "is_elsewhere",
    "misread",
    "number",
    "over_pcie",
    "own_gpu",
    "path_between",
    "settings",
]  # fmt: skip
