"""Python's search for circles of objects, put off where there is nothing worth finding.

Importing what a command needs would set it off forty times, and the interpreter searches everything once more as it
ends: together a fifth of the time of ``gpudoctor --help``. Trees are a million objects without a circle.
"""

import contextlib
import gc
from collections.abc import Iterator

PATIENCE = 50_000
"""Objects made and not yet dropped before it searches; Python's own figure is 700."""


def put_off() -> None:
    """Have the interpreter search seldom: most commands are over before it would."""
    gc.set_threshold(PATIENCE, *gc.get_threshold()[1:])


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Stop the search meanwhile."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def leave() -> None:
    """Let this process end without another search: all memory is given back anyway, and a fork need copy none."""
    gc.freeze()
    gc.disable()
