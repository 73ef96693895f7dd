"""Which GPUs the wheels of PyTorch's own releases have code for, by what CUDA can compile for and what was left out."""

import re

# https://developer.nvidia.com/cuda-gpus, by the names that the driver gives; a name that fits none is not judged
CAPABILITIES: tuple[tuple[str, tuple[int, int]], ...] = (
    (r"Tesla K[248]0", (3, 5)),
    (r"Tesla M\d{1,2}|GTX (?:750|9\d\d)", (5, 2)),
    (r"\bP100\b", (6, 0)),
    (r"\bP40?\b|GTX 10\d\d|GT 1030|TITAN Xp|Quadro P\d{3,4}", (6, 1)),
    (r"\bV100|TITAN V\b|GV100", (7, 0)),
    (r"\bT4\b|RTX 20\d\d|GTX 16\d\d|TITAN RTX|Quadro RTX", (7, 5)),
    (r"\bA100|\bA800|\bA30\b", (8, 0)),
    (r"\bA(?:2|10|10G|16|40)\b|RTX 30\d\d|RTX A\d{4}", (8, 6)),
    (r"\bL(?:4|20|40|40S)\b|RTX 40\d\d|Ada Generation", (8, 9)),
    (r"\bG?H(?:20|100|200|800)\b", (9, 0)),
    (r"\bG?B(?:100|200)\b", (10, 0)),
    (r"\bG?B300\b", (10, 3)),
    (r"RTX 50\d\d|RTX PRO \d{4} Blackwell", (12, 0)),
)
# CUDA's release notes: the first that compiles for a major version. Machine code runs on later minor ones of the same.
FIRST = {8: (11, 0), 9: (11, 8), 10: (12, 8), 12: (12, 8)}
NO_VOLTA = (7, 5)
"""CUDA 13 compiles for nothing older, and since torch 2.8 the wheels for 12.8 have nothing older
(https://github.com/pytorch/pytorch/issues/157517)."""
RELEASE = re.compile(r"(?P<major>\d+)\.(?P<minor>\d+)\.\d+(?:\+cu\d{2,3})?")


def capability_of(name: str) -> tuple[int, int] | None:
    """Return the compute capability of a model by its name; ``None`` for one that is not known here."""
    return next((own for pattern, own in CAPABILITIES if re.search(pattern, name)), None)


def left_out(version: str, cuda: str, own: tuple[int, int]) -> bool:
    """Return whether the wheel of a release for a version of CUDA has certainly no code for a GPU.

    False where it may have some: PTX of an older one (``+PTX``), or an architecture between those that are known here.
    """
    release = RELEASE.fullmatch(version)
    numbers = tuple(int(part) for part in cuda.split(".")[:2] if part.isdecimal())
    if release is None or len(numbers) != 2:
        return False
    if own < NO_VOLTA:
        since = (int(release["major"]), int(release["minor"])) >= (2, 8)
        return numbers >= (13, 0) or (since and numbers >= (12, 8))
    first = FIRST.get(own[0])
    return first is not None and numbers < first
