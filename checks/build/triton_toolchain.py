"""torch.compile or Triton cannot compile here, or not load what it compiled.

## What happens

The first step fails, not the start: "Failed to find C compiler. Please specify via CC environment variable", "fatal
error: Python.h: No such file or directory", "InvalidCxxCompiler: No working C++ compiler found", "/usr/bin/ld: cannot
find -lcuda", "Cannot find a working triton installation", or "failed to map segment from shared object".

## Why

Triton compiles a small C program for each kernel, and torch.compile on the CPU C++ code, on the machine that trains:

| message | what is missing there |
| --- | --- |
| Failed to find C compiler | gcc or clang; slim images and compute nodes have none |
| FileNotFoundError in Triton's build.py | the program that CC names: Triton asks for no other one then |
| Python.h: No such file | the headers of this very Python (`python3.11-dev` for the system's 3.11) |
| No working C++ compiler found | g++; or the program that CXX names, which the message names: torch tries no other one then |
| cannot find -lcuda, libcuda.so cannot found | the driver's library under the name that the linker looks for |
| Cannot find a working triton installation | Triton, which torch's CPU and Windows wheels do not bring |
| failed to map segment from shared object | the right to run what lies there: the folder's file system is mounted `noexec` |

What they compile is a library, and it is loaded from where it was put: torch.compile's from /tmp/torchinductor_USER or
TORCHINDUCTOR_CACHE_DIR, Triton's from ~/.triton or TRITON_CACHE_DIR, an extension's from ~/.cache/torch_extensions or
TORCH_EXTENSIONS_DIR. Hardened machines mount /tmp `noexec`.

## How to tell

`which gcc g++; python -c "import sysconfig; print(sysconfig.get_paths()['include'])"`: that folder must hold `Python.h`.
`ldconfig -p | grep libcuda` shows the driver's library. It works on the login node and not on the compute node where
the packages differ. `grep noexec /proc/self/mountinfo` shows what is mounted so.

## See also

- [torch.compile: troubleshooting](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html): how to leave a part out of it
- [ml-cross-entropy 5](https://github.com/apple/ml-cross-entropy/issues/5): Triton needs a compiler
- [pytorch#91005](https://github.com/pytorch/pytorch/issues/91005): a /tmp that is mounted noexec
- [Triton's build.py](https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py): CC and CXX name the compiler
"""

import errno
import shlex
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Distributions, Folder, Gpus, Python, Storage, Torch

EXECUTABLE = Fix(
    "Put compiled kernels on a file system from which libraries may be loaded",
    "export TMPDIR=/DISK/tmp TRITON_CACHE_DIR=/DISK/triton TORCHINDUCTOR_CACHE_DIR=/DISK/inductor; mkdir -p $TMPDIR",
    filled=(),
)
MOVED = Fix(
    "Where <mapped> cannot be loaded: put compiled kernels on a file system from which libraries may be",
    EXECUTABLE.command,
    filled=(),
)
SEE_MOUNT = Fix("See what is mounted noexec", "grep noexec /proc/self/mountinfo")
REMOUNT = Fix("Or let libraries be loaded from it", "sudo mount -o remount,exec MOUNT", Kind.ADMIN)

UNSET = Fix("Let Triton look for gcc or clang itself", "unset CC")
UNSET_CXX = Fix("Let torch take g++ itself", "unset CXX")
ANOTHER = Fix(
    "Name folders on a file system of this node to which you may write",
    "export TRITON_CACHE_DIR=/DISK/triton TORCHINDUCTOR_CACHE_DIR=/DISK/inductor TORCH_EXTENSIONS_DIR=/DISK/extensions",
    filled=(),
)

CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")

# What torch tries where CXX is not set is `g++`, on a Mac `clang++` (torch/_inductor/config.py).
NAMED = r"(?!(?:clang\+\+|g\+\+)')[^'\n]{1,200}"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning for a folder or a compiler that a variable names, else a note in the environment: who never compiles does not "
    "miss it",
    symptoms=[
        r"Failed to find (?P<compiler>C(?:\+\+)? compiler)\. Please specify via",
        r"error: (?P<header>Python\.h): No such file",
        r"fatal error: '(?P<header>Python\.h)' file not found",
        r"(?:Cannot open include|error: include) file:? '(?P<header>Python\.h)'",
        rf"No working C\+\+ compiler found in \S+: \((?:None, )?'(?P<cxx>{NAMED})'\)",
        rf"No working (?P<compiler>C\+\+ compiler) found in (?!\S+: \((?:None, )?'{NAMED}')",
        Symptom(
            r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<cc>[^'\n]{1,200})'",
            near=r"[/\\]triton[/\\]runtime[/\\]build\.py\"?, line \d+, in _build\b",
        ),
        r"RuntimeError: Compiler: (?P<compiler>\S{1,200}) is not found\.",
        r"CppCompileError: C\+\+ compile error",
        r"Cannot find a working (?P<library>triton) installation",
        r"(?P<library>libcuda\.so) cannot found!",
        Symptom(
            r"cannot find -l(?P<library>cuda)\b",
            near=r"[/\\](?:triton|_inductor)[/\\]|cuda_utils\.c|tmp\w+/main\.c",
        ),
        r"(?:ImportError|OSError): (?P<mapped>/(?!\S*/libtorch)\S{1,250}\.so): failed to map segment from shared object(?!: Cannot allocate memory)",
        r"(?:tmp\w+/main|cuda_utils|__triton_launcher)\.c:\d+:\d+: fatal error: (?P<header>cuda\.h): No such file",
        r"CalledProcessError: Command '\['(?P<failed>\S{0,100}(?:g\+\+|clang\+\+|gcc|cc|clang))', '\S{0,200}torchinductor",
        r"CalledProcessError: Command '\['(?P<failed>\S{0,100}(?:gcc|cc|clang)(?:\.exe)?)', '\S{0,200}(?:main|cuda_utils|__triton_launcher)\.c'",
        r"Error: no (?P<triton>working Triton) found",
        r"Error: .{0,100}(?:needs|requires) (?P<triton>Triton), which is not (?:installed|available)",
        r"DLL load failed while importing libtriton\b",
        r"cannot import name '\w+' from 'triton(?:\.\w+)*'",
    ],
    message="kernels cannot be compiled on this machine[: CXX names <cxx>, which does not run here][: CC names <cc>, and there is "
    "no such program][: <compiler> is not there][: <triton> is not there][: <header> is not there][: <library> is not "
    "found][: <failed> failed][: <mapped> cannot be loaded, its file system is mounted noexec]",
    fixes=[
        MOVED,
        Fix("Let torch take g++ itself: <cxx> comes from CXX", "unset CXX", proof="unset CXX"),
        Fix("Let Triton look for gcc or clang itself: <cc> comes from CC", "unset CC"),
        Fix(
            "Without root: install compilers into the conda environment, and name them",
            "conda install -c conda-forge gcc gxx && export CC=$(which gcc) CXX=$(which g++)",
        ),
        Fix(
            "For Python.h: use a Python that brings its headers, such as uv's or conda's",
            "uv venv --managed-python .venv && uv pip install torch",
        ),
        Fix("On a cluster: load a compiler in the job, too", "module load gcc"),
        Fix("For Triton: install it", "python -m pip install --upgrade triton"),
        Fix(
            "For -lcuda: name the folder of the driver's library, in which ldconfig made the link libcuda.so",
            "export TRITON_LIBCUDA_PATH=FOLDER LIBRARY_PATH=FOLDER:$LIBRARY_PATH",
        ),
        Fix(
            "Install compiler and headers (on Debian and Ubuntu), in the image or on the node",
            "sudo apt install build-essential python3-dev",
            Kind.ADMIN,
        ),
        Fix(
            "Do without torch.compile, which costs its speed",
            "export TORCH_COMPILE_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
)


@check.environment
def environment(
    torch: Torch,
    python: Python,
    distributions: Distributions | None,
    storage: Storage | None,
    gpus: Gpus | None,
) -> Iterator[Finding]:
    """Nothing can be compiled here, or not loaded; who never compiles does not miss it."""
    if not torch.imported:
        return
    yield from _folders(storage or Storage())
    if python.cxx_found is False:
        yield _named("CXX", python.cxx, "torch.compile fails on the CPU, and so do extensions", UNSET_CXX)
    if not (torch.cuda_available or (torch.cuda and gpus and gpus.read)) or torch.hip:
        if python.compiler_found is False:
            yield _named(
                "CC",
                python.compiler or "",
                "what is compiled here, such as an extension, fails",
                UNSET,
                note=True,
            )
        return  # Triton compiles for GPUs
    if python.compiler is None:
        raise CannotTell("whether there is a C compiler is not known")
    if distributions is not None and distributions.get("triton") is None:
        return
    if python.compiler == "":
        yield check.found(
            "no C compiler is here (gcc, clang, cc): torch.compile and Triton's kernels fail at their first use",
            severity=Severity.NOTE,
        )
    elif python.compiler_found is False:
        yield _named(
            "CC", python.compiler, "torch.compile and Triton's kernels fail at their first use", UNSET
        )
    elif python.headers is False:
        yield check.found(
            f"Python.h of this Python ({python.version}) is not installed: torch.compile and Triton's kernels fail at their "
            "first use",
            severity=Severity.NOTE,
        )


def _named(variable: str, value: str, fails: str, fix: Fix, *, note: bool = False) -> Finding:
    """Describe a variable that names no compiler."""
    who = "Triton takes" if variable == "CC" else "torch takes"
    why = f"{who} all of it for the name of one program" if " " in value else "there is no such program"
    severity = Severity.NOTE if note or (variable == "CXX" and " " in value) else Severity.WARNING
    return check.found(f"{variable} is {value}, and {why}: {fails}", severity=severity, fixes=[fix])


def _folders(storage: Storage) -> Iterator[Finding]:
    """Yield where compiled kernels land, and cannot be kept or loaded from."""
    for folder in storage.folders:
        if folder.variable in CACHES and (why := _closed(folder)):
            message = f"{folder.variable} is {folder.path}, and {why}: what is compiled cannot be kept there, and the first step fails"
            yield check.found(
                message,
                severity=Severity.WARNING,
                fixes=[
                    ANOTHER,
                    Fix("Or let it choose one below your home or /tmp", f"unset {folder.variable}"),
                ],
            )
            continue
        named = folder.variable if folder.variable in (*CACHES, "TMPDIR") else ""
        if folder.no_exec and (named or folder.use in ("temporary files", "home")):
            yield _not_executable(folder, named)


def _closed(folder: Folder) -> str:
    """Say why nothing can be written to a folder; empty where it can, or that is not known."""
    if folder.error_code == errno.ENOTDIR:
        return "a part of this path is a file"
    if folder.makeable is False:
        return "it is not there and cannot be made"
    if folder.error_code is not None:
        return ""
    if folder.read_only:
        return f"{folder.mount} is mounted read-only"
    return "this process may not write there" if folder.writable is False else ""


def _not_executable(folder: Folder, named: str) -> Finding:
    where = f"{named}={folder.path}" if named else folder.path
    message = (
        f"{where} lies on {folder.mount} ({folder.kind}), which is mounted noexec: what torch.compile, Triton and "
        'extensions compile there cannot be loaded, "failed to map segment from shared object"'
    )
    admin = Fix(REMOUNT.summary, REMOUNT.command.replace("MOUNT", shlex.quote(folder.mount)), Kind.ADMIN)
    severity = Severity.WARNING if named else Severity.NOTE
    return check.found(message, severity=severity, fixes=[EXECUTABLE, SEE_MOUNT, admin])
