"""All-reduces among ranks of this machine: NCCL with one rank for each GPU, gloo over one interface after another."""

from pathlib import Path
from typing import Any

import msgspec

from gpudoctor.deep.bench import Bench
from gpudoctor.facts import Collective, Interfaces, Payload
from gpudoctor.patient_process import Conversation

NCCL_SECONDS = 60.0
GLOO_SECONDS = 20.0
"""Most of it is for the import of torch, where other work keeps the processors busy."""
NCCL_SIZES = [1 << 20, 16 << 20, 256 << 20]
LARGE = 1 << 30
"""Bytes of the largest payload where each GPU has 16 GiB or more."""
GLOO_SIZES = [4 << 10, 1 << 20, 16 << 20]
GLOO_RANKS = 2


def measure_nccl(bench: Bench, gpus: int, *, large: bool) -> Collective:
    """All-reduce with NCCL over `gpus` GPUs of this machine."""
    sizes = [*NCCL_SIZES, *([LARGE] if large else [])]
    devices = [f"cuda:{n}" for n in range(gpus)]
    return measure_group(bench, "nccl", devices, sizes=sizes, seconds=8.0, deadline=NCCL_SECONDS)


def measure_gloo(bench: Bench, interface: str) -> Collective:
    """All-reduce with gloo between two ranks that were told an interface of this machine."""
    return measure_group(
        bench,
        "gloo",
        ["cpu"] * GLOO_RANKS,
        sizes=GLOO_SIZES,
        seconds=1.0,
        deadline=GLOO_SECONDS,
        interface=interface,
    )


def measure_group(
    bench: Bench,
    backend: str,
    devices: list[str],
    *,
    sizes: list[int],
    seconds: float,
    deadline: float,
    interface: str = "",
) -> Collective:
    """Run one group of ranks, which meet in a file, and return what it came to."""
    store = str(Path(bench.folder, f"store-{backend}-{interface or 'all'}"))
    variables = {"GLOO_SOCKET_IFNAME": interface} if interface else {}
    over = f" over {interface}" if interface else ""
    request = {"backend": backend, "ranks": len(devices), "store": store, "sizes": sizes, "seconds": seconds}
    patience = bench.patience(deadline)
    ranks = [
        bench.script(
            f"{backend}{over}, rank {rank}",
            "all_reduce.py",
            {**request, "device": device, "rank": rank, "patience": patience},
            deadline,
            **variables,
        )
        for rank, device in enumerate(devices)
    ]
    bench.run(ranks, ranks=True)
    return collective(backend, interface, ranks)


def collective(backend: str, interface: str, ranks: list[Conversation]) -> Collective:
    """Put together what the ranks told."""
    figures: dict[str, Any] = {}
    for told in ranks[0].all("figures"):
        figures |= told
    failed = [f"rank {n}: {rank.why}" for n, rank in enumerate(ranks) if rank.why]
    # Who failed by itself tells more than who waited, and that more than who was left alone.
    failed.sort(key=lambda why: 2 if "Connection" in why and "by peer" in why else "no answer in" in why)
    return Collective(
        backend=backend,
        ranks=len(ranks),
        interface=interface,
        initialised=figures.get("initialised"),
        first=figures.get("first"),
        payloads=[msgspec.convert(payload, Payload) for payload in ranks[0].all("payload")],
        wrong=[str(wrong) for rank in ranks for wrong in rank.all("wrong")],
        checked=figures.get("checked", []),
        error=failed[0] if failed else None,
    )


def interfaces_to_measure(interfaces: Interfaces | None) -> list[str]:
    """Return the interfaces that gloo can be told: loopback, then those with a device, then virtual ones."""
    if interfaces is None:
        return []
    up = [i for i in interfaces.all if i.up and i.addresses]
    return [i.name for i in sorted(up, key=lambda i: (not i.loopback, i.virtual))]
