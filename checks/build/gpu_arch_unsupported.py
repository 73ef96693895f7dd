"""The installed binaries have no code for this GPU's architecture.

## What happens

"CUDA error: no kernel image is available for execution on the device" at the first operation, or torch warns before
it: "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation". An
extension may be to blame alone (flash-attn, xformers, apex, bitsandbytes), while torch itself works.

## Why

Machine code for sm_XY runs on GPUs of the same X with at least this Y; PTX (compute_XY) is compiled for any newer GPU.

- The GPU is newer than the wheel: sm_120 (RTX 50) needs a wheel for CUDA 12.8 or later.
- The GPU is older than what the wheel was built for: newer wheels leave Kepler, Pascal and Volta out.
- An extension was compiled on a machine with another GPU, or with a `TORCH_CUDA_ARCH_LIST` that leaves this one out.
- A feature wants more than the GPU has: bfloat16 and FlashAttention need 8.0, Triton needs 7.0.

## How to tell

`python -c "import torch; print(torch.version.cuda, torch.cuda.get_arch_list(), torch.cuda.get_device_capability())"`.
If the list fits the GPU, the library in the last frames of the traceback is the one that was built without it. The
error is reported late: with `CUDA_LAUNCH_BLOCKING=1` the traceback names the right call.

## See also

- [flash-attn's setup.py](https://github.com/Dao-AILab/flash-attention/blob/main/setup.py): its variables
- [Release compatibility](https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix): the CUDA versions of each release, and the GPUs that its wheels are built for
- [Previous versions](https://pytorch.org/get-started/previous-versions/): the install command of each release
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, listed
from gpudoctor.facts import Distributions, Extensions, Gpus, Host, Python, Torch, capability_of, left_out

ARCHITECTURE = re.compile(r"(?P<kind>sm|compute)_(?P<major>\d+)(?P<minor>\d)(?P<suffix>[af]?)")
OLD = (7, 5)
"""Wheels for CUDA 13 begin here; those for CUDA 12.6 are the last ones with older GPUs."""

NAME = r"(?P<name>[A-Za-z][\w /()-]{2,60}?)"
EXTENSION = Fix(
    "An extension: compile it for the GPUs that are here, such as A100 and H100",
    'TORCH_CUDA_ARCH_LIST="8.0;9.0" python -m pip install --no-build-isolation --no-cache-dir '
    "--force-reinstall --no-deps --no-binary=PACKAGE PACKAGE",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where other GPUs are supported",
    symptoms=[
        r"no kern[ae]l image is available for execution( on the device)?",
        r"CUDA_ERROR_NO_BINARY_FOR_GPU|cudaErrorNoKernelImageForDevice",
        rf"{NAME} with CUDA capability (?P<arch>sm_\d+\w?) is not compatible with the current PyTorch installation",
        r"The current PyTorch install supports CUDA capabilities sm_",
        # 1.0 to 2.8, and since 2.9 with the list of what the build is for
        rf"Found GPU\d+ {NAME} which is of (cuda capability|compute capability \(CC\)) (?P<capability>\d+\.\d+)",
        r"PyTorch no longer supports this GPU because it is too old",
        r"minimum cuda capability (that we support|supported by this library) is (?P<minimum>\d+\.\d+)",
        r"Minimum and Maximum cuda capability supported by this version of PyTorch",
        r"Your installed torch==\S+ does not include kernels for this GPU",
        r"No published PyTorch CUDA builds for release \S+ support this GPU",
        rf"Found GPU\d+ {NAME} which requires CUDA_VERSION >= \d+",
        r"cuDNN version \d+ is not compatible with devices with SM < (?P<minimum>\d+\.\d+)",
        r"(CUDA error|HIP error|CUDA_ERROR|cuda runtime error|CUDA kernel failed|Triton Error \[CUDA\]).{0,60}(device kernel image is invalid|invalid device function)",
        r"THCudaCheck FAIL .{0,200}error=(98 :|8 : invalid device function)",  # until torch 1.8
        r"(CUDNN|CUBLAS|CUSPARSE|CUSOLVER)_STATUS_ARCH_MISMATCH",
        # extensions and kernels that are compiled here
        r"Unknown CUDA arch \((?P<arch>\d+\.\d+\w?(\+PTX)?)\) or GPU not supported",
        r"nvcc fatal\s{1,4}: Unsupported gpu architecture '(?P<arch>\w+)'",
        r"ptxas fatal\s{1,4}: Value '(?P<arch>sm_\w+)' is not defined for option 'gpu-name'",
        r"'(?P<arch>sm_\w+)' is not a recognized processor for this target",
        # a feature that the GPU is too old for
        r"FlashAttention only supports \w+ GPUs or newer",
        r"(?<!Bfloat16 is )only supported on GPUs with compute capability (?:of at least|>=) (?P<minimum>\d+\.\d+)",
        rf"Found {NAME} which is too old to be supported by the triton GPU compiler",
        r"requires Ampere or a newer GPU arch",
        # ROCm
        r"hipErrorNoBinaryForGpu|hipErrorInvalidDeviceFunction|hipErrorInvalidKernelFile",
        r"Cannot read \S{1,200}TensileLibrary\S{0,80}: .{0,80} GPU arch : (?P<arch>gfx\w+)",
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:48|209)\)(?! ?:)",
        r"requires device with capability [<>=]+ \(\d+, ?\d+\) but your GPU has capability",  # xFormers
        r"no kernel image is available\W{0,3}$",  # cut off
        r"\bcudaErrorInvalidDeviceFunction\b",
    ],
    message="the installed code does not support this GPU[: <name>][ (<arch>)][, compute capability <capability>]"
    "[; at least <minimum> is needed]",
    fixes=[
        Fix(
            "A GPU newer than the wheel: take the newest torch, whose ordinary wheel has the newest architectures",
            "python -m pip install --upgrade torch torchvision",
        ),
        Fix(
            "A GPU that newer wheels leave out (Maxwell, Pascal, Volta): take the wheel for CUDA 12.6",
            "python -m pip install --force-reinstall torch torchvision --index-url https://download.pytorch.org/whl/cu126",
        ),
        EXTENSION,
        Fix(
            "flash-attn has variables of its own, and takes a prebuilt wheel unless it is told to build",
            'FLASH_ATTENTION_FORCE_BUILD=TRUE FLASH_ATTN_CUDA_ARCHS="80;90" python -m pip install '
            "--no-build-isolation --no-cache-dir --force-reinstall --no-deps flash-attn",
        ),
        Fix(
            "Leave that GPU out; the others do its work",
            "export CUDA_VISIBLE_DEVICES=GPU,GPU",
            Kind.MITIGATION,
        ),
    ],
)


@check.environment
def environment(
    torch: Torch,
    gpus: Gpus | None,
    python: Python | None,
    distributions: Distributions | None,
    extensions: Extensions | None,
    host: Host | None,
) -> Iterator[Finding]:
    """The build has neither machine code nor PTX for a GPU that it sees."""
    if torch.cuda is None or torch.hip or not torch.imported:
        return
    cards = [(d.name, d.capability) for d in torch.devices] or [
        (gpu.name, gpu.capability or "") for gpu in (gpus.devices if gpus else [])
    ]
    known = [(name, found) for name, text in cards if (found := _capability(text)) is not None]
    if not cards and gpus is None and torch.cuda_available is not False:
        raise CannotTell("which GPUs torch sees is not known")
    if not cards:
        return
    if lacking := _beside(extensions, cards):
        yield lacking
        return
    said = [text for text in torch.warnings if "not compatible with the current PyTorch installation" in text]
    if said and known and not torch.arch_list:
        yield _told(said[0], known[0], torch, python, distributions)
        return
    if not torch.arch_list and (gone := _by_release(torch, cards, distributions, host)):
        severity = None if len(gone) == len(cards) else Severity.WARNING
        yield _without(gone[0], torch, python, distributions, severity)
        return
    if not torch.arch_list or not known:
        raise CannotTell("what torch was built for, or the GPUs' compute capability, is not known")
    left_out = [(name, own) for name, own in known if not any(_runs(a, own) for a in torch.arch_list)]
    if not left_out:
        if said:
            yield _compiled(said[0], known[0], torch)
        return
    own = left_out[0][1]
    names = listed([name or "a GPU" for name, _ in left_out], 1)
    message = (
        f"{names} has compute capability {own[0]}.{own[1]}, and {_named(torch)} has no code for it: its "
        "first kernel fails"
    )
    yield check.found(
        message,
        severity=None if len(left_out) == len(known) else Severity.WARNING,
        evidence=[Evidence(" ".join(torch.arch_list), "torch.cuda.get_arch_list()")],
        fixes=[_install(own, python or Python(), distributions)],
    )


def _beside(extensions: Extensions | None, cards: list[tuple[str, str]]) -> Finding | None:
    """Find a library whose own kernels were compiled for none of the GPUs that are here."""
    known = [(name, own) for name, text in cards if (own := _capability(text) or capability_of(name))]
    for one in extensions.each if extensions is not None else []:
        left_out = [(name, own) for name, own in known if not any(_runs(a, own) for a in one.architectures)]
        if left_out and one.architectures:
            name, own = left_out[0]
            message = (
                f"{name or 'a GPU'} has compute capability {own[0]}.{own[1]}, and {one.name} was compiled here for "
                f"{' '.join(one.architectures)} alone: its own kernels fail, or give wrong results"
            )
            return check.found(message, fixes=[EXTENSION])
    return None


def _told(
    said: str,
    card: tuple[str, tuple[int, int]],
    torch: Torch,
    python: Python | None,
    distributions: Distributions | None,
) -> Finding:
    """Pass on torch's own verdict where the list that it went by is not known."""
    name, own = card
    message = (
        f"{name or 'a GPU'} has compute capability {own[0]}.{own[1]}, and {_named(torch)} says that it has no code "
        "for it: its first kernel fails"
    )
    return check.found(
        message, evidence=[Evidence(said)], fixes=[_install(own, python or Python(), distributions)]
    )


def _compiled(said: str, card: tuple[str, tuple[int, int]], torch: Torch) -> Finding:
    """Describe a GPU that torch warns of, and for which it has PTX all the same."""
    name, own = card
    ptx = ", ".join(arch for arch in torch.arch_list if arch.startswith("compute_"))
    message = (
        f"{name or 'a GPU'} has compute capability {own[0]}.{own[1]}, and {_named(torch)} has no machine code for it: "
        f"it has PTX ({ptx}), which the driver compiles when a kernel is first used"
    )
    return check.found(message, severity=Severity.WARNING, evidence=[Evidence(said)])


def _by_release(
    torch: Torch, cards: list[tuple[str, str]], distributions: Distributions | None, host: Host | None
) -> list[tuple[str, tuple[int, int]]]:
    """Return the GPUs that PyTorch's own wheel of this version leaves out, where a text does not list what is in it.

    Who builds torch chooses: a version without ``+cu…`` is PyPI's where NVIDIA's wheels are installed beside it.
    """
    own = torch.version or ""
    wheels = distributions is not None and any(
        d.name.startswith("nvidia-cublas") for d in distributions.installed
    )
    if "+cu" not in own and not wheels:
        return []
    known = [(name, _capability(text) or capability_of(name)) for name, text in cards]
    linux = host is not None and host.system == "Linux" and host.machine in ("", "x86_64")
    return [
        (name, has)
        for name, has in known
        if has is not None and left_out(own, torch.cuda or "", has, linux=linux)
    ]


def _without(
    card: tuple[str, tuple[int, int]],
    torch: Torch,
    python: Python | None,
    distributions: Distributions | None,
    severity: Severity | None,
) -> Finding:
    name, own = card
    message = (
        f"{name} has compute capability {own[0]}.{own[1]}, and PyTorch's wheel of {torch.version} for CUDA "
        f"{torch.cuda} has no code for it: its first kernel fails"
    )
    return check.found(message, severity=severity, fixes=[_install(own, python or Python(), distributions)])


def _named(torch: Torch) -> str:
    return f"torch {torch.version}" if torch.version else "this torch"


def _capability(text: str) -> tuple[int, int] | None:
    major, dot, minor = text.partition(".")
    return (int(major), int(minor)) if dot and major.isdecimal() and minor.isdecimal() else None


def _runs(architecture: str, own: tuple[int, int]) -> bool:
    """Return whether what was compiled for an architecture runs on a GPU of that compute capability.

    Machine code does on the same major version and the same or a later minor one, PTX on everything newer; what is
    made for one GPU (sm_90a) on that one alone, and for a family (sm_100f) on its major version.
    """
    match = ARCHITECTURE.fullmatch(architecture)
    if match is None:
        return False
    built = int(match["major"]), int(match["minor"])
    if match["suffix"] == "a":
        return built == own
    if match["kind"] == "sm" or match["suffix"] == "f":
        return built[0] == own[0] and built[1] <= own[1]
    return built <= own


def _install(own: tuple[int, int], python: Python, distributions: Distributions | None) -> Fix:
    if own >= OLD:
        newest = python.install_command("torch torchvision", distributions, reinstall=True)
        return Fix("Take the newest torch, whose ordinary wheel has the newest architectures", newest)
    plain = python.install_command("torch torchvision", distributions, reinstall=True)
    command = f"{plain} --index-url https://download.pytorch.org/whl/cu126"
    if plain.startswith("uv "):
        command = plain.replace("--torch-backend=auto", "--torch-backend=cu126")
    return Fix("Take the wheel for CUDA 12.6, the last one with GPUs of this age", command)
