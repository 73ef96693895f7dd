"""Some keys of the checkpoint have a wrapper's prefix, and others do not.

## What happens

Neither the bare nor the wrapped model loads the file: `load_state_dict` reports keys that are missing and unexpected
ones whatever is done, or with `strict=False` a part of the model keeps its random values.

## Why

- Two checkpoints were merged, one of a bare and one of a wrapped model.
- A prefix was stripped with a condition that missed some keys, or twice from those that had it twice.
- A part was wrapped before it was put into the model, or an attribute of the model itself is called `module`.

## How to tell

`gpudoctor checkpoint inspect FILE` counts the keys by prefix. Where a key is there with and without it, the file holds
that tensor twice. If the model has an attribute `module` of its own beside others, nothing is wrong.

## See also

- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): DataParallel
- [load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict): keys must match exactly unless `strict=False`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import CheckpointFile, Comparison, Outcome, StateDict

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where a name comes with the prefix and without it",
    fixes=[
        Fix(
            "Take the prefix off the keys that have it, and see that none collide",
            'bare = {key.removeprefix("module."): value for key, value in state.items()}\n'
            "assert len(bare) == len(state)\nmodel.load_state_dict(bare)",
            Kind.EDIT,
        ),
        Fix(
            "Save the model, not its wrapper, everywhere",
            'torch.save(model.module.state_dict(), "model.pt")',
            Kind.EDIT,
        ),
    ],
    no_reproduction="the error is that of state-dict-prefix",
)


@check.checkpoint
def checkpoint(file: CheckpointFile, comparison: Comparison | None) -> Iterator[Finding]:
    """State dicts in which a prefix stands in front of some keys alone; an error where it makes a key be there twice.

    Of a file that loads it is no fault: the model itself has such names.
    """
    if comparison is not None and comparison.outcome is Outcome.LOADS:
        return
    for state in file.state_dicts:
        # One inside of names is that of a part, and Lightning's own attribute is on all keys.
        partial = [p for p in state.prefixes if p.keys < p.total and not p.text.startswith("*")]
        if not partial:
            continue
        twice = doubled(state, tuple(prefix.text for prefix in partial))
        bare = len(state.keys) - sum(prefix.keys for prefix in partial)
        counts = [f"{have(prefix.keys)} {prefix.text}" for prefix in partial]
        counts += [f"{have(bare)} none"] if bare else []
        said = f"of {count(len(state.keys), 'key')}{state.of_entry}, {', '.join(counts)}"
        if twice:
            said += f"; {twice[0]} is there with and without it"
        example = [next(k.name for k in state.keys if k.name.startswith(prefix.text)) for prefix in partial]
        fronts = tuple(prefix.text for prefix in partial)
        example += [k.name for k in state.keys if not k.name.startswith(fronts)][:1]
        yield check.found(
            said,
            severity=Severity.ERROR if twice else None,
            evidence=example,
        )


def have(number: int) -> str:
    """Count the keys that have something."""
    return f"{number} {'has' if number == 1 else 'have'}"


def doubled(state: StateDict, fronts: tuple[str, ...]) -> list[str]:
    """Return the keys that another one would become without its prefix."""
    seen: set[str] = set()
    twice = []
    for key in state.keys:
        front = max((front for front in fronts if key.name.startswith(front)), key=len, default="")
        bare = key.name[len(front) :]
        if bare in seen:
            twice.append(bare)
        seen.add(bare)
    return twice
