"""The matrix that CUDA's sample ``p2pBandwidthLatencyTest`` prints -> copies between GPUs, with peer access."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Measurements, PeerCopy

_TITLE = re.compile(
    r"(?P<way>Uni|Bi)directional P2P=(?P<peer>Enabled|Disabled) Bandwidth\b.{0,30}Matrix \(GB/s\)"
)
_HEADER = re.compile(r"D\\D(?:\s{1,12}\d{1,3}){2,72}$")
_ROW = re.compile(r"(?P<source>\d{1,3})(?P<speeds>(?:\s{1,12}\d{1,6}\.\d{1,3}){2,72})$")


def read(lines: Iterable[str]) -> Measurements | None:
    """Read the copies one way with peer access; ``None`` where that matrix is not there.

    ``Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)`` and below it a row for each GPU
    """
    copies: list[PeerCopy] = []
    inside = columns = False
    for line in lines:
        if "P2P=" in line[:60]:
            title = _TITLE.match(line[:100])
            inside, columns = (
                title is not None and title["way"] == "Uni" and title["peer"] == "Enabled",
                False,
            )
        elif inside and _HEADER.match(line[:900]):
            columns = True
        elif inside and columns and (row := _ROW.match(line[:900])):
            source = int(row["source"])
            speeds = enumerate(map(float, row["speeds"].split()))
            copies += [
                PeerCopy(source=source, target=target, speed=speed, peer_access=True)
                for target, speed in speeds
                if target != source
            ]
        elif line and columns:
            inside = False
    return Measurements(copies=copies) if copies else None
