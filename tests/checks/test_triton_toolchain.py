"""triton-toolchain: seen in logs."""

import pytest

from gpudoctor import explain
from gpudoctor.facts import Distribution, Distributions, Folder, Python, Storage, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("triton-toolchain")
MESSAGE = "kernels cannot be compiled on this machine"
EXAMPLES = {
    "tmp/cuda_utils.c:14: error: include file 'Python.h' not found": "kernels cannot be compiled on this machine: Python.h is not there",
    "ext.cpp(3): fatal error C1083: Cannot open include file: 'Python.h': No such file or directory": "kernels cannot be compiled on this machine: Python.h is not there",
    "ext.cpp:3:10: fatal error: 'Python.h' file not found": "kernels cannot be compiled on this machine: Python.h is not there",
    "subprocess.CalledProcessError: Command '['g++', '/tmp/torchinductor_me/mc/cmcj.cpp', '-D', 'TORCH_INDUCTOR_CPP_WRAPPER', '-o', '/tmp/x.so']' returned non-zero exit status 1.": (
        MESSAGE + ": g++ failed"
    ),
    ("/tmp/tmp_itxw3hv/main.c:1:10: fatal error: cuda.h: No such file or directory"): MESSAGE
    + ": cuda.h is not there",
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.": (
        MESSAGE + ": C compiler is not there"
    ),
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.": (
        MESSAGE + ": C compiler is not there"
    ),
    "C:/Temp/tmpq1/cuda_utils.c:14: error: include file 'Python.h' not found": MESSAGE
    + ": Python.h is not there",
    "subprocess.CalledProcessError: Command '['tcc.exe', 'cuda_utils.c', '-lcuda']' returned non-zero exit status 1.": MESSAGE
    + ": tcc.exe failed",
    "/tmp/tmpq1/main.c:3:10: fatal error: Python.h: No such file or directory": MESSAGE
    + ": Python.h is not there",
    "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')": (
        MESSAGE + ": C++ compiler is not there"
    ),
    "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, '/sw/gcc-13/bin/c++')": (
        MESSAGE + ": CXX names /sw/gcc-13/bin/c++, which does not run here"
    ),
    (
        '  File "/env/lib/python3.12/site-packages/triton/runtime/build.py", line 91, in _build\n'
        "    subprocess.check_call(cc_cmd, stdout=subprocess.DEVNULL)\n"
        "FileNotFoundError: [Errno 2] No such file or directory: 'icx'"
    ): MESSAGE + ": CC names icx, and there is no such program",
    "RuntimeError: Compiler: cl is not found.": MESSAGE + ": cl is not there",
    "torch._inductor.exc.InductorError: CppCompileError: C++ compile error": MESSAGE,
    "torch._inductor.exc.TritonMissing: Cannot find a working triton installation. Either the package is not installed or it is too old.": (
        MESSAGE + ": triton is not found"
    ),
    (
        "torch._inductor.exc.InductorError: OSError: /tmp/torchinductor_ana/pl/cpl.main.so: failed to map segment from shared "
        "object.  The most common reason this may occur is if the /tmp folder is mounted with noexec (e.g., by default Docker"
    ): (
        "kernels cannot be compiled on this machine: /tmp/torchinductor_ana/pl/cpl.main.so cannot be loaded, its file system is "
        "mounted noexec"
    ),
    "ImportError: /tmp/torchinductor_ana/ab/cabc.so: failed to map segment from shared object: Operation not permitted": (
        MESSAGE + ": /tmp/torchinductor_ana/ab/cabc.so cannot be loaded, its file system is mounted noexec"
    ),
    "AssertionError: libcuda.so cannot found!": MESSAGE + ": libcuda.so is not found",
    (
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
        '  File "/env/lib/python3.11/site-packages/triton/runtime/build.py", line 50, in _build'
    ): MESSAGE + ": cuda is not found",
    "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpq1/main.c', '-O3', '-shared', '-fPIC', '-lcuda']' returned non-zero exit status 1.": (
        MESSAGE + ": /usr/bin/gcc failed"
    ),
    "RuntimeError: no working Triton found": (
        "kernels cannot be compiled on this machine: working Triton is not there"
    ),
    "RuntimeError: the fused norm needs Triton, which is not installed here.": (
        "kernels cannot be compiled on this machine: Triton is not there"
    ),
    "ImportError: DLL load failed while importing libtriton: The specified module could not be found.": "kernels cannot be compiled on this machine",
    "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'": "kernels cannot be compiled on this machine",
}
NOT_THIS = [
    "A matching Triton is not available, some optimizations will not be enabled.",
    "RuntimeError: Ninja is required to load C++ extensions",
    "fatal error: cuda.h: No such file or directory",
    "FileNotFoundError: [Errno 2] No such file or directory: 'icx'",
]


@pytest.mark.parametrize(("tried", "first"), [("clang++-19", "unset CXX"), ("g++", "conda install")])
def test_a_variable_that_names_no_compiler_is_the_first_to_go(tried, first):
    text = f"InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, '{tried}')"
    [finding] = explain(text).findings
    assert finding.fixes[0].command.startswith(first)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


TORCH = Torch(imported=True, version="2.15.0", cuda="13.2", cuda_available=True)


@pytest.mark.parametrize(
    ("python", "says"),
    [
        (Python(compiler="", headers=True), "no C compiler is here"),
        (
            Python(compiler="/usr/bin/gcc", headers=False, version="3.11.7"),
            "Python.h of this Python (3.11.7)",
        ),
    ],
)
def test_who_never_compiles_does_not_miss_it(python, says):
    _, [finding] = run(torch=TORCH, python=python)
    assert finding.severity is Severity.NOTE
    assert says in finding.message


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("/opt/gone/gcc", "there is no such program"),
        ("ccache gcc", "takes all of it for the name of one program"),
    ],
)
def test_a_compiler_that_a_variable_names(named, says):
    _, [finding] = run(torch=TORCH, python=Python(compiler=named, compiler_found=False, headers=True))
    assert finding.severity is Severity.WARNING
    assert f"CC is {named}, and " in finding.message
    assert says in finding.message
    assert run(torch=TORCH, python=Python(compiler=named, compiler_found=True, headers=True))[1] == []


@pytest.mark.parametrize(
    "facts",
    [
        {"python": Python(compiler="/usr/bin/gcc", headers=True)},
        {"python": Python(compiler=""), "torch": Torch(imported=True, version="2.15.0+cpu")},
        {
            "python": Python(compiler=""),
            "distributions": Distributions(installed=[Distribution(name="torch", version="2")]),
        },
    ],
)
def test_environment_passed(facts):
    result, found = run(**{"torch": TORCH, **facts})
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(torch=TORCH, python=Python())[0].status is CheckStatus.UNKNOWN


def folder(**fields):
    return Storage(
        folders=[
            Folder(**{"use": "temporary files", "path": "/tmp", "mount": "/tmp", "kind": "tmpfs", **fields})
        ]
    )


@pytest.mark.parametrize(
    ("storage", "severity", "says"),
    [
        (
            folder(no_exec=True, variable="TMPDIR"),
            Severity.WARNING,
            "TMPDIR=/tmp lies on /tmp (tmpfs), which is mounted noexec",
        ),
        (
            folder(no_exec=True, use="cache", variable="TRITON_CACHE_DIR", path="/s/t"),
            Severity.WARNING,
            "TRITON_CACHE_DIR=/s/t",
        ),
        (folder(no_exec=True), Severity.NOTE, "/tmp lies on /tmp"),
    ],
)
def test_a_folder_from_which_no_library_can_be_loaded(storage, severity, says):
    _, [finding] = run(torch=TORCH, python=Python(compiler="/usr/bin/gcc", headers=True), storage=storage)
    assert finding.severity is severity
    assert says in finding.message
    assert finding.fixes[-1].command == "sudo mount -o remount,exec /tmp"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"error_code": 20, "error": "Not a directory"}, "a part of this path is a file"),
        ({"error_code": 2, "makeable": False}, "it is not there and cannot be made"),
        ({"read_only": True, "mount": "/images"}, "/images is mounted read-only"),
        ({"writable": False}, "this process may not write there"),
    ],
)
def test_a_cache_that_takes_nothing(fields, says):
    good = Python(compiler="/usr/bin/gcc", headers=True)
    named = {"use": "cache", "variable": "TORCHINDUCTOR_CACHE_DIR", "path": "/images/k", **fields}
    _, [finding] = run(torch=TORCH, python=good, storage=folder(**named))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(f"TORCHINDUCTOR_CACHE_DIR is /images/k, and {says}")
    assert run(torch=TORCH, python=good, storage=folder(**{**named, "variable": "HF_HOME"}))[1] == []


def test_a_cache_that_is_made_at_the_first_use():
    good = Python(compiler="/usr/bin/gcc", headers=True)
    for fields in ({"error_code": 2, "makeable": True}, {"error_code": 2}, {"writable": True}):
        named = {"use": "cache", "variable": "TRITON_CACHE_DIR", "path": "/d/t", **fields}
        assert run(torch=TORCH, python=good, storage=folder(**named))[1] == []


def test_a_cplusplus_compiler_that_a_variable_names():
    for torch in (TORCH, Torch(imported=True, version="2.15.0+cpu")):
        named = Python(compiler="/usr/bin/gcc", headers=True, cxx="/opt/gone/g++", cxx_found=False)
        _, [finding] = run(torch=torch, python=named)
        assert finding.severity is Severity.WARNING
        assert finding.message.startswith("CXX is /opt/gone/g++, and there is no such program")
    words = Python(compiler="/usr/bin/gcc", headers=True, cxx="ccache g++", cxx_found=False)
    _, [finding] = run(torch=TORCH, python=words)
    assert finding.severity is Severity.NOTE  # an extension takes it


def test_a_c_compiler_that_is_named_is_a_note_where_nothing_is_compiled_for_a_gpu():
    cpu = Torch(imported=True, version="2.15.0+cpu")
    _, [finding] = run(torch=cpu, python=Python(compiler="/opt/gone/cc", compiler_found=False, headers=True))
    assert finding.severity is Severity.NOTE
    assert "CC is /opt/gone/cc, and there is no such program" in finding.message


def test_a_folder_like_any_other():
    good = Python(compiler="/usr/bin/gcc", headers=True)
    for storage in (folder(no_exec=False), folder(), folder(no_exec=True, use="mount")):
        assert run(torch=TORCH, python=good, storage=storage)[1] == []
