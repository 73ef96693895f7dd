"""Python's search for circles of objects, put off: most commands are over before there is anything worth finding.

Importing what a command needs would set it off forty times, and the interpreter searches everything once more as it
ends: together a fifth of the time of ``gpudoctor --help``.
"""

import gc

PATIENCE = 50_000
"""Objects made and not yet dropped before it searches; Python's own figure is 700."""

gc.set_threshold(PATIENCE, *gc.get_threshold()[1:])


def leave() -> None:
    """Have the interpreter end without a last search: all memory is given back anyway."""
    gc.freeze()
