"""``gpudoctor checkpoint``: the group of its two commands, each imported when it is asked for."""

import click

from gpudoctor.cli.commands import Commands


class CheckpointCommands(Commands):
    """The two commands."""

    known = {
        "inspect": "Say what is in a checkpoint, and why it does not load.",
        "fix": "Write a copy that loads.",
    }
    modules = "gpudoctor.cli.checkpoint."


@click.group("checkpoint", cls=CheckpointCommands, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """See what is in a checkpoint without opening it in Python, and write a copy that loads.

    Nothing in the file is run, its tensors stay on the disk, and torch is not needed.

    \b
    gpudoctor checkpoint inspect model.pt
    gpudoctor checkpoint inspect model.pt --against net.py:Net
    gpudoctor checkpoint fix model.pt -o mended.pt --strip-prefix module.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
