"""``gpudoctor show``."""

import sys
from pathlib import Path

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.streams import make_console
from gpudoctor.registry import Registry


@click.command("show", cls=Command)
@click.argument("id")
@checks_option
@output_options
def command(output: Output, id: str, folders: tuple[Path, ...]) -> int:
    """Print the page of one check: what happens, why, how to tell, the fix.

    \b
    gpudoctor show port-in-use
    gpudoctor show all -o all.md
    """
    from gpudoctor import catalogue
    from gpudoctor.render.page import page

    output.refuse_quiet()
    registry = Registry.of(folders)
    checks = registry.checks() if id == "all" else [registry.check(id)]
    code = output.complain(registry)
    text = "\n".join(page(check, registry) for check in checks)
    if sys.stdout.isatty() and output.file is None and not output.json:
        from rich.markdown import Markdown

        make_console(sys.stdout).print(Markdown(text))
        return code
    return output.give(text, catalogue.pages(checks)) or code
