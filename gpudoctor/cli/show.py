"""``gpudoctor show``."""

import sys
from pathlib import Path

import rich_click as click

from gpudoctor.cli.output import make_console, put
from gpudoctor.cli.patient import checks_option
from gpudoctor.registry import Registry, Unknown


@click.command("show")
@click.argument("id")
@checks_option
def command(id: str, folders: tuple[Path, ...]) -> int:
    """Print the page of one check: what happens, why, how to tell, the fix.

    \b
    gpudoctor show port-in-use
    gpudoctor show all > all.md
    """
    from gpudoctor.render.page import page

    registry = Registry(folders)
    try:
        checks = registry.checks() if id == "all" else [registry.check(id)]
    except (Unknown, ImportError) as error:
        raise click.UsageError(str(error)) from None
    for line in registry.trouble:
        print(f"gpudoctor: {line}", file=sys.stderr)
    text = "\n".join(page(check, registry.reproduction(check.id)) for check in checks)
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        make_console(sys.stdout).print(Markdown(text))
    else:
        put(text)
    return 0
