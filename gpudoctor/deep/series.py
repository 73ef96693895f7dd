"""Everything that this machine allows to be measured, one after another, within a bounded time."""

import tempfile
import time

import msgspec

from gpudoctor.deep.bench import Bench
from gpudoctor.deep.collectives import interfaces_to_measure, measure_gloo, measure_nccl
from gpudoctor.deep.copies import measure_copies
from gpudoctor.deep.devices import measure_gpus, measure_processor
from gpudoctor.facts import (
    Collective,
    Connection,
    DeviceSpeed,
    Disk,
    Gpus,
    Host,
    Interfaces,
    Launch,
    Measurements,
    Missing,
    PeerCopy,
    Torch,
)
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Conversation
from gpudoctor.report import Say
from gpudoctor.snapshot import Snapshot

GROUND: frozenset[type] = frozenset({Torch, Gpus, Host, Interfaces, Launch})
"""What must be known of a machine before anything is measured on it, and to judge it."""
WITH_GPUS = 120.0
WITHOUT_GPUS = 30.0
"""Seconds for everything together."""
NO_TIME = "no time was left for it"
GLOO_LEAST = 6.0
"""Seconds below which gloo is not begun: two ranks import torch first."""
LARGE_MEMORY = 16 * 1024**3


def measure(
    snapshot: Snapshot, patient: Patient, timeout: float | None = None, say: Say = lambda doing: None
) -> Measurements:
    """Measure what this machine has, and say of the rest why not.

    `snapshot` tells what it has; `timeout`, in seconds, lowers the deadline of each measurement. What a measuring
    process does never raises, and nothing is left behind.
    """
    begun = time.monotonic()
    torch = snapshot.get(Torch)
    gpus = (torch.device_count or 0) if torch is not None and torch.cuda_available else 0
    whole = WITH_GPUS if gpus else WITHOUT_GPUS
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        measured = _Measured(Bench(patient, folder, begun + whole, timeout, say))
        measured.outside(snapshot.get(Launch))
        if torch is None or not torch.imported:
            why = "torch was not imported" if torch is not None else snapshot.reason(Torch)
            measured.lack("GPUs, copies between them and collectives", why)
        else:
            measured.inside(torch, gpus, snapshot.get(Interfaces))
    return measured.facts(round(time.monotonic() - begun, 3))


class _Measured:
    """What was measured so far."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.devices: list[DeviceSpeed] = []
        self.copies: list[PeerCopy] = []
        self.collectives: list[Collective] = []
        self.disks: list[Disk] = []
        self.connection: Connection | None = None
        self.missing: list[Missing] = []

    def lack(self, what: str, why: str) -> None:
        self.missing.append(Missing(what=what, why=why))

    def facts(self, seconds: float) -> Measurements:
        return Measurements(
            devices=self.devices,
            copies=self.copies,
            collectives=self.collectives,
            disks=self.disks,
            connection=self.connection,
            missing=self.missing,
            seconds=seconds,
        )

    def outside(self, launch: Launch | None) -> None:
        """Measure the disk and the way to the rendezvous, which need no torch."""
        disk = self.bench.own("disk", "gpudoctor.deep.disk", 15)
        connection = self.bench.own("connection", "gpudoctor.deep.connection", 12)
        named = launch is not None and {"MASTER_ADDR", "MASTER_PORT"} <= launch.variables.keys()
        self.bench.run([disk, connection] if named else [disk])
        if facts := self._told(disk):
            self.disks.append(msgspec.convert(facts, Disk))
        if not named:
            self.lack("connection to the rendezvous", "MASTER_ADDR and MASTER_PORT are not both set")
        elif facts := self._told(connection):
            self.connection = msgspec.convert(facts, Connection)

    def _told(self, measuring: Conversation) -> object:
        facts = measuring.last("facts")
        if facts is None:
            self.lack(measuring.child.name, measuring.why or "it gave no answer")
        return facts

    def inside(self, torch: Torch, gpus: int, interfaces: Interfaces | None) -> None:
        """Measure what torch can use: the GPUs, or where there is none the processor, and collectives."""
        if gpus:
            self._devices(gpus)
        else:
            why = (
                "this torch is a CPU build"
                if torch.cuda is None and torch.hip is None
                else "torch can use none"
            )
            self.lack("GPUs and copies between them", why)
            self._processor()
        if gpus > 1:
            self._together(torch, gpus)
            return
        if gpus:
            self.lack("copies between GPUs and NCCL", "there is one GPU")
        self._gloo(torch, interfaces)

    def _devices(self, gpus: int) -> None:
        self.devices, missing = measure_gpus(self.bench, gpus)
        self.missing += missing

    def _processor(self) -> None:
        if self.bench.over:
            self.lack("processor", NO_TIME)
            return
        self.devices, missing = measure_processor(self.bench)
        self.missing += missing

    def _together(self, torch: Torch, gpus: int) -> None:
        """Measure what takes several GPUs; with one that does not answer, all of them would wait for it."""
        ended = {missing.what for missing in self.missing}
        silent = next((n for n in range(gpus) if f"GPU {n}" in ended), None)
        if silent is not None:
            self.lack(
                "copies between GPUs and NCCL", f"the measurement of GPU {silent} did not come to its end"
            )
            return
        self.copies, missing = measure_copies(self.bench, [f"cuda:{n}" for n in range(gpus)])
        self.missing += missing
        if not torch.nccl_available:
            self.lack("NCCL", "this torch has none")
        elif self.bench.over:
            self.lack("NCCL", NO_TIME)
        else:
            large = bool(torch.devices) and all(
                (device.memory_bytes or 0) >= LARGE_MEMORY for device in torch.devices
            )
            self.collectives.append(measure_nccl(self.bench, gpus, large=large))

    def _gloo(self, torch: Torch, interfaces: Interfaces | None) -> None:
        names = interfaces_to_measure(interfaces)
        if not torch.gloo_available:
            self.lack("gloo", "this torch has none")
            return
        if not names:
            self.lack("gloo", "the network interfaces are not known")
        for name in names:
            if self.bench.left < GLOO_LEAST:
                self.lack(f"gloo over {name}", NO_TIME)
            else:
                self.collectives.append(measure_gloo(self.bench, name))
