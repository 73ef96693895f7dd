"""The marked lines in which a probe's process tells what it learns; `patient_process` says how they are read."""

import json
import os
from typing import Any

import msgspec


def tell(message: dict[str, Any]) -> None:
    """Write one message as a line of its own: facts of a topic, what is tried next, or a refusal."""
    # Names of files and variables may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
    os.write(1, b"\ngpudoctor " + text.encode(errors="replace") + b"\n")
