"""Run one probe in this process and print what it learns: ``python -m gpudoctor.probes MODULE``."""

import importlib
import sys
from typing import Any

from gpudoctor.probes._lines import tell


def main(module: str) -> None:
    """Print the facts of the probe in `module` as one marked line; a refusal goes there as its reason."""
    message: dict[str, Any]
    try:
        fact = importlib.import_module(module).probe()
    except (OSError, ValueError) as error:
        message = {"failed": f"{type(error).__name__}: {error}"}
    else:
        message = {"topic": module.rpartition(".")[2], "facts": fact}
    tell(message)


if __name__ == "__main__":
    main(sys.argv[1])
