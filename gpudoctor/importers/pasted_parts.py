"""What stands in a pasted text beside collect_env's output: the parts, put together to facts."""

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts import Cuda, Distribution, Driver, Gpu, Gpus, Launch, Pci, Raised, Torch
from gpudoctor.importers import (
    amd_tools,
    clocks,
    collect_env_gpus,
    conda_plans,
    container_commands,
    dcgm,
    disks,
    driver_packages,
    driver_reports,
    extensions,
    framework_env,
    gpu_mentions,
    gpu_merging,
    gpustat,
    host_merging,
    infiniband,
    installed_packages,
    ip_addresses,
    kernel_log,
    kernel_modules,
    kubernetes,
    lspci,
    nccl_start,
    nvidia_smi,
    package_lists,
    peer_bandwidth,
    process_rows,
    slurm,
    toolkits,
    torch_complaints,
    torch_messages,
    torch_versions,
    variables,
)
from gpudoctor.importers.collect_env_torch import LOCAL

_LISTED = re.compile(
    r"\(UUID: (?:GPU|MIG)-"
    # as collect_env quotes it, where nothing else of that is there
    r"|GPU \d{1,3}: (?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID)[ -][\w.+ -]{2,60}$"
)
_STUB = re.compile(r"CUDA driver is a stub library|CUDA_ERROR_STUB_LIBRARY")
Found = dict[str, Struct | str | None]


class Parts:
    """What stands in a text beside collect_env's output."""

    def __init__(self, text: str, pieces: list[str], rows: list[str]) -> None:
        tables = [
            nvidia_smi.read_table(pieces),
            nvidia_smi.read_csv(pieces),
            nvidia_smi.read_query(pieces),
            nvidia_smi.read_xml(text),
            driver_reports.read(pieces),
            gpustat.read(pieces),
        ]
        self.pieces = pieces
        # A sentence that a terminal cut is whole in the joined lines alone.
        self.said = _whole(torch_complaints.read(pieces), torch_complaints.read(rows))
        self.processes = tables[0].processes
        self.links = nvidia_smi.read_nvlinks(pieces)
        self.refusal = nvidia_smi.read_refusal(pieces)
        self.adapters = infiniband.read(pieces)
        self.start = container_commands.read(pieces)
        devices: list[Gpu] = []
        for table in tables:
            devices = gpu_merging.merged(devices, table.gpus)
        self.table = nvidia_smi.Table(
            driver_version=next((t.driver_version for t in tables if t.driver_version), None),
            cuda_version=next((t.cuda_version for t in tables if t.cuda_version), None),
            devices=devices,
        )

    def added(self, found: Found) -> Found:
        """Add what the other parts hold to what collect_env's output holds."""
        gpus = self._gpus(found)
        torch = found.get("torch") or self._torch()
        launch = self._launch(found)
        if gpus is None and self._asks_for_people(torch, launch):
            mentioned = gpu_mentions.read(self.pieces)
            gpus = Gpus(driver_version=self.table.driver_version, devices=mentioned) if mentioned else None
        bus = self._bus(gpus)
        interfaces, links = ip_addresses.read(self.pieces)
        return {
            **found,
            "gpus": gpus,
            "driver": found.get("driver") or self._driver(gpus),
            "torch": torch,
            "cuda": found.get("cuda") or self._cuda(found),
            "pci": bus,
            "kernel_log": kernel_log.read(self.pieces),
            "infiniband": self.adapters,
            "container_start": self.start,
            "interfaces": interfaces,
            "links": links,
            "clock": clocks.read(self.pieces),
            "toolkit": toolkits.read(self.pieces) if torch is not None else None,
            "process_rows": process_rows.read(self.pieces),
            "slurm": slurm.read(self.pieces),
            "nccl_start": nccl_start.read(self.pieces),
            "extensions": extensions.read(self.pieces),
            "measurements": peer_bandwidth.read(self.pieces),
            "kubernetes": kubernetes.read(self.pieces),
            "storage": disks.read(self.pieces),
            "host": host_merging.whole(found.get("host"), self.pieces, self.adapters, self.start),
            "launch": launch,
            **installed_packages.read(self.pieces, found),
        }

    @staticmethod
    def _asks_for_people(torch: Struct | str | None, launch: Launch | None) -> bool:
        """Return whether only people's words can tell which GPUs are there, and something hangs on it."""
        if isinstance(torch, Torch) and (torch.devices or torch.cuda_available):
            return False
        if launch is not None and "CUDA_VISIBLE_DEVICES" in launch.variables:
            return True
        return isinstance(torch, Torch) and bool(torch.imported) and bool(LOCAL.search(torch.version or ""))

    def _gpus(self, found: Found) -> Gpus | str | None:
        known = found.get("gpus")
        own = known.devices if isinstance(known, Gpus) else []
        devices = gpu_merging.merged(own, self.table.devices)
        if all(gpu.unnumbered for gpu in devices) and "gpus" not in found:
            shown = nvidia_smi.listed(line for line in self.pieces if _LISTED.search(line))
            shown = nvidia_smi.with_whole_names(shown, self.pieces)
            devices = gpu_merging.merged(shown, devices)
        devices = gpu_merging.merged(gpu_merging.merged(devices, self.links), dcgm.read(self.pieces))
        devices = nvidia_smi.read_processes(self.pieces, devices)
        # Without a handle for one of them nvidia-smi shows none of the others.
        devices = gpu_merging.with_lost(devices, self.refusal.lost)
        pairs = nvidia_smi.read_pairs(self.pieces)
        if isinstance(known, Gpus):
            changes: dict[str, Any] = {
                "devices": devices,
                "cuda_version": known.cuda_version or self.table.cuda_version,
            }
            return replace(known, pairs=pairs, **changes)
        if known is not None and not devices:
            return known if isinstance(known, str) else None
        if not devices and self.refusal.error:
            return Gpus(error=self.refusal.error, error_code=self.refusal.error_code)
        if not devices:
            # The matrix has a row for each GPU, and no model.
            devices = [
                Gpu(index=index) for index in sorted({n for pair in pairs for n in (pair.first, pair.second)})
            ]
        if not devices:
            devices = (
                framework_env.different_devices(self.pieces)
                or gpu_mentions.listed(self.pieces)
                or gpu_mentions.counted(self.pieces)
            )
        if not devices:
            devices = [
                Gpu(index=index, processes=processes)
                for index, processes in sorted((self.processes or {}).items())
            ]
        if not devices and not self.refusal.no_devices:
            return None
        return Gpus(
            driver_version=self.table.driver_version,
            cuda_version=self.table.cuda_version,
            devices=devices,
            pairs=pairs,
        )

    def _driver(self, gpus: Gpus | str | None) -> Driver | None:
        if not isinstance(gpus, Gpus):
            version = self.table.driver_version or kernel_log.driver_version(self.pieces)
            unlisted = not version and kernel_modules.unloaded(self.pieces)
            known = gpus is None and (version or unlisted)
            return Driver(version=version, unlisted=unlisted) if known else None
        known = gpus.driver_version or (gpus.error_code == collect_env_gpus.NOT_LOADED)
        return Driver(version=gpus.driver_version) if known else None

    def _torch(self) -> Torch | None:
        """Read what torch said, and which one it is, in a text that holds no block of fields."""
        said = self.said or torch_messages.counted(self.pieces)
        listed = package_lists.read(self.pieces)
        named = (
            torch_versions.read(self.pieces, listed)
            or _of_conda(listed or package_lists.conda_row(self.pieces), package_lists.build(self.pieces))
            or _of_conda(*conda_plans.read(self.pieces))
        )
        caught = torch_messages.import_error(self.pieces)
        if said is None and named is not None and caught and _of_a_library(caught[0]):
            # a list of packages names a torch whose import the same text shows to fail
            return Torch(
                imported=False, version=named.version, error=caught[0], file=caught[1] or "torch/__init__.py"
            )
        if said is None or named is None:
            return said or named
        return replace(said, version=named.version, cuda=named.cuda or said.cuda, hip=named.hip)

    def _cuda(self, found: Found) -> Cuda | None:
        """Read what the driver answered where a text has torch's words for it, and no environment."""
        if "torch" in found:
            return None
        told = torch_messages.cuda([*torch_messages.warnings(self.pieces), *_error(self.said)])
        stub = told is None and any(
            _STUB.search(line[:400]) for line in self.pieces if "ub" in line or "UB" in line
        )
        if told is None and not stub and not self.table.devices:
            module, library = kernel_log.driver_version(self.pieces), driver_packages.version(self.pieces)
            if module and library and module != library:
                return Cuda(library=f"libcuda.so.{library}")
        return Cuda(init=34, stage="cuInit") if stub else told

    def _bus(self, gpus: Gpus | str | None) -> Pci | None:
        """Complete a listing without ``-k``: what nvidia-smi shows, its driver holds."""
        listing = lspci.read(self.pieces)
        if listing.pci is None:
            return None if gpus is not None else amd_tools.read(self.pieces)
        if listing.drivers or not isinstance(gpus, Gpus):
            return listing.pci
        held = {gpu.pci_address for gpu in gpus.devices}
        all_held = len(gpus.read) >= len(listing.pci.gpus)
        devices = [
            replace(d, driver="nvidia") if d.address in held or (all_held and d in listing.pci.gpus) else d
            for d in listing.pci.nvidia
        ]
        return replace(listing.pci, nvidia=devices)

    def _launch(self, found: Found) -> Launch | None:
        known = found.get("launch")
        given = variables.hiding(self.pieces) | variables.exported(self.pieces)
        given |= variables.of_containers(self.pieces)
        more = Launch.of(given | variables.read(self.pieces))
        if not isinstance(known, Launch):
            return more if more.variables else None
        return Launch(variables={**more.variables, **known.variables})


def _error(said: Torch | None) -> list[str]:
    return [said.cuda_error.message] if said is not None and said.cuda_error is not None else []


def _whole(said: Torch | None, joined: Torch | None) -> Torch | None:
    """Return what torch said as the lines stand, or as they are joined where that alone has the driver's answer."""
    if said is None:
        return joined
    return said if torch_messages.cuda(_error(said)) or not torch_messages.cuda(_error(joined)) else joined


def _of_conda(listed: list[Distribution], build: str | None) -> Torch | None:
    """Return the torch of a list whose build names the CUDA that it is for, or none; of two nobody knows which."""
    versions = [d.version for d in listed if d.name == "torch"]
    if build is None or len(versions) != 1:
        return None
    return Torch(imported=True, named=True, version=versions[0], cuda=None if build == "cpu" else build)


def _of_a_library(error: Raised) -> bool:
    """Tell a library that the loader refused from what code that torch ran raised."""
    return error.type in ("ImportError", "OSError") and bool(re.search(r"\.so\b|\.dll\b", error.message))
