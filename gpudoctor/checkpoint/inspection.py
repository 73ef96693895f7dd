"""Look at checkpoints: read them, look at their numbers, compare them, and examine what is known of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint.formats.paths import STDIN, paths_of
from gpudoctor.checkpoint.look import Looked, look
from gpudoctor.diagnose import diagnose
from gpudoctor.model import Check, Source
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say
from gpudoctor.snapshot import CHECKPOINT, Snapshot


def inspect(
    *paths: str | Path,
    values: bool = False,
    verify: bool = False,
    against: str | None = None,
    arguments: Mapping[str, str] | None = None,
    python: str | None = None,
    checks: Registry | Iterable[Path] = (),
    say: Say = lambda doing: None,
    warn: Say = lambda unread: None,
) -> Report:
    """Say what is in checkpoints, and what is wrong with them; nothing in them is run.

    A path is a file, a folder of a sharded or distributed checkpoint or of several files, or ``-`` for standard input.
    `values` reads every number, `verify` compares checksums, `against` names another checkpoint or a model
    (``package.module:factory``, ``file.py:Class``) that the patient `python` builds with `arguments`. `checks` are
    folders of local check files. `say` is told what is being done, `warn` why a file that was named cannot be read.
    Raises `BadInput` where none can be, or where there is nothing to compare.

        >>> gpudoctor.inspect("model.pt", against="net.py:Net").verdict.sentence
    """
    if against is None and (arguments or python is not None):
        raise BadInput("--arg and --python are for the model of --against, which is not given")
    if against == STDIN and STDIN in map(str, paths):
        raise BadInput("standard input can be read once: name a file in the place of one of the two -")
    registry = Registry.of(checks)
    with paths_of([str(path) for path in paths]) as named:
        looked = [look(each, say, values=values, verify=verify) for each in named]
        unread = [(each, seen.lost) for each, seen in zip(named, looked, strict=True) if seen.lost]
        if against is not None and len(unread) < len(named):
            whole = [seen for seen in looked if seen.whole]
            looked += _compare(whole, len(named), against, arguments, python, say, verify=verify)
    if len(unread) == len(named):
        raise BadInput(str(unread[0][1]))
    for reason in (reason for each, reason in unread if each.asked):
        warn(str(reason))
    report = diagnose(Snapshot(facts_of(looked)), knowing(registry), registry.failed, registry)
    report.command = "checkpoint inspect"
    compared = against is None or any("comparison" in seen.others for seen in looked)
    if not compared and not report.findings:
        raise BadInput(f"none of {len(named)} files holds a state dict that could be compared")
    return report


def facts_of(looked: Iterable[Looked]) -> dict[str, msgspec.Struct]:
    """Return what was seen by topic: ``checkpoint``, ``values`` and ``comparison``, then ``checkpoint.2`` ..."""
    facts: dict[str, msgspec.Struct] = {}
    for number, seen in enumerate(looked, 1):
        suffix = f".{number}" if number > 1 else ""
        topics: dict[str, msgspec.Struct] = {"checkpoint": seen.file} | seen.others
        facts |= {topic + suffix: topics[topic] for topic in CHECKPOINT if topic in topics}
    return facts


def knowing(registry: Registry) -> list[Check]:
    """Load the checks that can know a checkpoint: those of that family, and all that are the site's own."""
    ids = [id for id, (name, _) in registry.modules.items() if ".checkpoint." in name or registry.is_site(id)]
    return [check for check in registry.checks(ids) if Source.CHECKPOINT in check.functions]


def _compare(
    looked: Sequence[Looked], named: int, target: str, arguments: Mapping[str, str] | None, python: str | None,
    say: Say, *, verify: bool,
) -> list[Looked]:  # fmt: skip
    """Compare what was looked at with one target; of several files those that have a state dict.

    Returns the target where that is a damaged checkpoint, which is a finding too. Raises `BadInput` where it cannot be
    used otherwise, or where there is nothing to compare in the one file that was named.
    """
    from gpudoctor.checkpoint.comparison.target import compare_all, other_checkpoint

    chosen = [seen for seen in looked if named == 1 or seen.file.state_dicts]
    other = other_checkpoint(target, arguments, say, verify=verify) if chosen else None
    whole = other is None or other.whole
    say(f"comparing with {target}")
    files = [seen.file for seen in chosen if whole]
    comparisons = compare_all(files, other.file if other else target, arguments, python) if files else []
    for seen, found in zip(chosen, comparisons, strict=whole):
        seen.others["comparison"] = found
    for seen in looked:
        if "comparison" not in seen.others:
            none = "it holds no state dict, and is not compared"
            seen.note(f"not compared: {target} is damaged" if seen in chosen else none)
    return [other] if other is not None and other.file.trouble else []
