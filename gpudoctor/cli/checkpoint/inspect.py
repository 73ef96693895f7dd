"""``gpudoctor checkpoint inspect``."""

import time
from pathlib import Path

import click

from gpudoctor import garbage
from gpudoctor.bad_input import BadInput
from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.registry import Registry


@click.command("inspect", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER|-...")
@click.option("--keys", metavar="GLOB", help="Show the keys that match, each in a line: 'layer*.weight'.")
@click.option(
    "--values", is_flag=True, help="Read every number: which are NaN, infinite, all zero, stored twice."
)
@click.option("--verify", is_flag=True, help="Compare each record of a zip file with its checksum.")
@click.option(
    "--against",
    metavar="FILE|module:factory|file.py:Class",
    help="Say whether it loads into another checkpoint's model, or into one that is built without its weights.",
)
@click.option("--arg", "arguments", multiple=True, metavar="KEY=VALUE", help="An argument of that factory.")
@click.option(
    "--python", metavar="EXE", help="The Python that builds it; default: that of the active environment."
)
@checks_option
@output_options
def command(
    output: Output,
    files: tuple[str, ...],
    keys: str | None,
    values: bool,
    verify: bool,
    against: str | None,
    arguments: tuple[str, ...],
    python: str | None,
    folders: tuple[Path, ...],
) -> int:
    """Say what is in a checkpoint: entries, keys, prefixes, devices, sharing, damage, and what opening it would run.

    A file of torch.save of any version, TorchScript, safetensors, an *.index.json; a folder of a distributed or
    sharded checkpoint, or one whose checkpoint files are to be looked at one by one; - is standard input. Nothing in
    it is run.

    In JSON, facts.checkpoint is the first file, and facts."checkpoint.2" and so on the others; what --values and
    --against add is facts.values and facts.comparison, numbered alike. The findings are those of all files.

    \b
    gpudoctor checkpoint inspect model.pt
    gpudoctor checkpoint inspect model.pt --keys '*.weight' --values
    gpudoctor checkpoint inspect model.pt --against other.pt
    gpudoctor checkpoint inspect model.pt --against package.net:build --arg classes=10
    """
    from gpudoctor.checkpoint.inspection import inspect

    begun = time.monotonic()
    unread: list[str] = []
    with garbage.paused():
        with output.status() as say:
            report = inspect(
                *files, values=values, verify=verify, against=against, arguments=pairs(arguments), python=python,
                checks=Registry.of(folders), say=say, warn=unread.append,
            )  # fmt: skip
        code = output.deliver(report, seconds=time.monotonic() - begun, keys=keys)
    for reason in unread:
        output.warn(reason)
    return BadInput.exit_code if unread else code


def pairs(arguments: tuple[str, ...]) -> dict[str, str]:
    """Return the arguments of a factory by name; raises click.UsageError for one that has none."""
    found = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.isidentifier():
            raise click.UsageError(f"--arg {argument}: write it as KEY=VALUE")
        found[key] = value
    return found
