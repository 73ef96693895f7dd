"""Copies between every two GPUs, written with a pattern and read back."""

import msgspec

from gpudoctor.deep.bench import Bench
from gpudoctor.facts import Missing, PeerCopy

SECONDS = 45.0
PATIENCE = 10.0
"""Seconds after which one copy is taken for one that hangs; the largest takes a fraction of one."""
RESTARTS = 3
SIZE = 64 << 20
MANY = 56
"""Ordered pairs of eight GPUs: with more of them the copies are smaller, so that all can be made in the time."""

Pair = tuple[int, int]


def measure_copies(bench: Bench, devices: list[str]) -> tuple[list[PeerCopy], list[Missing]]:
    """Copy between all ordered pairs; a pair that hangs is left, and the process started anew for the others."""
    left = [(a, b) for a in range(len(devices)) for b in range(len(devices)) if a != b]
    copies: list[PeerCopy] = []
    for _ in range(RESTARTS + 1):
        done, stuck, why = _measure(bench, devices, left)
        copies += done
        left = [pair for pair in left if pair not in {(c.source, c.target) for c in copies}]
        if not left or stuck is None or bench.over:
            break
    missing = Missing(
        what="copies between GPUs", why=f"{len(left)} pairs are left: {why or 'no time was left'}"
    )
    return copies, [missing] if left else []


def _measure(
    bench: Bench, devices: list[str], pairs: list[Pair]
) -> tuple[list[PeerCopy], Pair | None, str | None]:
    """Return what one process measured, the pair in which it hung or died, and why it ended."""
    patience = bench.patience(PATIENCE)
    request = {
        "devices": devices,
        "pairs": pairs,
        "bytes": SIZE if len(pairs) <= MANY else SIZE // 4,
        "patience": patience,
    }
    measuring = bench.script("copies between GPUs", "peer_copies.py", request, SECONDS)
    bench.run([measuring])
    copies = [msgspec.convert(found, PeerCopy) for found in measuring.all("copy")]
    pair = measuring.last("pair")
    if measuring.why is None or pair is None or tuple(pair) in {(c.source, c.target) for c in copies}:
        return copies, None, measuring.why
    source, target = pair
    hung = measuring.child.returncode == 3
    error = f"no answer in {patience:g} s" if hung else measuring.why
    return [*copies, PeerCopy(source=source, target=target, error=error)], (source, target), measuring.why
