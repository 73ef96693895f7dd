"""What is known of one machine: frozen typed structs, one module per topic.

A check names the types it needs in its function's annotations and gets the values.
Every field says its unit and where the value comes from; ``None`` means *not known*, never *zero*.
"""

from gpudoctor.facts.accelerators import for_processors_alone, gpus_here
from gpudoctor.facts.affinity import Affinity, cpus_in
from gpudoctor.facts.cgroup import Cgroup
from gpudoctor.facts.checkpoint_file import (
    CheckpointFile,
    Entry,
    Foreign,
    Format,
    Key,
    Optimizer,
    Prefix,
    StateDict,
    copying,
)
from gpudoctor.facts.checkpoint_values import CheckpointValues
from gpudoctor.facts.comparison import Comparison, KeyGroup, Outcome, ShapeDifference
from gpudoctor.facts.container_start import ContainerStart
from gpudoctor.facts.cuda import Cuda, CudaDevice
from gpudoctor.facts.distributions import Distribution, Distributions, WheelFile, parsed_version
from gpudoctor.facts.driver import DeviceNode, Driver
from gpudoctor.facts.evidence import Code, Given, GivenFile, GivenKind, Log, Run, Silence, SourceLine
from gpudoctor.facts.fabric import Fabric
from gpudoctor.facts.firewall import Filter, Firewall, Rule
from gpudoctor.facts.gpu_models import Expected, GpuModel, gpu_model, pcie_speed
from gpudoctor.facts.gpus import Gpu, GpuPair, GpuProcess, Gpus, NvLink, RemappedRows
from gpudoctor.facts.host import Host, Limit
from gpudoctor.facts.infiniband import Gid, IbDevice, IbPort, Infiniband, adapters_asked, gpus_served
from gpudoctor.facts.interface_choice import (
    OWN_TO_EACH_MACHINE,
    NcclChoice,
    gloo_names,
    means_nothing_elsewhere,
    nccl_asked,
    nccl_choice,
    outward_addresses,
    outward_interfaces,
)
from gpudoctor.facts.interfaces import Interface, Interfaces
from gpudoctor.facts.kernel_log import KernelEvent, KernelLog
from gpudoctor.facts.kubernetes import Kubernetes, KubernetesNode
from gpudoctor.facts.launch import Launch
from gpudoctor.facts.measurements import (
    Collective,
    Connection,
    DeviceSpeed,
    Disk,
    Measurements,
    Missing,
    Packets,
    Payload,
    PeerCopy,
    siblings_median,
)
from gpudoctor.facts.misreading import Misread
from gpudoctor.facts.names import Names, Resolution, Route, is_loopback, spans_nodes
from gpudoctor.facts.nccl_configuration import (
    ConfigurationFile,
    NamedFile,
    NcclConfiguration,
    Setting,
    nccl_variables,
    settings,
)
from gpudoctor.facts.nccl_numbers import number
from gpudoctor.facts.nccl_start import NcclStart
from gpudoctor.facts.numa import Numa, NumaNode
from gpudoctor.facts.pci import AerErrors, Bridge, Pci, PciDevice, path_between
from gpudoctor.facts.peers import over_pcie, own_gpu
from gpudoctor.facts.plugins import Plugins
from gpudoctor.facts.processes import Process, Processes, SharedSegment
from gpudoctor.facts.proxies import Proxies, Proxy
from gpudoctor.facts.python import Python
from gpudoctor.facts.ranks import Rank, Ranks
from gpudoctor.facts.scaling import Scaling, ScalingRun
from gpudoctor.facts.script import (
    COLLECTIVES,
    WRAPPERS,
    Argument,
    Attribute,
    Call,
    Condition,
    Exit,
    Loop,
    ModuleClass,
    Script,
    Signature,
)
from gpudoctor.facts.script_buffers import batch_norm
from gpudoctor.facts.script_checkpoints import (
    PREFIXES,
    TELLS_WRAPPED,
    SavedWrapper,
    contents,
    loads,
    own_file,
    same_file,
    saved_wrappers,
    stored,
    strips,
)
from gpudoctor.facts.script_collectives import Parted, Side, parted, side
from gpudoctor.facts.script_departures import left_alone, parted_by_data, returned, unequal
from gpudoctor.facts.script_environment import reads_address, written_variables
from gpudoctor.facts.script_files import (
    elsewhere,
    of_several,
    one_alone,
    origins,
    same_for_all,
    spawns_ranks,
    starts_several,
)
from gpudoctor.facts.script_gradients import (
    ONLY_ASKED,
    called_first,
    goes_back,
    goes_past,
    gradients_divided,
    of_gradients,
    of_numbers,
    shares_gradients,
    summed_tensor,
    unused_wrappers,
    wrapper_in_use,
)
from gpudoctor.facts.script_joined import forwards_of_unknown, joined
from gpudoctor.facts.script_models import (
    FACTORIES,
    LAYERS,
    NO_GRADIENTS,
    class_of,
    cpu_input,
    moved_under,
    moves,
    on_cpu,
    stays,
    target,
    without_gradients,
    wrapped_classes,
)
from gpudoctor.facts.script_values import (
    ANY_OTHER,
    CHANGES,
    EVERY_NTH,
    ONCE,
    UNKNOWN,
    WHOLE,
    Known,
    Place,
    Thing,
    Value,
)
from gpudoctor.facts.slurm import Slurm, SlurmNode
from gpudoctor.facts.sockets import Listener, Sockets
from gpudoctor.facts.storage import Folder, Storage
from gpudoctor.facts.torch import Raised, Shadow, Torch, TorchDevice
from gpudoctor.facts.torchvision import Torchvision
from gpudoctor.facts.variable_grammar import misread
from gpudoctor.facts.variable_history import HARMLESS, REMOVED, RENAMED, is_elsewhere
from gpudoctor.facts.variable_names import OF_ALL_RELEASES
from gpudoctor.facts.variables import Library, Variables
from gpudoctor.facts.wheel_architectures import capability_of, left_out

__all__ = [
    "ANY_OTHER",
    "CHANGES",
    "COLLECTIVES",
    "EVERY_NTH",
    "FACTORIES",
    "HARMLESS",
    "LAYERS",
    "NO_GRADIENTS",
    "OF_ALL_RELEASES",
    "ONCE",
    "ONLY_ASKED",
    "OWN_TO_EACH_MACHINE",
    "PREFIXES",
    "REMOVED",
    "RENAMED",
    "TELLS_WRAPPED",
    "UNKNOWN",
    "WHOLE",
    "WRAPPERS",
    "AerErrors",
    "Affinity",
    "Argument",
    "Attribute",
    "Bridge",
    "Call",
    "Cgroup",
    "CheckpointFile",
    "CheckpointValues",
    "Code",
    "Collective",
    "Comparison",
    "Condition",
    "ConfigurationFile",
    "Connection",
    "ContainerStart",
    "Cuda",
    "CudaDevice",
    "DeviceNode",
    "DeviceSpeed",
    "Disk",
    "Distribution",
    "Distributions",
    "Driver",
    "Entry",
    "Exit",
    "Expected",
    "Fabric",
    "Filter",
    "Firewall",
    "Folder",
    "Foreign",
    "Format",
    "Gid",
    "Given",
    "GivenFile",
    "GivenKind",
    "Gpu",
    "GpuModel",
    "GpuPair",
    "GpuProcess",
    "Gpus",
    "Host",
    "IbDevice",
    "IbPort",
    "Infiniband",
    "Interface",
    "Interfaces",
    "KernelEvent",
    "KernelLog",
    "Key",
    "KeyGroup",
    "Known",
    "Kubernetes",
    "KubernetesNode",
    "Launch",
    "Library",
    "Limit",
    "Listener",
    "Log",
    "Loop",
    "Measurements",
    "Misread",
    "Missing",
    "ModuleClass",
    "NamedFile",
    "Names",
    "NcclChoice",
    "NcclConfiguration",
    "NcclStart",
    "Numa",
    "NumaNode",
    "NvLink",
    "Optimizer",
    "Outcome",
    "Packets",
    "Parted",
    "Payload",
    "Pci",
    "PciDevice",
    "PeerCopy",
    "Place",
    "Plugins",
    "Prefix",
    "Process",
    "Processes",
    "Proxies",
    "Proxy",
    "Python",
    "Raised",
    "Rank",
    "Ranks",
    "RemappedRows",
    "Resolution",
    "Route",
    "Rule",
    "Run",
    "SavedWrapper",
    "Scaling",
    "ScalingRun",
    "Script",
    "Setting",
    "Shadow",
    "ShapeDifference",
    "SharedSegment",
    "Side",
    "Signature",
    "Silence",
    "Slurm",
    "SlurmNode",
    "Sockets",
    "SourceLine",
    "StateDict",
    "Storage",
    "Thing",
    "Torch",
    "TorchDevice",
    "Torchvision",
    "Value",
    "Variables",
    "WheelFile",
    "adapters_asked",
    "batch_norm",
    "called_first",
    "capability_of",
    "class_of",
    "contents",
    "copying",
    "cpu_input",
    "cpus_in",
    "elsewhere",
    "for_processors_alone",
    "forwards_of_unknown",
    "gloo_names",
    "goes_back",
    "goes_past",
    "gpu_model",
    "gpus_here",
    "gpus_served",
    "gradients_divided",
    "is_elsewhere",
    "is_loopback",
    "joined",
    "left_alone",
    "left_out",
    "loads",
    "means_nothing_elsewhere",
    "misread",
    "moved_under",
    "moves",
    "nccl_asked",
    "nccl_choice",
    "nccl_variables",
    "number",
    "of_gradients",
    "of_numbers",
    "of_several",
    "on_cpu",
    "one_alone",
    "origins",
    "outward_addresses",
    "outward_interfaces",
    "over_pcie",
    "own_file",
    "own_gpu",
    "parsed_version",
    "parted",
    "parted_by_data",
    "path_between",
    "pcie_speed",
    "reads_address",
    "returned",
    "same_file",
    "same_for_all",
    "saved_wrappers",
    "settings",
    "shares_gradients",
    "siblings_median",
    "side",
    "spans_nodes",
    "spawns_ranks",
    "starts_several",
    "stays",
    "stored",
    "strips",
    "summed_tensor",
    "target",
    "unequal",
    "unused_wrappers",
    "without_gradients",
    "wrapped_classes",
    "wrapper_in_use",
    "written_variables",
]  # fmt: skip
