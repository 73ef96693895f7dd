"""triton-toolchain: seen in logs."""

MESSAGE = "kernels cannot be compiled on this machine"
EXAMPLES = {
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.": (
        MESSAGE + ": C compiler is not there"
    ),
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.": (
        MESSAGE + ": C compiler is not there"
    ),
    "/tmp/tmpq1/main.c:3:10: fatal error: Python.h: No such file or directory": MESSAGE
    + ": Python.h is not there",
    "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')": (
        MESSAGE + ": C++ compiler is not there"
    ),
    "RuntimeError: Compiler: cl is not found.": MESSAGE + ": cl is not there",
    "torch._inductor.exc.InductorError: CppCompileError: C++ compile error": MESSAGE,
    "torch._inductor.exc.TritonMissing: Cannot find a working triton installation. Either the package is not installed or it is too old.": (
        MESSAGE + ": triton is not found"
    ),
    "AssertionError: libcuda.so cannot found!": MESSAGE + ": libcuda.so is not found",
    (
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
        '  File "/env/lib/python3.11/site-packages/triton/runtime/build.py", line 50, in _build'
    ): MESSAGE + ": cuda is not found",
    "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpq1/main.c', '-O3', '-shared', '-fPIC', '-lcuda']' returned non-zero exit status 1.": (
        MESSAGE + ": /usr/bin/gcc failed"
    ),
}
NOT_THIS = [
    "A matching Triton is not available, some optimizations will not be enabled.",
    "RuntimeError: Ninja is required to load C++ extensions",
    "fatal error: cuda.h: No such file or directory",
]
