"""extension-build: seen in logs, and in what would compile here."""

import pytest
from msgspec.structs import replace

from gpudoctor.facts import Distribution, Distributions, Toolkit, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "an extension could not be compiled here"
EXAMPLES = {
    "RuntimeError: Not compiled with GPU support": "an extension could not be compiled here: the one that is installed says 'Not compiled with GPU support'",
    "RuntimeError: The current installed version of x86_64-linux-gnu-g++ (14.2.0) is greater than the maximum required version by CUDA 12.4. Please make sure to use an adequate version": (
        "an extension could not be compiled here: x86_64-linux-gnu-g++ 14.2.0 does not suit CUDA 12.4"
    ),
    "OSError: ROCM_HOME environment variable is not set. Please set it to your ROCm install root.": (
        "an extension could not be compiled here: ROCM_HOME is missing"
    ),
    "RuntimeError: MSVC is required to load C++ extensions": (
        "an extension could not be compiled here: MSVC is missing"
    ),
    "ImportError: /tmp/torch_extensions/py311_cu121/fused_lion/fused_lion.so: cannot open shared object file: No such file or directory": MESSAGE
    + ": fused_lion",
    "error: command '/opt/cuda-11/bin/nvcc' failed: No such file or directory": "an extension could not be compiled here: nvcc is missing",
    "~/env/site-packages/torch/utils/cpp_extension.py in _run_ninja_build(folder, verbose, prefix)": "an extension could not be compiled here",
    "RuntimeError: apex was requested, but nvcc was not found.": "an extension could not be compiled here: nvcc is missing",
    "ninja: build stopped: subcommand failed.": MESSAGE,
    'utils.cu(29): error: identifier "sqrt<int, (int)0> " is undefined in device code': "an extension could not be compiled here",
    'error: Microsoft Visual C++ 14.0 or greater is required. Get it with "Microsoft C++ Build Tools"': "an extension could not be compiled here: Microsoft Visual C++ is missing",
    "subprocess.CalledProcessError: Command '['where', 'cl']' returned non-zero exit status 1.": "an extension could not be compiled here: cl is missing",
    '2 errors detected in the compilation of "/tmp/tmpxft_000015ae_00000000-7_psa_cuda.cpp1.ii".': MESSAGE,
    "error: command '/usr/local/cuda/bin/nvcc' failed with exit status 2": MESSAGE,
    "FAILED: multi_tensor.cuda.o ": MESSAGE,
    "error: command 'x86_64-linux-gnu-g++' failed with exit code 1": MESSAGE,
    "cc1plus: fatal error: cuda_runtime.h: No such file or directory": MESSAGE
    + ": cuda_runtime.h is missing",
    "RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)": MESSAGE
    + ": Ninja is missing",
    "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.": (
        MESSAGE + ": CUDA_HOME is missing"
    ),
    "op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)": (
        MESSAGE + ": CUDA_HOME is missing"
    ),
    "RuntimeError: CUDA was not found on the system, please set the CUDA_HOME or the CUDA_PATH": (
        MESSAGE + ": CUDA is missing"
    ),
    "FileNotFoundError: nvcc not found at '/opt/cuda/bin/nvcc'. Ensure CUDA path '/opt/cuda' is correct.": (
        MESSAGE + ": nvcc is missing"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'": MESSAGE
    + ": nvcc is missing",
    "/bin/sh: 1: nvcc: not found": MESSAGE + ": nvcc is missing",
    "RuntimeError: Error building extension 'fused_adam': [1/3] nvcc ...": MESSAGE + ": fused_adam",
    "RuntimeError: Error compiling objects for extension": MESSAGE,
    "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.": MESSAGE,
    "RuntimeError: Unable to JIT load the fp_quantizer op due to it not being compatible due to hardware/software issue. None": (
        MESSAGE + ": fp_quantizer"
    ),
    "/usr/bin/ld: cannot find -lcudart: No such file or directory": (
        MESSAGE + ": the linker does not find the library cudart"
    ),
    "/usr/local/cuda/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported! The nvcc flag": (
        MESSAGE + ": nvcc takes no gcc newer than 12"
    ),
    "  ERROR: Failed building wheel for flash-attn": MESSAGE + ": flash-attn",
    "RuntimeError: FlashAttention is only supported on CUDA 11.7 and above.": MESSAGE
    + ": it needs CUDA 11.7 or later",
    "RuntimeError: Unable to run /opt/cuda/bin/nvcc, unable to compile CUDA op(s): denied": (
        "an extension could not be compiled here: nvcc is missing"
    ),
    "RuntimeError: Cannot find `nvcc`, which the build needs.": (
        "an extension could not be compiled here: nvcc is missing"
    ),
    "x86_64-linux-gnu-g++: error: unrecognized command line option '-std=c++20'": "an extension could not be compiled here",
    "AssertionError: Unable to pre-compile sparse_attn": "an extension could not be compiled here: sparse_attn",
    "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'": "an extension could not be compiled here",
    "  Building wheel for fused-kernels (pyproject.toml) ... error": "an extension could not be compiled here: fused-kernels",
}
NOT_THIS = [
    "ninja: no work to do.",
    'utils.cu(29): warning #177-D: variable "x" was declared but never referenced',
    'cupy.cuda.compiler.CompileException: /tmp/tmp1/kern.cu(3): error: identifier "a" is undefined\n\n1 error detected in the compilation of "/tmp/tmp1/kern.cu".',
    "/tmp/tmp_itxw3hv/main.c:1:10: fatal error: cuda.h: No such file or directory",
    "Building extension module fused_adam...",
    "ninja: no work to do.",
    "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
]


def look(toolkit, *names, torch=None):
    installed = Distributions(installed=[Distribution(name=name, version="1.0") for name in names])
    torch = torch or Torch(imported=True, version="2.6.0", cuda="12.4")
    facts = {"torch": torch, "distributions": installed, "toolkit": toolkit}
    return examine(
        Registry().check("extension-build"),
        Source.ENVIRONMENT,
        Snapshot({k: v for k, v in facts.items() if v}),
    )


READY = Toolkit(home="/opt/cuda", nvcc=True, version="12.6.1", ninja=True, cxx="c++", cxx_found=True)
BARE = Toolkit(nvcc=False, ninja=False, ninja_installed=True, cxx="c++", cxx_found=False)


def test_a_variable_that_names_no_toolkit():
    wrong = Toolkit(home="/opt/gone", variable="CUDA_HOME", nvcc=False, ninja=True, cxx_found=True)
    _, [finding] = look(wrong, "deepspeed")
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("CUDA_HOME=/opt/gone, and there is no bin/nvcc in it")
    assert finding.fixes[0].command == "unset CUDA_HOME"
    assert look(wrong)[1][0].severity is Severity.NOTE


def test_a_toolkit_of_another_cuda():
    _, [finding] = look(replace(READY, version="11.8.0"))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(
        "nvcc in /opt/cuda is of CUDA 11.8.0, and torch was built with CUDA 12.4"
    )


def test_what_is_missing_beside_something_that_compiles():
    _, [toolkit, ninja, compiler] = look(BARE, "deepspeed")
    assert toolkit.message.startswith("deepspeed is installed, and there is no CUDA toolkit")
    assert "although its package is installed" in ninja.message
    assert compiler.message.startswith("there is no C++ compiler (c++)")
    assert {f.severity for f in (toolkit, ninja, compiler)} == {Severity.NOTE}


@pytest.mark.parametrize(
    ("toolkit", "names", "torch"),
    [
        (READY, ["deepspeed"], None),
        (BARE, ["transformers"], None),  # who never compiles does not miss it
        (BARE, ["deepspeed"], Torch(imported=True, version="2.6.0+cpu")),
    ],
)
def test_passes(toolkit, names, torch):
    assert look(toolkit, *names, torch=torch)[0].status is CheckStatus.PASSED


def test_unknown():
    assert look(None)[0].status is CheckStatus.UNKNOWN
