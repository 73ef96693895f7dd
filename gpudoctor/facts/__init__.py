"""What is known of one machine: frozen typed structs, one module per topic.

A check names the types it needs in its function's annotations and gets the values.
Every field says its unit and where the value comes from; ``None`` means *not known*, never *zero*.
"""

# mypy: implicit-reexport

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from gpudoctor.facts.clock import Clock
    from gpudoctor.facts.comparison import Comparison, KeyGroup, Outcome, ShapeDifference
    from gpudoctor.facts.container_start import ContainerStart
    from gpudoctor.facts.cuda import Cuda, CudaDevice
    from gpudoctor.facts.distributions import Distribution, Distributions, WheelFile, parsed_version
    from gpudoctor.facts.driver import DeviceNode, Driver
    from gpudoctor.facts.evidence import Code, Given, GivenFile, GivenKind, Log, Run, Silence, SourceLine
    from gpudoctor.facts.extensions import Extension, Extensions
    from gpudoctor.facts.fabric import Fabric
    from gpudoctor.facts.firewall import Filter, Firewall, Rule
    from gpudoctor.facts.gpu import Gpu, GpuProcess, NvLink, RemappedRows
    from gpudoctor.facts.gpu_models import Expected, GpuModel, gpu_model, pcie_speed
    from gpudoctor.facts.gpus import GpuPair, Gpus
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
    from gpudoctor.facts.links import Links
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
    from gpudoctor.facts.process_rows import ProcessRows
    from gpudoctor.facts.processes import Process, Processes, SharedSegment
    from gpudoctor.facts.proxies import Proxies, Proxy
    from gpudoctor.facts.python import Python
    from gpudoctor.facts.ranks import Rank, Ranks
    from gpudoctor.facts.scaling import Scaling, ScalingRun
    from gpudoctor.facts.script import UNSAFE_LOADS, WRAPPERS, Script
    from gpudoctor.facts.script_buffers import batch_norm
    from gpudoctor.facts.script_calls import COLLECTIVES, Argument, Call, Exit
    from gpudoctor.facts.script_checkpoints import (
        PREFIXES,
        TELLS_WRAPPED,
        BareSaved,
        SavedWrapper,
        bare_into_wrapper,
        contents,
        lax,
        loads,
        saved_wrappers,
        stored,
        strips,
    )
    from gpudoctor.facts.script_classes import Attribute, ModuleClass, Signature
    from gpudoctor.facts.script_collectives import Parted, Side, parted, side
    from gpudoctor.facts.script_conditions import Condition, Loop
    from gpudoctor.facts.script_departures import left_alone, parted_by_data, returned, unequal
    from gpudoctor.facts.script_environment import meets_here, reads_address, written_variables
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
    from gpudoctor.facts.script_groups import MAY_SET_UP, made_nowhere
    from gpudoctor.facts.script_joined import forwards_of_unknown, joined, passed_through
    from gpudoctor.facts.script_left_bare import LeftBare, left_bare
    from gpudoctor.facts.script_models import (
        DEFAULTS,
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
    from gpudoctor.facts.script_paths import HOLE, path_form, removed
    from gpudoctor.facts.script_ports import OwnPort, own_ports
    from gpudoctor.facts.script_values import (
        ALL_OF,
        ANY_OTHER,
        CHANGES,
        EVERY_NTH,
        LACKS,
        ONCE,
        SHUFFLED,
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
    from gpudoctor.facts.toolkit import Toolkit
    from gpudoctor.facts.torch import Raised, Shadow, Torch, TorchDevice
    from gpudoctor.facts.torchvision import Torchvision
    from gpudoctor.facts.variable_grammar import misread
    from gpudoctor.facts.variable_history import HARMLESS, REMOVED, RENAMED, is_elsewhere
    from gpudoctor.facts.variable_names import OF_ALL_RELEASES
    from gpudoctor.facts.variables import Library, Variables
    from gpudoctor.facts.wheel_architectures import capability_of, left_out

NAMES = {
    "accelerators": "for_processors_alone gpus_here",
    "affinity": "Affinity cpus_in",
    "cgroup": "Cgroup",
    "checkpoint_file": "CheckpointFile Entry Foreign Format Key Optimizer Prefix StateDict copying",
    "checkpoint_values": "CheckpointValues",
    "comparison": "Comparison KeyGroup Outcome ShapeDifference",
    "clock": "Clock",
    "container_start": "ContainerStart",
    "cuda": "Cuda CudaDevice",
    "distributions": "Distribution Distributions WheelFile parsed_version",
    "driver": "DeviceNode Driver",
    "evidence": "Code Given GivenFile GivenKind Log Run Silence SourceLine",
    "extensions": "Extension Extensions",
    "fabric": "Fabric",
    "firewall": "Filter Firewall Rule",
    "gpu_models": "Expected GpuModel gpu_model pcie_speed",
    "gpu": "Gpu GpuProcess NvLink RemappedRows",
    "gpus": "GpuPair Gpus",
    "host": "Host Limit",
    "infiniband": "Gid IbDevice IbPort Infiniband adapters_asked gpus_served",
    "interface_choice": (
        "NcclChoice OWN_TO_EACH_MACHINE gloo_names means_nothing_elsewhere nccl_asked nccl_choice "
        "outward_addresses outward_interfaces"
    ),
    "interfaces": "Interface Interfaces",
    "kernel_log": "KernelEvent KernelLog",
    "kubernetes": "Kubernetes KubernetesNode",
    "links": "Links",
    "launch": "Launch",
    "measurements": (
        "Collective Connection DeviceSpeed Disk Measurements Missing Packets Payload PeerCopy siblings_median"
    ),
    "misreading": "Misread",
    "names": "Names Resolution Route is_loopback spans_nodes",
    "nccl_configuration": "ConfigurationFile NamedFile NcclConfiguration Setting nccl_variables settings",
    "nccl_numbers": "number",
    "nccl_start": "NcclStart",
    "numa": "Numa NumaNode",
    "pci": "AerErrors Bridge Pci PciDevice path_between",
    "peers": "over_pcie own_gpu",
    "plugins": "Plugins",
    "process_rows": "ProcessRows",
    "processes": "Process Processes SharedSegment",
    "proxies": "Proxies Proxy",
    "python": "Python",
    "ranks": "Rank Ranks",
    "scaling": "Scaling ScalingRun",
    "script": "Script UNSAFE_LOADS WRAPPERS",
    "script_buffers": "batch_norm",
    "script_calls": "Argument COLLECTIVES Call Exit",
    "script_checkpoints": (
        "BareSaved PREFIXES SavedWrapper TELLS_WRAPPED bare_into_wrapper contents lax loads "
        "saved_wrappers stored strips"
    ),
    "script_classes": "Attribute ModuleClass Signature",
    "script_collectives": "Parted Side parted side",
    "script_conditions": "Condition Loop",
    "script_departures": "left_alone parted_by_data returned unequal",
    "script_environment": "meets_here reads_address written_variables",
    "script_files": "elsewhere of_several one_alone origins same_for_all spawns_ranks starts_several",
    "script_gradients": (
        "ONLY_ASKED called_first goes_back goes_past gradients_divided of_gradients of_numbers "
        "shares_gradients summed_tensor unused_wrappers wrapper_in_use"
    ),
    "script_groups": "MAY_SET_UP made_nowhere",
    "script_joined": "forwards_of_unknown joined passed_through",
    "script_left_bare": "LeftBare left_bare",
    "script_models": (
        "DEFAULTS FACTORIES LAYERS NO_GRADIENTS class_of cpu_input moved_under moves on_cpu stays target "
        "without_gradients wrapped_classes"
    ),
    "script_paths": "HOLE path_form removed",
    "script_ports": "OwnPort own_ports",
    "script_values": "ALL_OF ANY_OTHER CHANGES EVERY_NTH Known LACKS ONCE Place SHUFFLED Thing UNKNOWN Value WHOLE",
    "slurm": "Slurm SlurmNode",
    "sockets": "Listener Sockets",
    "storage": "Folder Storage",
    "toolkit": "Toolkit",
    "torch": "Raised Shadow Torch TorchDevice",
    "torchvision": "Torchvision",
    "variable_grammar": "misread",
    "variable_history": "HARMLESS REMOVED RENAMED is_elsewhere",
    "variable_names": "OF_ALL_RELEASES",
    "variables": "Library Variables",
    "wheel_architectures": "capability_of left_out",
}
"""What each module has for others; it is imported when one of its names is asked for: a log needs few of sixty."""

HOMES = {name: module for module, names in NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and keep it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    return found
