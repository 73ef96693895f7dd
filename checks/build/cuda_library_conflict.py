"""Two versions of CUDA, cuDNN or another of its libraries meet.

## What happens

torch was built for one version of a CUDA library and finds another at run time: "cuDNN version incompatibility: PyTorch
was compiled against (9, 10, 2) but found runtime version (9, 1, 0)", "Could not load library libcudnn_cnn_train.so.8",
CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH. An extension that is compiled here says "The detected CUDA version (11.8)
mismatches the version that was used to compile PyTorch". (If `import torch` itself fails: `torch-import-broken`.)

## Why

- LD_LIBRARY_PATH, `module load cuda` or a conda environment puts another copy before the one of the wheels.
- Another package brought its own: tensorflow, onnxruntime-gpu, ctranslate2, paddle or cupy; the one that is imported first
  decides which copy is loaded.
- Wheels of two CUDA versions (`nvidia-…-cu12` beside `-cu13`) write into the same folders.
- For extensions: `nvcc` and CUDA_HOME are of another version than `torch.version.cuda`.

## How to tell

`LD_DEBUG=libs python -c "import torch" 2>&1 | grep -E "calling init.*(cudnn|cublas|nccl|nvJitLink)"` names the files
that are loaded: all should be beside torch in site-packages. `pip list | grep -i nvidia` shows doubles.

## See also

- [ld.so](https://man7.org/linux/man-pages/man8/ld.so.8.html): LD_LIBRARY_PATH, LD_DEBUG and what is searched first
- [cuDNN's support matrix](https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html): which cuDNN goes with which CUDA and driver
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom, listed
from gpudoctor.facts import Distribution, Distributions, Launch, Python, Torch, WheelFile, parsed_version

VERSION = r"\([\d, ]{3,20}\)|\d{3,6}"
DETECTED = (
    r"detected CUDA version \((?P<nvcc>[\d.]+)\) mismatches the version that was used to compile( PyTorch)?"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where another copy may do as well, a note where torch does not load it",
    words_stand=True,
    symptoms=[
        # two blanks after "compiled" in some releases; "linked against" until 1.11
        rf"cuDNN version (?:incompatibility|mismatch): PyTorch was compiled {{1,3}}against (?P<built>{VERSION}) but (found runtime version|linked against) (?P<found>{VERSION})",
        r"LD_LIBRARY_PATH contains incompatible version of cudnn",
        r"Could not load library (?P<library>(lib)?cudnn[\w.-]+?)\. Error",
        r"Please make sure (?P<library>(lib)?cudnn[\w.-]+) is in your library path",
        r"Could not locate (?P<library>cudnn\w+\.dll)",
        r"Unable to load any of \{(?P<library>(lib)?cudnn[\w.-]+)",
        r"Could not load symbol (?P<symbol>cudnn\w+)\. Error",
        r"Invalid handle\. Cannot load symbol (?P<symbol>cudnn\w+)",
        r"CUDNN_STATUS_(SUBLIBRARY_VERSION_MISMATCH|SUBLIBRARY_LOADING_FAILED|VERSION_MISMATCH)",
        r"Loaded runtime CuDNN library: (?P<found>[\d.]+) but source was compiled with: (?P<built>\d+(\.\d+)*)",
        # jaxlib
        r"Found (?P<library>\w[\w ]{2,20}) version (?P<found>\d{3,6}), but JAX was built against version (?P<built>\d{3,6})",
        # ldd of one of the wheels' libraries: a toolkit's copy came first
        Symptom(
            r"\blib(?:nvJitLink|cudart|cublas(?:Lt)?|cusparse|cusolver|cufft|curand|cudnn\w{0,12}|nccl)\.so\.\d{1,2} => "
            r"(?P<library>/(?!\S{0,200}-packages/)\S{0,60}\bcuda\b\S{1,120})",
            near=r"site-packages/(?:torch|nvidia)/|dist-packages/(?:torch|nvidia)/",
        ),
        r"version \W?(?P<library>lib(cudart|cublas|cublasLt|cudnn|nvJitLink)\.so\.[\d.]+)\W? not found",
        Symptom(DETECTED, near=r"PyTorch \((?P<compiled>\d+\.\d+)\)\. Please make sure"),
        DETECTED,
        # apex's setup.py
        r"Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile Pytorch",
        r"Installed CUDA version (?P<nvcc>[\d.]+) does not match the version torch was compiled with (?P<compiled>\d+\.\d+)",
    ],
    message="two versions of CUDA or of one of its libraries meet[: <found> was found where <built> was expected]"
    "[: nvcc is of CUDA <nvcc>][, and torch was built with <compiled>]"
    "[, at <library>][, at <symbol>]",
    fixes=[
        Fix(
            "Compile with the nvcc of CUDA <compiled>: on a cluster its module, elsewhere the folder of that toolkit",
            "export CUDA_HOME=/usr/local/cuda-<compiled> PATH=/usr/local/cuda-<compiled>/bin:$PATH",
        ),
        Fix(
            "Where no toolkit of CUDA <compiled> is: install its compiler into a conda environment (conda-forge has 12.0 and later)",
            "conda install -c conda-forge cuda-nvcc=<compiled> cuda-cudart-dev=<compiled> && export CUDA_HOME=$CONDA_PREFIX",
        ),
        Fix(
            "Run without the paths that put another copy first",
            "unset LD_LIBRARY_PATH LD_PRELOAD  # then start the training as before",
        ),
        Fix(
            "Start from a clean environment, so that one CUDA version alone is there",
            "python -m venv .venv-clean && .venv-clean/bin/python -m pip install torch torchvision",
        ),
        Fix(
            "Import torch before tensorflow, cupy, paddle and onnxruntime",
            "import torch  # first: its libraries are then the ones in the process\nimport cupy",
            Kind.EDIT,
        ),
        Fix(
            "DeepSpeed: skip its comparison of versions; its kernels may then fail to compile or to run",
            "export DS_SKIP_CUDA_CHECK=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU, and two versions of CUDA's libraries",
)

# libcudnn_ops.so.9, libcudart.so.13, libnccl.so.2.18.1, and libcudart-d0da41ae.so.11.0 of torch's wheels for CUDA 11
STEM = re.compile(r"^(lib[A-Za-z0-9_]+?(?:-builtins)?)(?:-[0-9a-f]{8})?\.so(?:\.|$)")
OPENMP = ("libgomp", "libiomp5", "libomp")
GENERATION = re.compile(r"^nvidia-(?P<name>nccl|cudnn|cusparselt|nvshmem)-cu(?P<cuda>\d+)$")
"""Wheels that lie in the same folder whatever CUDA they are for (RECORD files of both); the others have one of their
own since CUDA 13."""
CUDNN = re.compile(r"^nvidia-cudnn-cu\d+$")
# torch 1.13 was the first that asks for wheels of NVIDIA's, 2.4 the first with cuDNN 9 (RELEASE.md).
FIRST_WHEELS, CUDNN_9 = (1, 13), (2, 4)
ANY_GENERATION = re.compile(r"nvidia-[a-z-]{3,40}-cu(\d\d)\b")
LOADED = Fix("See what asks for them", "python -m pip freeze | grep -i nvidia")
OFF_PATH = Fix(
    "Run without the paths that put another copy first",
    "unset LD_LIBRARY_PATH LD_PRELOAD  # then start the training as before",
)


@check.environment
def environment(
    torch: Torch | None, distributions: Distributions | None, launch: Launch | None, python: Python | None
) -> Iterator[Finding]:
    """Several copies are mapped, one that is not the wheel's, or a wheel's file was overwritten."""
    if distributions is None and (torch is None or torch.libraries is None):
        raise CannotTell("neither the installed wheels nor what torch loads is known")
    if torch is not None and torch.cuda is None and torch.imported:
        return
    patient = python or Python()
    wheels = distributions.installed if distributions else []
    yield from _generations(wheels, patient, distributions, torch)
    if torch is None:  # a list of packages in a text
        return
    yield from _elsewhere(torch.libraries or [], wheels, launch.variables if launch else {})
    yield from _copies(torch.libraries or [], launch.variables if launch else {})
    yield from _changed(torch.libraries or [], wheels, patient, distributions)
    yield from _on_the_path(torch.linkable, wheels)


def _generations(
    wheels: list[Distribution], python: Python, distributions: Distributions | None, own: Torch | None
) -> Iterator[Finding]:
    """Wheels of two CUDA versions that write into the same folder: the last one wins."""
    files: dict[str, list[tuple[Distribution, WheelFile]]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    for wheel in wheels:
        if match := GENERATION.match(wheel.name.lower().replace("_", "-")):
            named.setdefault((match["name"], wheel.location), set()).add(wheel.name)
        for file in wheel.libraries:
            files.setdefault(file.path, []).append((wheel, file))
    shared = [sorted(names) for names in named.values() if len(names) > 1]
    torch = next((w for w in wheels if w.name == "torch"), None)
    pinned = " ".join(torch.pins) if torch else ""
    lost = [
        (wheel, file)
        for owners in files.values()
        for wheel, file in owners
        if file.bytes_there not in (None, file.bytes)
    ]
    wrong = [(wheel, file) for wheel, file in lost if len(files[file.path]) > 1 and wheel.name in pinned]
    if wrong:
        wheel, file = wrong[0]
        others = ", ".join(w.name for w, _ in files[file.path] if w.name != wheel.name)
        message = f"{file.path} is not the one of {wheel.name} {wheel.version}, which torch asks for: {others} wrote over it"
    elif shared:
        both = " and ".join(shared[0])
        message = (
            f"{both} are both installed, and write the same files: which one is there depends on the order"
        )
    else:
        yield from _of_another(wheels, torch, own)
        yield from _other_cudnn(wheels, torch, own)
        return
    unwanted = [name for names in shared for name in names if name not in pinned] if pinned else []
    fixes = [_again(python, distributions)]
    if unwanted:
        fixes.insert(0, _removal(" ".join(unwanted), python, distributions))
    yield check.found(message, severity=None if wrong else Severity.WARNING, fixes=fixes)


def _of_another(
    wheels: list[Distribution], torch: Distribution | None, own: Torch | None
) -> Iterator[Finding]:
    """Note wheels of another CUDA than torch's, in folders of their own: torch does not load them, others may.

    A list of packages in a text has no pins: there it is the CUDA that torch was built for.
    """
    asked = {match[1] for pin in (torch.pins if torch else []) if (match := ANY_GENERATION.match(pin))}
    if torch is not None and not torch.pins and own is not None and own.cuda:
        asked = {own.cuda.partition(".")[0]}
    if torch is None or len(asked) != 1:
        return
    [cuda] = asked
    others = [
        wheel.name
        for wheel in wheels
        if wheel.location == torch.location
        and (match := ANY_GENERATION.match(wheel.name.lower().replace("_", "-")))
        and match[1] != cuda
    ]
    if others:
        message = (
            f"{listed(others, 3)} {'is' if len(others) == 1 else 'are'} of another CUDA than {cuda}, which is torch's: "
            "torch loads its own, and another package that loads these brings two into one process"
        )
        yield check.found(message, severity=Severity.NOTE, fixes=[LOADED])


def _other_cudnn(
    wheels: list[Distribution], torch: Distribution | None, own: Torch | None
) -> Iterator[Finding]:
    """Note a wheel of cuDNN that has no libcudnn.so of the number that torch asks for; a text's list has no pins."""
    version = parsed_version(own.version) if own is not None and own.cuda else None
    if (
        torch is None
        or torch.pins
        or version is None
        or version.is_prerelease
        or version.release < FIRST_WHEELS
    ):
        return
    asked = 9 if version.release >= CUDNN_9 else 8
    for wheel in wheels:
        brought = parsed_version(wheel.version)
        if wheel.location == torch.location and CUDNN.match(wheel.name.lower().replace("_", "-")):
            if brought is not None and brought.major in (8, 9) and brought.major != asked:
                message = (
                    f"{wheel.name} {wheel.version} is installed, and torch {version.public} asks for libcudnn.so.{asked}: "
                    "it loads one from elsewhere, or none"
                )
                yield check.found(message, severity=Severity.NOTE, fixes=[LOADED])
            return


def _changed(
    mapped: list[str], wheels: list[Distribution], python: Python, distributions: Distributions | None
) -> Iterator[Finding]:
    """A file that torch loads is not as its wheel brought it, and no other wheel wrote it."""
    owners = Counter(file.path for wheel in wheels for file in wheel.libraries)
    for wheel in wheels:
        for file in wheel.libraries:
            if owners[file.path] == 1 and file.path in mapped and file.bytes_there not in (None, file.bytes):
                message = (
                    f"{file.path} has {file.bytes_there} bytes, and {file.bytes} by the RECORD of {wheel.name} {wheel.version}: "
                    "somebody wrote over it, and torch loads what was not built for it"
                )
                fixes = [_again(python, distributions)]
                yield check.found(message, severity=Severity.WARNING, fixes=fixes)
                return


def _on_the_path(linkable: dict[str, str], wheels: list[Distribution]) -> Iterator[Finding]:
    """Copies of the wheels' libraries that torch does not load, in folders where whoever asks by name finds them."""
    brought = {PurePath(file.path).name for wheel in wheels for file in wheel.libraries}
    beside = [path for path in linkable if PurePath(path).name in brought]
    if not beside:
        return
    folders = list(dict.fromkeys(str(PurePath(path).parent) for path in beside))
    names = listed([PurePath(path).name for path in beside], 3, show=str)
    message = (
        f"LD_LIBRARY_PATH ({', '.join(folders[:2])}) holds {names}, too: torch loads those of its wheels, and what is "
        "imported before torch, or runs without it, gets these"
    )
    yield check.found(message, severity=Severity.NOTE, fixes=[OFF_PATH])


def _removal(names: str, python: Python, distributions: Distributions | None) -> Fix:
    executable = shlex.quote(python.executable or "python")
    command = f"{executable} -m pip uninstall {names}"
    if distributions is not None and distributions.get("pip") is None:
        command = f"uv pip uninstall --python {executable} {names}"
    return Fix("Remove what torch does not ask for", command)


def _again(python: Python, distributions: Distributions | None) -> Fix:
    command = python.install_command("torch torchvision", distributions, reinstall=True)
    return Fix("Install torch again, with the libraries that it asks for", command)


def _elsewhere(mapped: list[str], wheels: list[Distribution], variables: dict[str, str]) -> Iterator[Finding]:
    """A library is loaded from elsewhere, although a wheel brings one of the same name."""
    brought = {PurePath(file.path).name: (wheel, file) for wheel in wheels for file in wheel.libraries}
    own = {file.path for wheel in wheels for file in wheel.libraries}
    foreign = [
        (path, *brought[PurePath(path).name])
        for path in mapped
        if path not in own and PurePath(path).name in brought
    ]
    # libnccl.so.2 may lead to a file libnccl.so.2.18.1, which is what is mapped.
    stems = {_stem(file.path): (wheel, file) for wheel in wheels for file in wheel.libraries}
    foreign += [
        (path, *stems[_stem(path)])
        for path in mapped
        if path not in own and PurePath(path).name not in brought and _stem(path) in stems
    ]
    alone = [f for f in foreign if not any(_stem(other) == _stem(f[0]) for other in mapped if other in own)]
    if not alone:
        return
    path, wheel, file = alone[0]
    paths = listed([other for other, *_ in alone], 1, show=str)
    yield check.found(
        f"torch loads {paths}, and not {PurePath(file.path).name} of {wheel.name} {wheel.version}, which is installed for it",
        severity=Severity.WARNING,
        evidence=_paths(variables, path),
        fixes=[OFF_PATH],
    )


def _copies(mapped: list[str], variables: dict[str, str]) -> Iterator[Finding]:
    """One process has two copies of a library."""
    copies: dict[str, list[str]] = {}
    for path in mapped:
        if (stem := _stem(path)) and stem not in OPENMP:
            copies.setdefault(stem, []).append(path)
    twice = {stem: paths for stem, paths in copies.items() if len(paths) > 1}
    if not twice:
        return
    stem, paths = next(iter(twice.items()))
    more = f"; so are {', '.join([*twice][1:4])}" if len(twice) > 1 else ""
    yield check.found(
        f"import torch loads {stem} {len(paths)} times, {' and '.join(paths)}{more}: calls may reach the wrong one",
        severity=Severity.WARNING,
        evidence=_paths(variables, *paths),
        fixes=[OFF_PATH],
    )


def _stem(path: str) -> str:
    match = STEM.match(PurePath(path).name)
    return match[1] if match else ""


def _paths(variables: dict[str, str], *paths: str) -> list[Evidence]:
    """Return the linker's variables that lead to one of the files."""
    return [
        Evidence(f"{name}={variables[name]}")
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
        if any(
            entry and (path == entry or path.startswith(entry.rstrip("/") + "/"))
            for entry in variables.get(name, "").split(":")
            for path in paths
        )
    ]
