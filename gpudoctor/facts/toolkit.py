"""What compiles extensions of torch: the CUDA toolkit, ninja, a C++ compiler."""

from msgspec import Struct


class Toolkit(Struct, frozen=True, kw_only=True):
    """What ``torch.utils.cpp_extension`` would take, by its own rules, under the patient."""

    home: str = ""
    """Its folder: CUDA_HOME or CUDA_PATH, that of the ``nvcc`` on PATH, or ``/usr/local/cuda``; empty: none."""
    variable: str = ""
    """Which of the two variables names it; empty: none does."""
    nvcc: bool | None = None
    """``bin/nvcc`` is there; ``None``: not known."""
    version: str = ""
    """The toolkit's version, such as ``12.4.1``, from the files beside it or ``nvcc --version``; empty: not known."""
    ninja: bool | None = None
    """The program ``ninja`` is on PATH."""
    ninja_installed: bool | None = None
    """The Python package ``ninja`` is installed, whose program lies in the environment's ``bin``."""
    cxx: str = ""
    """The C++ compiler that torch takes: what CXX names, or ``c++`` (on Windows ``cl``)."""
    cxx_found: bool | None = None
    """Whether that is a program on PATH."""
