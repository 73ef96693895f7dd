"""torchvision was built for another version of torch.

## What happens

`import torchvision`, or the first use of `nms`, `roi_align` or an image reader, raises "operator torchvision::nms does
not exist", "Couldn't load custom C++ ops" or "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend".
Or a program asks for a name that this torchvision does not have: "cannot import name 'InterpolationMode'".

## Why

torchvision's compiled operators fit one release of torch: 0.N+15 belongs to 2.N (0.21 to 2.6), 0.N+1 to 1.N (0.14 to
1.13). From 0.29 on they use torch's stable interface and run with torch 2.14 and later. One of the two was installed
or upgraded alone, came from another source (pip beside conda), or is a CPU build beside a CUDA build.

## How to tell

`python -m pip check` names pins that are not met. `python -c 'import torch, torchvision; torch.ops.torchvision.nms'`
fails where the operators do not load; with TORCHVISION_WARN_WHEN_EXTENSION_LOADING_FAILS=1 set it says why.

## See also

- [torchvision's table of versions](https://github.com/pytorch/vision#installation): which torchvision belongs to which torch
- [Previous versions](https://pytorch.org/get-started/previous-versions/): install commands for each pair
"""

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Sighting
from gpudoctor.facts import Distributions, Python, Torch, Torchvision, parsed_version

# From this release on, torchvision asks for its torch or a later one (Requires-Dist: torch>=2.14.0).
STABLE_INTERFACE = 29
# Before it torchvision was Python alone, without operators that have to load.
FIRST_COMPILED = (0, 3)

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    otherwise="a warning where its operators load all the same, a note before torchvision 0.3, which has none",
    follows=["torch-shadowed"],
    symptoms=[
        r"torchvision::(?P<operator>\w+) does not exist",
        r"No such operator torchvision::(?P<operator>\w+)",
        r"Could not run 'torchvision::(?P<operator>\w+)' with arguments from the '\w+' backend",
        r"Couldn't load custom C\+\+ ops",
        r"PyTorch and torchvision were compiled with different CUDA (major )?versions(\. PyTorch has CUDA Version=(?P<cuda>[\d.]+) and torchvision has CUDA Version=(?P<other>\d+(\.\d+)*))?",
        r"PyTorch and (?P<library>TorchAudio) were compiled with different CUDA versions(\. PyTorch has CUDA version (?P<cuda>[\d.]+) whereas TorchAudio has CUDA version (?P<other>\d+(\.\d+)*))?",
        r"No such operator image::(?P<operator>\w+)",
        r"torchvision[/\\]_C\w*\.[\w.-]{2,60}: undefined symbol: (?P<symbol>\w+)",
        r"Failed to load '_C\w*' extension",
        r"partially initialized module 'torchvision' has no attribute 'extension'",
        # pip, since 2016
        r"torchvision (?P<torchvision>\S+) (requires|has requirement) torch[=<>~!]=?(?P<needed>[\w.+]+), but you('ll)? have (torch (?P<torch>[\w.+]+))?",
        r"Could not find the operator torchvision::(?P<operator>\w+)",
        r"Failed to load image Python extension: .{0,200}undefined symbol",
        r"Unknown builtin op: torchvision::(?P<operator>\w+)",
        r"'_OpNamespace' 'torchvision' object has no attribute '(?P<operator>\w+)'",
        r"TORCH_LIBRARY can be used to register the namespace torchvision\b",
        # a name that this release has not yet, or not any more
        r"cannot import name ['\"]?(?P<name>\w+)['\"]? from ['\"]?(?P<module>torchvision\.[\w.]{1,80}\w)",
        r"module ['\"](?P<module>torchvision\.[\w.]{1,80})['\"] has no attribute ['\"](?P<name>\w+)",
        r"(?P<library>torchaudio)[/\\](?:lib[/\\])?_?(?:lib)?torchaudio\w*\.[\w.-]{2,60}: undefined symbol: (?P<symbol>\w+)",
    ],
    fixes=[
        Fix(
            "Install a pair that was made for each other", "python -m pip install --upgrade torch torchvision"
        ),
        Fix(
            "Or keep the torch that is installed, and let pip choose the torchvision that was made for it",
            "python -m pip install --upgrade torchvision "
            'torch=="$(python -c \'import torch; print(torch.__version__.split("+")[0])\')"',
        ),
    ],
)

RELEASE = [
    Fix(
        "See which release is installed, and look for the name in its documentation",
        "python -m pip show torch torchvision",
    ),
    Fix(
        "Where the name is newer than that: take the newest pair",
        "python -m pip install --upgrade torch torchvision",
    ),
    Fix(
        "Where it is gone since: take the release of the program, or of the library, that goes with this torchvision"
    ),
]


AUDIO = [
    Fix("Install a pair that was made for each other", "python -m pip install --upgrade torch torchaudio"),
    Fix(
        "Or keep the torch that is installed, and let pip choose the torchaudio that was made for it",
        "python -m pip install --upgrade torchaudio "
        'torch=="$(python -c \'import torch; print(torch.__version__.split("+")[0])\')"',
    ),
]


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which library it is, and in what they differ."""
    groups = sighting.groups
    if "name" in groups:
        said = f"{groups['module']} has no {groups['name']} in this torchvision"
        yield check.found(f"{said}: the program was written for another release", fixes=RELEASE)
        return
    audio = groups.get("library", "").lower() == "torchaudio"
    library = "torchaudio" if audio else "torchvision"
    version = f" {groups['torchvision']}" if "torchvision" in groups else ""
    parts = [
        f", {groups['torch']}" if "torch" in groups else "",
        f": it asks for torch {groups['needed']}" if "needed" in groups else "",
        f": its operator {groups['operator']} is not there" if "operator" in groups else "",
        f": it has CUDA {groups['other']}, torch has CUDA {groups['cuda']}" if "other" in groups else "",
        f": torch does not have the symbol {groups['symbol']}" if "symbol" in groups else "",
    ]
    message = f"{library}{version} was not made for the torch it meets{''.join(parts)}"
    yield check.found(message, fixes=AUDIO if audio else None)


@check.environment
def environment(
    torchvision: Torchvision | None,
    torch: Torch | None,
    python: Python | None,
    distributions: Distributions | None,
) -> Iterator[Finding]:
    """Their operators do not load, their pins are not met, or the releases do not belong together."""
    yield from _audio(torch, python, distributions)
    if torchvision is None:
        if distributions is None or distributions.get("torchaudio") is None:
            raise CannotTell("torchvision: not in this report")
    else:
        yield from _vision(torchvision, torch, python, distributions)


def _audio(
    torch: Torch | None, python: Python | None, distributions: Distributions | None
) -> Iterator[Finding]:
    """Look at torchaudio, whose wheels name the torch that they were compiled for."""
    audio = distributions.get("torchaudio") if distributions else None
    own = distributions.get("torch") if distributions else None
    base = (torch.version if torch else None) or (own.version if own else None)
    if audio is None or base is None:
        return
    wanted = _unmet(audio.requires, base)
    if wanted is not None:
        both = f"torch=={(parsed_version(base) or Version('0')).public} torchaudio"
        command = (python or Python()).install_command(both, distributions, reinstall=True)
        yield check.found(
            f"torchaudio {audio.version} beside torch {base}, and it asks for {wanted}: its compiled part was made for "
            "another torch",
            fixes=[Fix("Install the torchaudio that was made for this torch", command)],
        )


def _vision(
    torchvision: Torchvision, torch: Torch | None, python: Python | None, distributions: Distributions | None
) -> Iterator[Finding]:
    """Look at torchvision."""
    if torch and torch.imported is False and any(s.loaded for s in torch.shadows):
        raise CannotTell("torch could not be imported past a file that hides a module")
    if torch and torchvision.library is None and any(s.module == "torchvision" for s in torch.shadows):
        raise CannotTell("a file of the name torchvision hides it: torch-shadowed")
    known = {
        name: d.version
        for name in ("torch", "torchvision")
        if distributions and (d := distributions.get(name))
    }
    vision = torchvision.version or known.get("torchvision")
    base = torchvision.torch_version or (torch.version if torch else None) or known.get("torch")
    if vision is None and torchvision.library is None and torchvision.operators_load is None:
        return  # not installed
    if torch and torch.imported and torch.version is None:
        return  # what torchvision meets is no torch: torch-shadowed or torch-missing
    pair = f"torchvision {vision or 'of unknown version'} beside torch {base or 'of unknown version'}"
    fixes = _fixes(base, python, distributions)
    wanted = _unmet(torchvision.requires_torch, base)
    if torchvision.interrupted and torchvision.operators_load is None and torchvision.library:
        message = f"{pair}: loading its operators did not finish ({torchvision.interrupted})"
        yield check.found(message, evidence=[torchvision.library], fixes=fixes)
    elif torchvision.operators_load is False:
        words = f", and it asks for {wanted}" if wanted else ""
        message = f"{pair}: its operators do not load{words}, so nms, roi_align and the image readers fail"
        yield check.found(message, evidence=(torchvision.operators_error or "").splitlines()[:3], fixes=fixes)
    elif wanted:
        proven = torchvision.operators_load is True
        message = f"{pair}, and it asks for {wanted}" + (
            ": its operators load, yet nobody tested this pair" if proven else ""
        )
        yield check.found(message, severity=Severity.WARNING if proven else None, fixes=fixes)
    elif torchvision.operators_load is None:
        yield from _by_release(vision, base, pair, fixes)


def _unmet(pins: list[str], base: str | None) -> str | None:
    """Return the first of a library's own pins on torch that this torch does not meet."""
    version = parsed_version(base)
    if version is None or version.is_prerelease:
        return None
    for text in pins:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            return text
    return None


def _by_release(vision: str | None, base: str | None, pair: str, fixes: list[Fix]) -> Iterator[Finding]:
    """Compare the releases alone; a torch between releases (NVIDIA's containers, from source) fits what it came with."""
    torch, mine = parsed_version(base), parsed_version(vision)
    if torch is None or mine is None:
        raise CannotTell("the version of torch or of torchvision is not known")
    expected = _partner(torch)
    if expected is None or mine.is_devrelease or mine.release[:2] == (0, expected):
        return
    if torch.is_prerelease and not (torch.is_devrelease and not mine.is_prerelease and mine.minor < expected):
        return  # a nightly torch is newer than any torchvision that was released before it
    if STABLE_INTERFACE <= mine.minor <= expected:
        return
    if mine.release[:2] < FIRST_COMPILED:
        message = f"{pair}: it has no compiled part that could fail, and no torchvision.ops; that torch came with 0.{expected}"
        yield check.found(message, severity=Severity.NOTE, fixes=fixes)
        return
    # 0.5.0a0+85b8fbf: distributions and source builds have such versions; one that was built here fits this torch.
    severity = Severity.WARNING if mine.is_prerelease else Severity.ERROR
    message = f"{pair}: that torch belongs with torchvision 0.{expected}, so compiled operators such as nms do not load"
    yield check.found(message, severity=severity, fixes=fixes)


def _partner(torch: Version) -> int | None:
    """Return the minor release of torchvision that was made for a release of torch."""
    if torch.major == 2:
        return torch.minor + 15
    if torch.major == 1:
        return torch.minor + (1 if torch.minor >= 3 else 2)
    return None


def _fixes(base: str | None, python: Python | None, distributions: Distributions | None) -> list[Fix]:
    patient, torch = python or Python(), parsed_version(base)
    expected = None if torch is None or torch.is_prerelease else _partner(torch)
    if torch is None or expected is None:
        command = patient.install_command("torch torchvision", distributions, reinstall=True)
        return [Fix("Install a pair that was made for each other", command)]
    pin = (
        f"torchvision==0.{expected}.*"
        if expected < STABLE_INTERFACE
        else f"torchvision>=0.{STABLE_INTERFACE}"
    )
    requirements = f"torch=={torch.public} '{pin}'"
    command = patient.install_command(requirements, distributions, reinstall=True)
    return [Fix(f"Install torch {torch.public} with the torchvision that was made for it", command)]
