"""What only a measurement shows."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import Connection, Measurements
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, both, edit


def device(ordinal: int | None = None, **fields: Any) -> Change:
    """Replace figures of one device, of all without an ordinal; a function gets the old value."""

    def one(old: Any) -> Any:
        made = {name: v(getattr(old, name)) if callable(v) else v for name, v in fields.items()}
        return replace(old, **made) if ordinal in (None, old.ordinal) else old

    return edit("measurements", devices=lambda devices: [one(d) for d in devices])


def copies(*pairs: tuple[int, int], **fields: Any) -> Change:
    """Replace what was measured between pairs of GPUs."""
    return edit(
        "measurements",
        copies=lambda old: [replace(c, **fields) if (c.source, c.target) in pairs else c for c in old],
    )


def all_reduce(share: float) -> Change:
    """Lower the bus bandwidth of every payload."""

    def change(snapshot: Snapshot) -> Snapshot:
        measured = snapshot.get(Measurements)
        assert measured is not None
        made = [
            replace(
                c, payloads=[replace(p, bus=p.bus * share, seconds=p.seconds / share) for p in c.payloads]
            )
            for c in measured.collectives
        ]
        return edit("measurements", collectives=made)(snapshot)

    return change


def sums(*wrong: str) -> Change:
    return edit("measurements", collectives=lambda old: [replace(c, wrong=list(wrong)) for c in old])


def connection(outcome: str, reason: str) -> Change:
    tried = Connection(
        host="node1", port=29500, addresses=["10.0.0.9"], outcome=outcome, reason=reason, seconds=3.0
    )
    return edit("measurements", connection=tried)


SAMPLE = "element 4096 is 0 and was sent as 4097"

FAULTS = [
    Fault("all-reduce-of-200", "board-8xh100", all_reduce(200 / 328), "slow-collective", says="8 GPUs"),
    Fault("all-reduce-over-pcie", "board-8xh200", all_reduce(0.06), "slow-collective", says="1.0 GiB"),
    Fault("all-reduce-a100-half", "board-8xa100", all_reduce(0.5), "slow-collective"),
    Fault("all-reduce-past-the-bridge", "server-2xh100-pcie-bridged", all_reduce(0.04), "slow-collective"),
    Fault(
        "copy-through-a-translating-iommu",
        "server-4xa100-pcie",
        copies((0, 1), (1, 0), speed=1.9),
        "slow-collective",
        says="GPU 0 sends GPU 1 1.9 GB/s over PHB",
    ),
    Fault("one-nvlink-pair-slow", "board-8xh100", copies((2, 5), speed=41.0), "slow-collective", says="NV18"),
    Fault(
        "pcie-at-a-quarter",
        "board-8xh100",
        device(3, host_to_device=13.9, device_to_host=13.7),
        "slow-host-link",
        says="GPU 3 (0000:3a:00.0) receives 13.9 GB/s, 22 % of the 63",
    ),
    Fault(
        "reads-slow-alone", "board-8xa100", device(5, device_to_host=6.1), "slow-host-link", says="sends 6.1"
    ),
    Fault(
        "t4-behind-a-riser",
        "cloud-t4",
        device(0, host_to_device=1.5),
        "slow-host-link",
        says="of the 16 that",
    ),
    Fault("a6000-one-link-slow", "workstation-4xa6000", device(2, host_to_device=3.1), "slow-host-link"),
    Fault(
        "memory-halved",
        "board-8xh100",
        device(memory=lambda old: old * 0.5),
        "slow-gpu",
        says="in its memory",
    ),
    Fault("h200-memory-third", "board-8xh200", device(6, memory=1600.0), "slow-gpu", says="GPU 6"),
    Fault(
        "one-of-eight-slow",
        "board-8xa100",
        device(4, matrix_product=180.0),
        "slow-gpu",
        says="of its siblings",
    ),
    Fault(
        "all-at-a-quarter", "board-8xa100", device(matrix_product=65.0), "slow-gpu", says="24 % of the 271"
    ),
    Fault(
        "unknown-model-one-slow",
        "workstation-4xa6000",
        device(1, matrix_product=50.0),
        "slow-gpu",
        says="of its siblings",
    ),
    Fault(
        "power-brake-under-load",
        "board-8xh100",
        device(7, throttled={"hw_power_brake_slowdown": 1.0}, sm_clocks=[800] * 9),
        "slow-gpu",
        says="800 of 1980 MHz",
    ),
    Fault(
        "wrong-data-between-2-and-3",
        "board-8xa100",
        copies((2, 3), wrong_elements=25165824, sample=SAMPLE),
        "p2p-corruption",
        says="GPU 2 sent to GPU 3",
    ),
    Fault(
        "zeros-between-4090s",
        "workstation-2x4090",
        copies((0, 1), (1, 0), wrong_elements=25165824, sample=SAMPLE),
        "p2p-corruption",
        says="and between 1 more pair",
    ),
    Fault(
        "copy-hangs",
        "server-4xa100-pcie",
        copies((0, 2), wrong_elements=None, speed=None, error="no answer in 10 s"),
        "p2p-corruption",
        says="did not end",
    ),
    Fault(
        "wrong-sums-follow-from-wrong-copies",
        "board-8xa100",
        both(
            copies((2, 3), wrong_elements=12, sample=SAMPLE),
            sums("rank 3, float32: 12 of 1048576 elements, element 0 is 3 and must be 36"),
        ),
        "p2p-corruption",
    ),
    Fault(
        "wrong-sums",
        "board-8xh100",
        sums("rank 6, bfloat16: 4 of 1048576 elements, element 12 is 3 and must be 36"),
        "silent-corruption",
        says="wrong sums (rank 6",
    ),
    Fault(
        "wrong-sums-of-gloo",
        "laptop-cpu-build",
        sums("rank 1, float32: 1 of 1048576 elements, element 9 is 4 and must be 7"),
        "silent-corruption",
        says="gloo over lo",
    ),
    Fault("wrong-products", "board-8xh100", device(1, wrong_elements=3), "silent-corruption", says="GPU 1"),
    Fault(
        "disk-gives-back-other-bytes",
        "cloud-vm-without-gpu",
        edit("measurements", disks=lambda disks: [replace(d, wrong_bytes=4096) for d in disks]),
        "silent-corruption",
        says="4096 of",
    ),
    Fault(
        "master-drops",
        "srun-torchrun-per-node",
        connection("no answer", "no answer in 3 s"),
        "rendezvous-unreachable",
        says="a firewall drops",
    ),
    Fault(
        "master-without-route",
        "srun-torchrun-per-node",
        connection("unreachable", "No route to host"),
        "rendezvous-unreachable",
        says="No route to host",
    ),
]
