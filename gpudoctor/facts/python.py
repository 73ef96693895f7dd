"""The patient's interpreter."""

import shlex

from msgspec import Struct

from gpudoctor.facts.distributions import Distributions


class Python(Struct, frozen=True, kw_only=True):
    """The interpreter under which the user trains."""

    executable: str = ""
    """``sys.executable`` of the patient; empty where a pasted text does not say it."""
    version: str = ""
    """``platform.python_version()``, such as ``3.11.7``; empty: not known."""
    build: str = ""
    """``sys.version`` on one line: version, build and compiler, as tickets quote it."""
    platform: str = ""
    """``platform.platform()``."""
    prefix: str = ""
    """``sys.prefix``: the environment's folder."""
    environment: str = ""
    """``virtual environment``, ``conda environment`` or ``no environment``."""
    search_path: list[str] = []
    """``sys.path`` of the patient as ``python -c`` sees it; the empty string is the working folder."""
    compiler: str | None = None
    """The C compiler that Triton would take: CC, or the first of gcc, clang and cc on PATH; empty: there is none;
    ``None``: not known."""
    compiler_found: bool | None = None
    """Whether CC names a program; ``None``: it is not set, or not known."""
    cxx: str = ""
    """What CXX names: the C++ compiler that torch.compile would take on the CPU."""
    cxx_found: bool | None = None
    """Whether CXX names a program; ``None``: it is not set, or not known."""
    headers: bool | None = None
    """``Python.h`` of this very Python is installed."""
    not_preloaded: list[str] | None = None
    """What LD_PRELOAD names and is not mapped into this Python: the loader could not open it; ``None``: not known."""
    chosen: str = ""
    """Why this interpreter was taken for the patient; written by gpudoctor."""
    by_default: bool = False
    """Nobody chose it and no environment is active: it is the interpreter that gpudoctor itself runs in."""

    def install_command(
        self, requirements: str, distributions: Distributions | None, *, reinstall: bool = False
    ) -> str:
        """Return the command that installs `requirements` into this environment.

        Where an environment holds no pip (uv makes them so) it is uv, which chooses the build of torch that fits the
        driver. `distributions` are those of this interpreter; ``None``: not known.
        """
        if self.executable and distributions is not None and distributions.get("pip") is None:
            return self.uv_install_command(requirements, reinstall=reinstall)
        pip = f"{shlex.quote(self.executable)} -m pip" if self.executable else "pip"
        return f"{pip} install {'--force-reinstall ' if reinstall else ''}{requirements}"

    def uv_install_command(self, requirements: str, *, reinstall: bool = False) -> str:
        """Return the command with which uv installs `requirements` into this environment, with pip in it or not."""
        python = f"--python {shlex.quote(self.executable)} " if self.executable else ""
        options = f"{'--reinstall ' if reinstall else ''}{'--torch-backend=auto ' if 'torch' in requirements else ''}"
        return f"uv pip install {python}{options}{requirements}"
