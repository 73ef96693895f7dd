"""Commands whose help rich_click draws. It is imported when help is asked for: a pasted log is explained without it."""

import importlib
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich_click import RichCommand


class Command(click.Command):
    """A command."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help as rich_click draws it."""
        from rich_click import RichCommand

        return _help(RichCommand(**_given(self)), ctx)


class Commands(click.Group):
    """Commands, each in the module of its name, which is imported when that command is run.

    The list of them in ``--help`` needs none.
    """

    known: dict[str, str] = {}
    """Their names, in the order in which a user meets them, with a line of help each."""
    modules = ""
    """What stands in front of a command's name in that of its module."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help as rich_click draws it; the commands are in the order in which a user meets them."""
        from rich_click import RichCommand, RichGroup

        drawn = RichGroup(invoke_without_command=self.invoke_without_command, **_given(self))
        for name, line in self.known.items():
            drawn.add_command(RichCommand(name=name, short_help=line))
        drawn.list_commands = self.list_commands  # type: ignore[method-assign]  # RichGroup's own sorts them
        return _help(drawn, ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that is asked for."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            command = importlib.import_module(f"{self.modules}{name}").command
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order in which a user meets them."""
        return list(self.known)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Describe one command for the list."""
        return click.Command(name=name, short_help=self.known[name]) if name in self.known else None


def _given(command: click.Command) -> dict[str, Any]:
    """Return what a command's help is made of."""
    names = ("name", "params", "help", "epilog", "short_help", "options_metavar", "context_settings")
    return {name: getattr(command, name) for name in names}


def _help(drawn: "RichCommand", ctx: click.Context) -> str:
    from rich_click import RichContext

    with RichContext(drawn, info_name=ctx.info_name, parent=ctx.parent, **drawn.context_settings) as own:
        return drawn.get_help(own)
