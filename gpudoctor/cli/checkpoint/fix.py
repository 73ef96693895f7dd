"""``gpudoctor checkpoint fix``."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.output import Output

if TYPE_CHECKING:
    from gpudoctor.checkpoint.repair.copy import Fixed
    from gpudoctor.checkpoint.repair.edit import Changes

SHOWN = 10
"""Renamed keys that are listed without ``-v``."""
DEVICE = re.compile(r"[a-z]+(:\d+)?")


@click.command("fix", cls=Command)
@click.argument("source", metavar="IN")
@click.option("-o", "--output", "target", metavar="OUT", help="The copy; never the file itself.")
@click.option(
    "--strip-prefix", "strip", metavar="P", multiple=True, help="Take P away where keys begin with it."
)
@click.option("--add-prefix", "add", metavar="P", multiple=True, help="Put P in front of every key.")
@click.option(
    "--rename", "renames", metavar="OLD=NEW", multiple=True,
    help="Rename keys: a glob for the whole key, or a regular expression (with ^ $ \\ ( ) | + or {) for a part of it.",
)  # fmt: skip
@click.option("--select", metavar="ENTRY", help="Take one entry out of the whole, as 'model'.")
@click.option(
    "--drop", metavar="ENTRY", multiple=True, help="Leave an entry out, as 'optimizer' or 'neck.*'."
)
@click.option(
    "--device", metavar="DEVICE", help="Where torch.load puts tensors without map_location, as 'cpu'."
)
@click.option(
    "--to-safetensors", "form", flag_value="safetensors", help="Write tensors alone, as safetensors."
)
@click.option(
    "--to-zip", "form", flag_value="torch zip", help="Make torch's format of today of the one before 1.6."
)
@click.option("--dry-run", is_flag=True, help="Print what would change; write nothing.")
@click.option("--force", is_flag=True, help="Replace OUT if it is there.")
@click.option("--redact/--no-redact", default=True, help="Replace what is private in what is piped.")
@click.option("--json", is_flag=True, help="One JSON document on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="One line.")
@click.option("-v", "--verbose", is_flag=True, help="Every key that gets another name.")
def command(
    source: str, target: str | None, form: str | None, dry_run: bool, force: bool, json: bool, quiet: bool,
    verbose: bool, redact: bool, **changes: "str | tuple[str, ...] | None",
) -> int:  # fmt: skip
    """Write a copy of a checkpoint that loads: other names, fewer entries, another device or format.

    Nothing in the file is run, and torch is not needed. The tensors' bytes are copied as they are; what is not asked
    to change stays: sharing, views, order, metadata. The copy is there whole or not at all. Entries are dropped and
    selected first; then prefixes are stripped, added, and keys renamed, in every state dict that is left.

    \b
    gpudoctor checkpoint fix mnist_cnn.pt -o mended.pt --strip-prefix module.
    gpudoctor checkpoint fix bare.pt -o wrapped.pt --add-prefix module.
    gpudoctor checkpoint fix last.ckpt -o model.pt --select state_dict --strip-prefix model.
    gpudoctor checkpoint fix last.pt -o small.pt --drop optimizer --device cpu
    gpudoctor checkpoint fix a.pt -o b.pt --rename 'backbone.*=encoder.*' --dry-run
    gpudoctor checkpoint fix a.pt -o b.pt --rename '^layer(\\d+)\\.=blocks.\\1.'
    gpudoctor checkpoint fix model.pt -o model.safetensors --to-safetensors
    gpudoctor checkpoint fix old.pt -o new.pt --to-zip
    """  # fmt: skip
    from gpudoctor.checkpoint.repair.copy import fix
    from gpudoctor.facts import Format
    from gpudoctor.text import percent

    # click gives each option the type that its own parameter has.
    asked = asked_changes(**changes)  # type: ignore[arg-type]
    if form is None and not (asked.names or asked.fewer or asked.device):
        raise click.UsageError(
            "say what to change, as --strip-prefix module.; see gpudoctor checkpoint fix --help"
        )
    if target is None and not dry_run:
        raise click.UsageError("name the copy with -o, or see with --dry-run what would change")
    output = Output(json=json, quiet=quiet, redact=redact)
    with output.status() as say:
        say(f"reading {source}" if dry_run else f"writing {target}")
        done = fix(
            source, None if dry_run else target, asked, form=Format(form) if form else None, force=force,
            heard=lambda done, size: say(f"writing {target}: {percent(done, size)}"),
        )  # fmt: skip
    return deliver(done, output, verbose=verbose)


def deliver(done: "Fixed", output: Output, *, verbose: bool) -> int:
    """Say what was done, quietly in its last line alone, and warn of what opening the copy runs."""
    from gpudoctor.text import shown

    if done.suspects:
        names = ", ".join(dict.fromkeys(shown(suspect.name) for suspect in done.suspects[:SHOWN]))
        output.warn(f"opening the copy runs code, as opening the original does: {names}")
    done.source, done.target = output.safe((done.source, done.target))
    lines = [f"{line}\n" for line in told(done, verbose)]
    return output.give("".join(lines[-1:] if output.quiet else lines), done)


def asked_changes(
    strip: Sequence[str], add: Sequence[str], renames: Sequence[str], select: str | None, drop: Sequence[str],
    device: str | None,
) -> "Changes":  # fmt: skip
    """Return what the options ask for; raises click.UsageError for one that says nothing."""
    from gpudoctor.checkpoint.repair.edit import Changes
    from gpudoctor.checkpoint.repair.rename import Rename

    if "" in (*strip, *add):
        raise click.UsageError("an empty prefix changes nothing")
    pairs = [text.rpartition("=") for text in renames]
    if any(not equals or not old for old, equals, _ in pairs):
        raise click.UsageError("--rename takes OLD=NEW, as --rename 'backbone.*=encoder.*'")
    if device is not None and not DEVICE.fullmatch(device):
        raise click.UsageError(f"--device {device}: no device, as cpu or cuda:0")
    return Changes(
        drop=tuple(drop), select=select, strip=tuple(strip), add=tuple(add), device=device,
        renames=tuple(Rename(old, new) for old, _, new in pairs),
    )  # fmt: skip


def told(done: "Fixed", verbose: bool) -> Iterator[str]:
    """Yield what was changed, a line each; what it comes to is the last."""
    from gpudoctor.text import count, shown

    most = len(done.renamed) if verbose else SHOWN
    for renamed in done.renamed[:most]:
        where = f"{shown(renamed.entry)}: " if renamed.entry else ""
        yield f"{where}{shown(renamed.old)} -> {shown(renamed.new)}"
    if len(done.renamed) > most:
        yield f"... and {len(done.renamed) - most} more; -v lists all"
    for dropped in done.dropped:
        yield f"without {shown(dropped.entry)}: {count(dropped.tensors, 'tensor')}, {dropped.size:,} bytes"
    if done.moved:
        yield f"{count(done.moved, 'storage')} on another device"
    if done.form != done.kind:
        yield f"{done.kind} -> {done.form}"
    if done.target is None:
        yield f"{done.source}: nothing was written; the copy would have about {done.size:,} bytes"
    else:
        keys = f", {count(len(done.renamed), 'key')} renamed" if done.renamed else ""
        yield f"wrote {done.target}: {done.size:,} bytes{keys}"
