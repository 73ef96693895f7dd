"""An extension could not be compiled on this machine.

## What happens

A program compiles C++ or CUDA code as it starts (DeepSpeed's FusedAdam, a custom operator), or pip compiles a package
(flash-attn, apex, mmcv), and it ends with "Error building extension 'fused_adam'", "Ninja is required to load C++
extensions", "CUDA_HOME environment variable is not set" or "Failed building wheel for flash-attn".

## Why

| message | what is missing |
| --- | --- |
| Ninja is required | the program `ninja`, or the environment's `bin` folder is not on PATH |
| CUDA_HOME is not set, CUDA was not found, nvcc: not found | the CUDA toolkit; torch's wheel brings libraries, no compiler |
| cannot find -lcudart, -lcublas … | the toolkit's libraries; -lcuda: the driver's, on a node without a GPU |
| unsupported GNU version | a gcc that is newer than this nvcc knows |
| No module named 'torch' while pip builds | pip's empty build environment: `--no-build-isolation` |
| Killed, signal 9, in the middle | too little memory for as many compilers at once: `MAX_JOBS=4` |

"Error building extension" and "ninja: build stopped" are the end: the first line with "error:" above them is the reason.

## How to tell

`which ninja nvcc g++; nvcc --version; python -c "import torch; print(torch.version.cuda)"`: nvcc's version and torch's
should begin with the same number. Compile where a CUDA toolkit is, then run elsewhere: the result is kept in
`~/.cache/torch_extensions`.

## See also

- [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html): CUDA_HOME, MAX_JOBS, ninja
- [DeepSpeed: installation](https://www.deepspeed.ai/tutorials/advanced-install/): operators that are compiled before
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Distributions, Python, Toolkit, Torch

COMPILES = ("deepspeed", "apex", "flash-attn", "transformer-engine", "vllm")
"""What compiles on the machine that trains, or is mostly installed by compiling it there."""
MODULES = Fix(
    "On a cluster: load the CUDA toolkit that fits torch.version.cuda, and a gcc that it knows",
    "module avail cuda gcc",
)
FROM_CONDA = Fix(
    "Elsewhere: install nvcc into a conda environment, here for CUDA 13.0",
    "conda install -c conda-forge cuda-nvcc=13.0 cuda-cudart-dev=13.0 && export CUDA_HOME=$CONDA_PREFIX",
)
ACTIVATE = Fix(
    "Activate the environment that trains, so that its programs are on PATH: this shows which they are",
    "which python ninja",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note in the environment, where something that compiles is installed, and a warning where a variable names no "
    "toolkit: who never compiles does not miss it",
    symptoms=[
        r"(?P<ninja>Ninja) is required to load C\+\+ exten[st]ions",
        r"(?P<toolkit>CUDA_HOME) (?:environment variable is not set|does not exist, unable to compile)",
        r"(?P<toolkit>CUDA) was not found on the system, please set the CUDA_HOME",
        r"(?P<toolkit>nvcc) not found at '",
        r"No such file or directory: '[^']{0,200}/(?P<toolkit>nvcc)'",
        r"\b(?P<toolkit>nvcc): (?:command )?not found",
        r"error: command '[^'\n]{0,300}\b(?P<toolkit>nvcc)(?:\.exe)?' failed: No such file",
        r"was requested, but (?P<toolkit>nvcc) was not found",  # setup.py of apex and its kin
        r"ninja: build stopped: subcommand failed",
        r"Error building extension '(?P<extension>[\w.-]+)'",
        r"Error compiling objects for extension",
        Symptom(
            r"\.cuh?\(\d+\): (?:catastrophic )?error(?: #[\w-]+)?: ",  # nvcc
            unless=r"nvrtc|CompileException",
        ),
        r"error: (?P<missing>Microsoft Visual C\+\+) \d+\.\d+ (?:or greater )?is required",
        r"Command '\['where', '(?P<compiler>cl)'\]' returned non-zero exit status",
        Symptom(
            r"\d+ errors? detected in the compilation of ",
            unless=r"nvrtc|CompileException",  # a kernel that a program writes as it runs
        ),
        r"error: command '[^'\n]{0,200}\b(?:nvcc|g?cc|[gc]\+\+|cl)(?:-\d+|\.exe)?' failed with exit (?:status|code) \d+",
        r"\bcpp_extension\.py(?:\", line \d+,)? in _run_ninja_build\b",
        r"Command '\['ninja'.{0,60}\]' returned non-zero exit status",
        r"^FAILED: \S{1,200}\.o\b",  # ninja's, above the command of the compiler
        # built once, and gone; or a build that another process had begun
        r"torch_extensions/\S{1,200}/(?P<extension>[\w.-]+)\.so: cannot open shared object file",
        r"Unable to JIT load the (?P<extension>\w+) op due to ",
        Symptom(
            r"cannot find -l(?P<library>\w+)",
            unless=r"[/\\](?:triton|_inductor)[/\\]|cuda_utils\.c|tmp\w+/main\.c",
        ),
        r"fatal error: (?P<toolkit>(?:cuda_runtime|cuda_runtime_api|cublas_v2|cusparse|cusolverDn|cudnn|nccl|thrust/\w+)\.h): No such",
        r"installed version of (?P<found>\S{1,40}) \((?P<compiler_version>[\d.]+)\) is (?:less|greater) than the \w+ required version by CUDA (?P<cuda_version>\d+(?:\.\d+)*)",
        r"(?P<toolkit>ROCM_HOME) environment variable is not set",
        r"(?P<missing>MSVC) is required to load C\+\+ extensions",
        r"unsupported GNU version! gcc versions later than (?P<gcc>\d+) are not supported",
        r"Failed building wheel for (?P<package>[\w.-]+)",
        # built where no CUDA toolkit or GPU was seen: detectron2, mmcv, torchvision's kin
        r"Error: (?:\w+ is )?(?P<without>[Nn]ot compiled with (?:GPU|CUDA) support)",
        r"FlashAttention is only supported on CUDA (?P<cuda>[\d.]+) and above",
        r"Unable to run \S{1,300}/(?P<toolkit>nvcc), unable to compile CUDA op",
        r"Cannot find `?(?P<toolkit>nvcc)\b",
        r"(?:^|[\s/])(?:(?:[\w-]+-)?(?:g\+\+|gcc|clang(?:\+\+)?|cc1plus)(?:-\d+)?): (?:fatal )?error: unrecognized (?:command[- ]line )?option",
        r"Unable to pre-compile (?P<extension>\w+)",  # DeepSpeed's setup.py
        # an object of DeepSpeed's that failed while it was made, at its end
        r"'(?P<optimizer>DeepSpeedCPU\w+)' object has no attribute 'ds_opt_\w+'",
        r"Building wheel for (?P<package>[\w.-]+) \((?:setup\.py|pyproject\.toml)\) ?\.\.\. error",  # pip
    ],
    message="an extension could not be compiled here[: <extension>][: <package>][: <ninja> is missing][: <toolkit> is missing]"
    "[: <missing> is missing][: <compiler> is missing]"
    "[: the linker does not find the library <library>][: nvcc takes no gcc newer than <gcc>]"
    "[: <found> <compiler_version> does not suit CUDA <cuda_version>][: it needs CUDA <cuda> or later]"
    "[: the one that is installed says '<without>']",
    follows=[
        "cuda-library-conflict",
        "gpu-arch-unsupported",
        "torch-missing",
        "host-oom-killed",
        "disk-full",
    ],
    fixes=[
        Fix("Install <ninja> into the environment that trains", "python -m pip install ninja"),
        Fix(
            "For <toolkit>, on a cluster: load the CUDA toolkit that fits torch.version.cuda, and a gcc that it knows",
            "module avail cuda gcc",
        ),
        Fix(
            "For <toolkit>, elsewhere: install nvcc into a conda environment, here for CUDA 13.0",
            "conda install -c conda-forge cuda-nvcc=13.0 cuda-cudart-dev=13.0 && export CUDA_HOME=$CONDA_PREFIX",
        ),
        Fix("Load gcc <gcc> or an older one, or a newer CUDA toolkit", "module avail gcc cuda"),
        Fix(
            "Where -l<library> is -lcuda, on a node without a GPU: link against the toolkit's stub; it is not for running",
            "export LIBRARY_PATH=$CUDA_HOME/lib64/stubs:$LIBRARY_PATH",
        ),
        Fix(
            "Of a long output, read the first error: what follows it follows from it",
            "grep -n -m 5 -i 'error:' FILE",
        ),
        Fix(
            "Compile with as many jobs as the memory allows, in the environment's own torch",
            "MAX_JOBS=4 python -m pip install --no-build-isolation --no-cache-dir PACKAGE",
        ),
        Fix(
            "Where it says '<without>': build it once more where nvcc is; FORCE_CUDA=1 is for a machine without a GPU",
            "FORCE_CUDA=1 python -m pip install --force-reinstall --no-build-isolation --no-deps --no-cache-dir PACKAGE",
        ),
        Fix(
            "DeepSpeed: do without the operator that is compiled, which costs speed",
            "optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
            Kind.MITIGATION,
        ),
    ],
)


@check.environment
def environment(
    torch: Torch, toolkit: Toolkit, distributions: Distributions | None, python: Python | None
) -> Iterator[Finding]:
    """What compiles torch's extensions is missing or of another CUDA, beside something that is compiled here."""
    if not torch.imported or not torch.cuda or torch.hip:
        return
    needed = [name for name in COMPILES if distributions is not None and distributions.get(name) is not None]
    if toolkit.variable and toolkit.nvcc is False:
        message = (
            f"{toolkit.variable}={toolkit.home}, and there is no bin/nvcc in it: torch looks nowhere else, so what compiles CUDA "
            f"code here{_such_as(needed)} fails"
        )
        unset = Fix("Let torch look for nvcc itself", f"unset {toolkit.variable}")
        severity = Severity.WARNING if needed else Severity.NOTE
        yield check.found(message, severity=severity, fixes=[unset, MODULES, FROM_CONDA])
    elif _other_cuda(toolkit.version, torch.cuda):
        place = f"nvcc in {toolkit.home}" if toolkit.home else "nvcc"
        message = (
            f"{place} is of CUDA {toolkit.version}, and torch was built with CUDA {torch.cuda}: torch refuses to compile an "
            f"extension where the first numbers differ{_such_as(needed)}"
        )
        yield check.found(message, severity=Severity.NOTE, fixes=[MODULES, FROM_CONDA])
    elif needed and toolkit.nvcc is False:
        message = f"{needed[0]} is installed, and there is no CUDA toolkit (nvcc): an operator that it compiles here cannot be"
        yield check.found(message, severity=Severity.NOTE, fixes=[MODULES, FROM_CONDA])
    if needed and toolkit.ninja is False:
        install = (
            python.install_command("ninja", distributions)
            if python is not None
            else "python -m pip install ninja"
        )
        fix = (
            ACTIVATE
            if toolkit.ninja_installed
            else Fix("Install it into the environment that trains", install)
        )
        there = (
            ", although its package is installed: the environment's bin folder is not"
            if toolkit.ninja_installed
            else ""
        )
        message = f"the program ninja is not on PATH{there}: what {needed[0]} compiles as it starts cannot be"
        yield check.found(message, severity=Severity.NOTE, fixes=[fix])
    if needed and toolkit.cxx_found is False:
        message = f"there is no C++ compiler ({toolkit.cxx}): what {needed[0]} compiles cannot be"
        yield check.found(message, severity=Severity.NOTE, fixes=[MODULES])


def _such_as(needed: list[str]) -> str:
    return f", such as {needed[0]}" if needed else ""


def _other_cuda(toolkit: str, torch: str) -> bool:
    """Return whether the major versions differ, which is what torch asks (cpp_extension.py, _check_cuda_version)."""
    return bool(toolkit) and toolkit.partition(".")[0] != torch.partition(".")[0]
