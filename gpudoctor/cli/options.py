"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

python_option: Callable[[Any], Any] = click.option(
    "--python", metavar="EXE", help="The Python to examine; default: that of the active environment."
)
checks_option: Callable[[Any], Any] = click.option(
    "--checks", "folders", multiple=True, type=FOLDER, help="A folder of check files of your own."
)
timeout_option: Callable[[Any], Any] = click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="S", help="Seconds that a probe may take at most."
)
