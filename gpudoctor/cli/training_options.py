"""The options that say what a training mode trains."""

import functools
import os
from collections.abc import Callable
from typing import Any

import click

from gpudoctor.proving.training_script import MODES, Choice

SETS = ("mnist", "fashion-mnist", "cifar10")
MODELS = ("net", "lenet", "resnet18", "resnet50")


class ImageSet(click.ParamType[str]):
    """A name of a set of images; a folder is told where it belongs."""

    name = "set"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; raises `click.BadParameter` for any other text."""
        if value in SETS:
            return str(value)
        if os.path.isdir(os.path.expanduser(value)):
            self.fail(f"{value} is a folder, and a folder is what --data-dir takes", param, ctx)
        return self.fail(f"{value!r} is not one of {', '.join(SETS)}", param, ctx)


OPTIONS = (
    click.option("--model", type=click.Choice(MODELS), help="The network; default: net, for manual lenet."),
    click.option("--data", type=ImageSet(), metavar="SET", help="mnist, fashion-mnist or cifar10."),
    click.option(
        "--data-dir",
        type=click.Path(exists=True, file_okay=False),
        help="A folder with the set's own files; default: images drawn on the spot.",
    ),
    click.option(
        "--batch-size", type=click.IntRange(1), metavar="N", help="Over all devices together; default: 64."
    ),
    click.option("--epochs", type=click.IntRange(1), metavar="N", help="Default: 3."),
    click.option(
        "--backend", metavar="NAME", help="Of ddp and average; default: nccl on GPUs, gloo without."
    ),
    click.option("--devices", metavar="LIST", help="Such as 0,1 or cuda:0,cuda:1 or cpu,cpu."),
)


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options; it gets them together, as `choice`."""

    @functools.wraps(command)
    def with_choice(
        *arguments: Any,
        model: str | None,
        data: str | None,
        data_dir: str | None,
        batch_size: int | None,
        epochs: int | None,
        backend: str | None,
        devices: str | None,
        **others: Any,
    ) -> Any:
        choice = Choice(model, data, data_dir, batch_size, epochs, backend, devices)
        return command(*arguments, choice=choice, **others)

    for option in reversed(OPTIONS):
        with_choice = option(with_choice)
    return with_choice


class Numbers(click.ParamType[tuple[int, ...]]):
    """Numbers of devices, ``1,2,4,8``."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers; raises `click.BadParameter` for anything else, and beyond 1024."""
        if isinstance(value, tuple):
            return value
        words = value.split(",")
        if not all(word.isdecimal() and 1 <= int(word) <= 1024 for word in words):
            self.fail(f"{value!r} is no list of numbers of devices such as 1,2,4,8", param, ctx)
        return tuple(map(int, words))


class Strategies(click.ParamType[tuple[str, ...]]):
    """Names of training modes, ``single,dp,ddp``."""

    name = "modes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the modes; raises `click.BadParameter` for a name that is none."""
        if isinstance(value, tuple):
            return value
        words = tuple(value.split(","))
        unknown = [word for word in words if word not in MODES]
        if unknown:
            self.fail(f"{unknown[0]!r} is no mode; modes are {', '.join(MODES)}", param, ctx)
        return words


def scaling_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--scale`` and ``--strategies``."""
    scale = click.option(
        "--scale",
        type=Numbers(),
        default=(),
        metavar="N,N...",
        help="Time steps on so many devices, at one batch.",
    )
    strategies = click.option(
        "--strategies",
        type=Strategies(),
        default=(),
        metavar="MODE,MODE...",
        help="Time the steps of these modes, too.",
    )
    return scale(strategies(command))
