"""Which GPUs the wheels of PyTorch's own releases have code for, by what CUDA can compile for and what was left out."""

import re

# https://developer.nvidia.com/cuda-gpus, by the names that the driver gives; a name that fits none is not judged
CAPABILITIES: tuple[tuple[str, tuple[int, int]], ...] = (
    (r"Quadro K(?!620\b|1200\b|2200\b)\d{3,4}|GTX 6[5-9]0", (3, 0)),
    (r"Tesla K[24]0|GTX 7[678]0|GeForce GT 7[1-4]0\b(?!M)|GTX TITAN(?: Black| Z)?$", (3, 5)),
    (r"Tesla K80", (3, 7)),
    (r"Quadro K\d{3,4}|GTX 7[45]0|Quadro M[56]\d\d\b", (5, 0)),
    (r"Tesla M\d{1,2}|GTX 9\d\d|GTX TITAN X|Quadro M\d{4}", (5, 2)),
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
    (r"\bGB10\b", (12, 1)),
)
# CUDA's release notes: the first that compiles for a major version. Machine code runs on later minor ones of the same.
FIRST = {8: (11, 0), 9: (11, 8), 10: (12, 8), 12: (12, 8)}
LATE_12 = (12, 8)
"""From here on the wheels for CUDA 12 have no code for old GPUs, to stay small."""
OLDEST_OF_LATE_12 = (((2, 11), (7, 5)), ((2, 8), (7, 0)))
"""Since which release, and the oldest GPU that is left in: the support matrix in PyTorch's RELEASE.md, and
https://github.com/jhj0517/Whisper-WebUI/issues/653 for 2.8, which still has Volta whatever its release notes say."""
LINUX_2_7 = (7, 5)
"""What 2.7 for CUDA 12.8 begins with on Linux; its wheels for Windows have older ones (get_arch_list() of both)."""
OLDEST_OF = ((13, (7, 5)), (12, (5, 0)))
"""The oldest GPU that CUDA of a major version compiles for (release notes of 13.0 and 12.0)."""
WITHOUT_KEPLER = (1, 4)
"""Since then the oldest in a wheel is 3.7 (https://github.com/pytorch/pytorch/issues/24205)."""
RELEASE = re.compile(r"(?P<major>\d+)\.(?P<minor>\d+)\.\d+(?:\+cu\d{2,3})?")


def capability_of(name: str) -> tuple[int, int] | None:
    """Return the compute capability of a model by its name; ``None`` for one that is not known here."""
    return next((own for pattern, own in CAPABILITIES if re.search(pattern, name)), None)


def left_out(version: str, cuda: str, own: tuple[int, int], *, linux: bool = False) -> bool:
    """Return whether the wheel of a release for a version of CUDA has certainly no code for a GPU.

    False where it may have some: PTX of an older one (``+PTX``), or an architecture between those that are known here.
    `linux`: the wheel is known to be one for Linux.
    """
    release = RELEASE.fullmatch(version)
    numbers = tuple(int(part) for part in cuda.split(".")[:2] if part.isdecimal())
    if release is None or len(numbers) != 2:
        return False
    first = FIRST.get(own[0])
    return own < _oldest((int(release["major"]), int(release["minor"])), numbers, linux=linux) or (
        first is not None and numbers < first
    )


def _oldest(release: tuple[int, int], cuda: tuple[int, ...], *, linux: bool) -> tuple[int, int]:
    """Return the oldest compute capability that a wheel can have code for."""
    oldest = next((least for major, least in OLDEST_OF if cuda[0] >= major), (0, 0))
    if release >= WITHOUT_KEPLER:
        oldest = max(oldest, (3, 7))
    if LATE_12 <= cuda < (13, 0):
        of_release = next((least for since, least in OLDEST_OF_LATE_12 if release >= since), (0, 0))
        oldest = max(oldest, LINUX_2_7 if linux and release == (2, 7) else of_release)
    return oldest
