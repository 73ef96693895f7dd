"""``gpudoctor checkpoint``: the group of its two commands, each imported when it is asked for."""

import importlib

import rich_click as click

COMMANDS = {
    "inspect": "Say what is in a checkpoint, and why it does not load.",
    "fix": "Write a copy that loads.",
}


class Commands(click.RichGroup):
    """The commands; the list of them in ``--help`` imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Describe one command for the list."""
        return click.RichCommand(name=name, short_help=COMMANDS[name]) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that is asked for."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            command = importlib.import_module(f"gpudoctor.cli.checkpoint_{name}").command
        return name, command, rest


@click.group("checkpoint", cls=Commands, invoke_without_command=True)
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
