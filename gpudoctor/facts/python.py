"""The patient's interpreter."""

from msgspec import Struct


class Python(Struct, frozen=True, kw_only=True):
    """The interpreter under which the user trains."""

    executable: str
    """``sys.executable`` of the patient."""
    version: str
    """``platform.python_version()``, such as ``3.11.7``."""
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
    chosen: str = ""
    """Why this interpreter was taken for the patient; written by gpudoctor."""
    by_default: bool = False
    """Nobody chose it and no environment is active: it is the interpreter that gpudoctor itself runs in."""
