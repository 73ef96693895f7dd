"""Run one probe in this process and print what it learns: ``python -m gpudoctor.probes MODULE``."""

import importlib
import json
import os
import sys

import msgspec


def main(module: str) -> None:
    """Print the facts of the probe in `module` as one marked line; a refusal goes there as its reason."""
    try:
        fact = importlib.import_module(module).probe()
    except (OSError, ValueError) as error:
        message = {"failed": f"{type(error).__name__}: {error}"}
    else:
        message = {"topic": module.rpartition(".")[2], "facts": fact}
    # Names of files and variables may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
    os.write(1, b"\ngpudoctor " + text.encode(errors="replace") + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
