"""What the commands that start processes have in common: the patient, and options that name it and the checks."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gpudoctor.interpreter import Patient, Unusable, choose_patient

if TYPE_CHECKING:
    from gpudoctor.registry import Registry

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

python_option: Callable[[Any], Any] = click.option(
    "--python", metavar="EXE", help="The Python to examine; default: that of the active environment."
)
checks_option: Callable[[Any], Any] = click.option(
    "--checks", "folders", multiple=True, type=FOLDER, help="A folder of check files of your own."
)


def find_patient(python: str | None) -> Patient:
    """Choose the patient, or say in one line why not; from here on, no process that gpudoctor starts gets lost."""
    from gpudoctor.child import adopt_orphans

    adopt_orphans()
    try:
        return choose_patient(python)
    except Unusable as error:
        raise click.UsageError(str(error)) from None


def tell_trouble(registry: "Registry") -> None:
    """Say which checks and plug-ins could not be loaded."""
    for line in dict.fromkeys(registry.trouble):
        print(f"gpudoctor: {line}", file=sys.stderr)
