"""Importing torch fails: a library or a symbol is missing.

## What happens

torch is installed, and `import torch` raises ImportError or OSError, kills the process or never returns. The last line
names a shared library that cannot be opened, or a symbol that the library which was loaded does not have.

## Why

- *cannot open shared object file*: an installation was cut short, the `nvidia-…` wheels are missing (`--no-deps`,
  a mixed pip and conda), or the library belongs to the system (`libgomp`, `libopenblas`).
- *undefined symbol*: another version of a library came first. `ncclComm…`: an older NCCL; `__nvJitLink…`: an older
  CUDA on LD_LIBRARY_PATH; `iJIT_NotifyEvent`: MKL 2024.1 or later under a conda build of torch. `c10`, `at` or
  `torch` in a mangled symbol: an extension (flash-attn, mmcv, torch-scatter …) compiled for another torch.
- *OMP: Error #15*: two packages brought an OpenMP runtime each (`libiomp5`, `libgomp`, `libomp`), mostly pip and conda
  mixed. No variable repairs that: one of the two must go.
- *segmentation fault, no answer*: two copies of one library in a process, or a file system that does not answer.

## How to tell

`env -u LD_LIBRARY_PATH -u LD_PRELOAD python -c 'import torch'`: if that works, these variables are at fault. Else
`ldd` on the file that the message names shows which library is found, and where.

## See also

- [pytorch#123097](https://github.com/pytorch/pytorch/issues/123097): iJIT_NotifyEvent and MKL 2024.1
- [pytorch#141063](https://github.com/pytorch/pytorch/pull/141063): LD_LIBRARY_PATH with another CUDA, and the missing `__nvJitLink` symbol
"""

import errno
import re
import shlex
import sys
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom, joined
from gpudoctor.facts import Distributions, Folder, Launch, Python, Storage, Torch
from gpudoctor.wordings import A_FRAME

LIBRARIES = (
    r"lib(?:torch|c10|shm|caffe2|cudart|cudnn|cublas|cufft|curand|cusolver|cusparse|cupti|cufile|nvrtc|nvJitLink"
    r"|nvToolsExt|nvshmem|nccl|cudss|nvpl|gomp|iomp5|tbb|mkl|openblas|mpi"
    r"|amdhip64|hipblas|hipfft|hiprand|hipsparse|hipsolver|rocblas|rocsolver|rocsparse|MIOpen|roctx64|roctracer64|rccl|hsa-runtime64)[\w.+-]*"
)
# Those of torchvision's and torchaudio's own libraries are the failure torchvision-mismatch.
# cuDNN's own loader says "Could not load", which is the failure cuda-library-conflict.
LOADS = (
    r"from torch\._C import|[/\\]torch[/\\]__init__\.py|-> *\d+ import torch *$|[Ii]mport(?:ing|ed)? (?:py)?torch[,:] |"
    r"(?m:^[> ]*import torch *\n(?! *(?:import|from) ))"
)
"""Where torch itself is what is loaded."""
UNDEFINED = r"^(?!.*(?:torchvision[/\\](?:_C|image)|torchaudio[/\\](?:lib[/\\])?_?(?:lib)?torchaudio|Could not load (?:library|symbol) )).*undefined symbol: "

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where one torch was installed over another and still loads",
    symptoms=[
        rf"(ImportError|OSError): (\S*/)?(?P<library>{LIBRARIES}): (cannot open|file too short|invalid ELF)",
        rf"{UNDEFINED}(?P<symbol>iJIT_\w+|nccl\w+|__nvJitLink\w+|cu(blas|dnn|sparse|solver|pti|da[A-Z])\w+)",
        rf"{UNDEFINED}(?P<symbol>mkl_\w+|omp_\w+|__kmpc_\w+|aoti_torch_\w+|TH(?:P|C|NN|CUNN)[A-Z_]\w+)",
        # c10::, at:: and torch:: as the compiler spells them: an extension that was compiled for another torch
        rf"{UNDEFINED}(?P<symbol>_Z\w{{0,40}}?(?<!\d)(3c10|2at|5torch|6caffe2)\w*)",
        # the C++ library's own, missing from the one that is loaded
        r"(amp_C|apex\w*|fused_\w+|\w+_cuda|_ext)\.[\w.-]{2,60}: undefined symbol: (?P<symbol>_ZN?K?St\w+)",
        r"^(?!.*Could not load library).*symbol (?P<symbol>\w+),? version \S+ not defined in file \S+ with link time reference",
        r"ValueError: (?P<library>lib(cu|nv|nccl)\w*)\.so\S* not found in the system path",  # torch's search for wheels
        r"(GLIBC|GLIBCXX|CXXABI)_[\d.]+. not found \(required by \S*(torch|libc10|flash_attn|_cuda\.)",
        Symptom(
            r"lib(?:stdc\+\+|c)\.so\.6: version \W?(GLIBC|GLIBCXX|CXXABI)_[\d.]+\W? not found\W{0,3}$",
            near=r"\bimport torch\b",
        ),
        r"libtorch\S*: cannot allocate memory in static TLS block",
        # by its name alone it is the limit on addresses, resource-limit
        r"/libtorch\S*: failed to map segment from shared object(?!: Cannot allocate memory)",
        r"Failed to load PyTorch C extensions:",
        r"OSError: \[WinError (?!1455)\d+\].{0,120} Error loading .{0,160}torch.{0,80}\.dll\W",
        Symptom(
            r"DLL load failed while importing (_C|_ext|torch_\w+|\w+_cuda|flash_attn\w*): (?!The paging file)",
            unless=r"torchvision[/\\]",
        ),
        # torch's own libraries, in the words of Windows alone
        Symptom(r"OSError: \[WinError \d+\](?!.{0,300} Error loading )", near=LOADS),
        Symptom(r"DLL load failed(?! while importing [a-z])", near=LOADS, unless=r"torchvision[/\\]"),
        r"ImportError: dlopen\(\S*torch/\S*, \w+\): (Library not loaded|Symbol not found)",  # macOS
        r"(ImportError|OSError): \S*/torch/\S+: cannot (enable executable stack|allocate memory in static TLS block)",
        r"No module named \'torch\._C\'(?!; )|cannot import name \'\w+\' from (partially initialized module )?\'torch\._C\'",
        r"libcudart functions unavailable\. It looks like you have a broken build",
        Symptom(
            r"partially initialized module 'torch' has no attribute '(?P<name>\w+)'",
            near=r"(site|dist)-packages[/\\]torch[/\\][^\n]{0,200}\n([^\n]{0,300}\n){1,2}[^\n]{0,60}AttributeError: partially init",
        ),
        # two copies of OpenMP, which end the process while torch is imported
        r"OMP: Error #15: Initializing (?P<second>\S+), but found (?P<first>\S+) already initialized",
        r"MKL_THREADING_LAYER=\w+ is incompatible with (?P<first>\S+) library",
        # PyTorch Geometric's, which compare themselves
        r"Detected that PyTorch and (?P<extension>torch_\w+) were compiled with different CUDA versions",
        # a library of CUDA's that met another release of its own
        r"(?:ImportError|OSError): \S{0,200}?\b(?:lib(?:cu(?:blas|dnn|sparse|solver|fft|rand)|nv|nccl|torch(?!audio|text|vision)|c10|caffe2)\w*)\.so[\d.]*: undefined symbol: (?P<symbol>\w+)",
        # an extension, whatever it misses
        r"ImportError: (?!\S*torch(?:vision|audio[/\\]))(?=\S*(?:[Tt]orch|_ext[/.]|cuda|CUDA))\S{4,300}\.so[\d.]*: undefined symbol: (?P<symbol>\w+)",
        # the end alone: torch asks for a newer C++ library more often than others
        Symptom(
            r"lib(?:stdc\+\+|c)\.so\.6: version \W?(GLIBC|GLIBCXX|CXXABI)_[\d.]+\W? not found\W{0,3}$",
            unless=rf"{A_FRAME}|^\s*(?:import|from) ",
        ),
        Symptom(r"OSError: \[WinError 193\] %1 is not a valid Win32 application\W{0,3}$", unless=A_FRAME),
        Symptom(r"NameError: name '_C' is not defined", near=r"torch[/\\]__init__\.py|import torch\b"),
        Symptom(r"NameError: name '_C' is not defined", unless=A_FRAME),
        Symptom(
            r"ImportError: (?P<library>lib[\w.+-]{2,60}?)\.so[\d.]*: cannot open shared object file",
            near=r"from torch\._C import|torch[/\\]__init__\.py\", line \d+, in (?:<module>|_load_global_deps)",
        ),
    ],
    follows=["torch-shadowed"],
    message="torch, or an extension of it, does not load[: <library> cannot be opened]"
    "[: no library that was loaded has the symbol <symbol>][: another OpenMP, <first>, came first]"
    "[: <extension> was compiled for another CUDA]",
    fixes=[
        Fix(
            "See whether variables of the linker are at fault",
            "env -u LD_LIBRARY_PATH -u LD_PRELOAD python -c 'import torch'",
        ),
        Fix(
            "Install torch again, with the libraries it was built for",
            "python -m pip install --force-reinstall torch torchvision",
        ),
        Fix("For iJIT_NotifyEvent, in conda: an MKL that still has it", "conda install 'mkl<2024.1'"),
        Fix(
            "For an extension, or a symbol of c10, at or torch: build that extension again, for this torch",
            "python -m pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary=PACKAGE PACKAGE",
        ),
        Fix(
            "For two copies of OpenMP: start from a clean environment, so that one is left",
            "python -m venv .venv-clean && .venv-clean/bin/python -m pip install torch torchvision",
        ),
        Fix("Or, in conda, leave MKL's out", "conda install nomkl"),
        Fix(
            "Where MKL_THREADING_LAYER is what does not fit: let MKL use the OpenMP that is loaded",
            "export MKL_THREADING_LAYER=GNU",
        ),
        Fix(
            "Let two copies of OpenMP run side by side: Intel warns of crashes and wrong results",
            "export KMP_DUPLICATE_LIB_OK=TRUE",
            Kind.MITIGATION,
        ),
    ],
)

# A file of the user's own in the place of a module: torch-shadowed.
INSTALLED = r"[/\\](?:lib(?:64)?[/\\]python\d|Lib[/\\]|(?:site|dist)-packages)"
HIDDEN = re.compile(
    rf"cannot import name '\w+' from [^()]{{0,120}}(?:\(most likely [^()]*\) )?\((?![^()]*{INSTALLED})[^()]+\.py\)"
    r"|^module 'numpy' has no attribute 'ndarray'"
)
LOST = re.compile(r"^module '(\w+)' has no attribute")
FRAME = re.compile(rf'File "(?![^"\n]*{INSTALLED})[^"\n]*[/\\](\w+)\.py", line')
MISSING = re.compile(
    r"(?P<library>lib(?P<stem>[A-Za-z0-9]+)[\w.+-]*): (cannot open shared object|file too short|invalid ELF)"
)
SYMBOL = re.compile(r"undefined symbol: (?P<symbol>\w+)|symbol (?P<versioned>\w+),? version \S+ not defined")
# NVIDIA's wheels have the names of the libraries they bring, but for these (RECORD files of the wheels for CUDA 12).
WHEELS = {
    "cublasLt": "cublas",
    "cudart": "cuda-runtime",
    "cupti": "cuda-cupti",
    "nvrtc": "cuda-nvrtc",
    "nvToolsExt": "nvtx",
}


@check.environment
def environment(
    torch: Torch,
    python: Python | None,
    distributions: Distributions | None,
    launch: Launch | None,
    storage: Storage | None,
) -> Iterator[Finding]:
    """`import torch` raised something, died, or did not come back."""
    if torch.imported:
        yield from _over_another(torch, python, distributions)
    if torch.named:
        raise CannotTell("torch is only named: whether it can be imported is not known")
    if torch.imported or _missing(torch) or _hidden(torch):
        return
    if torch.error is not None and "TORCH_DISTRIBUTED_DEBUG must be" in torch.error.message:
        return  # nccl-variable-unknown: nothing of torch is broken
    if torch.error is None and "SIGABRT" in (torch.interrupted or "") and _allocator(launch):
        return  # alloc-conf: torch ends where it cannot read that variable (c10/core/AllocatorConfig.h)
    if torch.imported is None and not (torch.interrupted and torch.stage == "import torch"):
        raise CannotTell("whether torch can be imported is not known")
    patient = python or Python()
    folder = storage.of("working folder") if storage is not None else None
    if folder is not None and folder.error_code == errno.ENOENT:
        yield _without_folder(folder, torch)
        return
    if torch.error is None:
        message = f"import torch did not finish: {torch.interrupted}"
        fixes: list[Fix] = []
        evidence: list[Evidence] = []
    else:
        last = (torch.error.message.strip().splitlines() or [""])[-1]
        message = f"import torch raises {torch.error.type}: {last}"
        evidence = [Evidence(line.strip()) for line in torch.error.traceback.strip().splitlines()[-3:]]
        why, fixes = _reason(torch.error.message, patient, distributions)
        message = f"{message}: {why}" if why else message
    variables = launch.variables if launch else {}
    linker = [name for name in ("LD_LIBRARY_PATH", "LD_PRELOAD") if variables.get(name)]
    if linker:
        evidence += [Evidence(f"{name}={variables[name]}", "environment") for name in linker]
        without = (
            f"env {' '.join(f'-u {name}' for name in linker)} {shlex.quote(patient.executable or 'python')}"
        )
        fixes.insert(0, Fix(f"See whether {' or '.join(linker)} is at fault", f"{without} -c 'import torch'"))
    again = patient.install_command("torch", distributions, reinstall=True)
    fixes.append(Fix("Install torch again, with the libraries it was built for", again))
    yield check.found(message, evidence=evidence, fixes=fixes)


def _over_another(
    torch: Torch, python: Python | None, distributions: Distributions | None
) -> Iterator[Finding]:
    """Find a torch beside the metadata of another one: an installation over one that was not taken away whole."""
    named = distributions.named("torch") if distributions is not None else []
    if not named or not torch.version or not all(one.location for one in named):
        return
    first = named[0]
    beside = [one for one in named[1:] if one.location == first.location and one.version != first.version]
    other = torch.version.partition("+")[0] != first.version.partition("+")[0]
    if not beside and not other:
        return
    listed_versions = joined([one.version for one in [first, *beside]])
    message = (
        f"torch is {torch.version}, and its folder {first.location} has the metadata of {listed_versions}: an installation over "
        "another one, whose files and NVIDIA wheels may be mixed, and pip installs for the wrong one"
    )
    patient = python or Python()
    away = f"{shlex.quote(patient.executable or 'python')} -m pip uninstall torch"
    fixes = [
        Fix("Take it away, again and again until pip says that it is not installed", away),
        Fix("Then install it again", patient.install_command("torch", distributions, reinstall=True)),
    ]
    yield check.found(message, severity=Severity.WARNING, fixes=fixes)


def _without_folder(folder: Folder, torch: Torch) -> Finding:
    """Blame the working folder, which was deleted: run with torch 2.15, MKL then ends the process."""
    said = torch.error.message.strip() if torch.error else torch.interrupted or "it did not come back"
    message = (
        f'the working folder {folder.path} does not exist any more, and `import torch` fails for that (MKL: "Cannot load '
        f'... libtorch_cpu.so"; here: {said.splitlines()[-1]})'
    )
    return check.found(message, fixes=[Fix("Go into a folder that is there, and start again")])


def _allocator(launch: Launch | None) -> bool:
    """Return whether the allocator's variable is no list of NAME:VALUE, which ends the import."""
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
    values = [launch.variables.get(name, "") for name in names] if launch is not None else []
    return any(":" not in part for value in values if value for part in value.split(","))


def _missing(torch: Torch) -> bool:
    """Return whether there is no torch at all, which is the failure torch-missing."""
    words = torch.error.message.replace('"', "'") if torch.error else "No module named 'torch'"
    return (
        torch.imported is False
        and torch.file is None
        and words in ("No module named 'torch'", "No module named torch")
    )


def _hidden(torch: Torch) -> bool:
    """Return whether a file of the user's own hides a module, which is the failure torch-shadowed."""
    if torch.error is None:
        return False
    message, names = torch.error.message, {*FRAME.findall(torch.error.traceback)}
    names |= {*LOST.findall(message)}
    return HIDDEN.search(message) is not None or bool(names & sys.stdlib_module_names)


def _reason(text: str, patient: Python, distributions: Distributions | None) -> tuple[str, list[Fix]]:
    """Say what an error message means, and what repairs just that."""
    symbol = SYMBOL.search(text)
    name = (symbol["symbol"] or symbol["versioned"]) if symbol else ""
    if name.startswith("iJIT"):
        command = patient.install_command("'mkl<2024.1'", distributions)
        if patient.environment == "conda environment":
            command = "conda install 'mkl<2024.1'"
        return "torch was linked with an older MKL", [
            Fix("Install an MKL that still has the symbol", command)
        ]
    if name.startswith(("nccl", "__nvJitLink")):
        library = "NCCL" if name.startswith("nccl") else "nvJitLink"
        return f"a {library} of another version than torch was built for is loaded first", []
    if symbol:
        return "libraries of different versions are mixed", []
    missing = MISSING.search(text)
    if missing is None:
        return "", []
    library = missing["library"]
    if missing["stem"].startswith(("cu", "nv", "nccl")):
        wheel = _wheel(missing["stem"], distributions)
        return f"{library} comes with the wheel {wheel}, which is missing or damaged", []
    if missing["stem"].startswith(("torch", "c10", "shm")):
        return f"{library} is torch's own, so the installation is incomplete", []
    system = Fix(f"Install the package of the operating system that brings {library}", kind=Kind.ADMIN)
    return f"{library} belongs to the operating system, not to torch", [system]


def _wheel(stem: str, distributions: Distributions | None) -> str:
    """Name NVIDIA's wheel that brings a library, with the CUDA version of the other wheels that are installed."""
    names = [d.name for d in distributions.installed if d.name.startswith("nvidia-")] if distributions else []
    tag = next((m[0] for name in names if (m := re.search(r"-cu\d+$", name))), "")
    return f"nvidia-{WHEELS.get(stem, stem.lower())}{tag}"
