"""torch is not installed in the Python that runs.

## What happens

`import torch` ends in `ModuleNotFoundError: No module named 'torch'`, or the shell does not find `torchrun`.

## Why

Usually torch is installed, in another environment: the script runs under the system's Python, under another conda or
virtual environment, or under a notebook kernel of its own. `sudo`, cron, Slurm and ssh start a shell without the
environment that is active in yours. While pip or uv builds a package (flash-attn, apex …) it works in an empty
environment of its own; there the same words mean that it must be told to use yours (`--no-build-isolation`).

A folder named `torch` without an `__init__.py` on the import path is taken for a package and is empty: `import torch`
then works, and `torch.__version__` does not exist.

## How to tell

`python -c 'import sys, torch; print(sys.executable, torch.__file__)'`, typed where the training starts, names the
interpreter and the torch it finds. `gpudoctor check --python PYTHON` examines another interpreter.

## See also

- [Start locally](https://pytorch.org/get-started/locally/): the install command for each platform
- [venv](https://docs.python.org/3/library/venv.html): which interpreter an environment runs
"""

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Symptom
from gpudoctor.facts import Distributions, Python, Torch

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"No module named (?P<quote>['\"])torch(?P=quote)",
        r"ImportError: No module named torch(\.(distributed|utils|nn|optim|cuda|multiprocessing)(\.\w+)?)?(`|'| error\b.*)?\s*$",  # Python 2 and pypy
        r"\bpython[\d.]*: No module named torch(\.(distributed|utils))?\s*$",  # Python 2, and "python -m torch"
        r"\btorchrun(\"|'|`|’)?: (command not found|not found|executable file not found|No such file or directory)",
        r"command not found: torchrun|No such file or directory: '([^']{0,200}/)?torchrun'",  # zsh, subprocess
        r"'torchrun' is not recognized as",  # Windows
        r"requires the PyTorch library but it was not found in your environment",  # transformers
        r"The package named for PyTorch is \"torch\"",
        r"No package metadata was found for torch\s*$|The 'torch[^'a-z]{0,30}' distribution was not found",
        r"\b(?:Import|ModuleNotFound|Assertion|Runtime)Error: .{0,160}(?:PyTorch (?:isn't|is not) installed|[Yy]ou need to install [Pp]y[Tt]orch\b|without torch installed)",
        r"Could not find a version that satisfies the requirement torch(?![\w-])",  # pip
        r"No matching distribution found for torch(?![\w-])",
        # in words
        Symptom(
            r"\bimport(?:ing)? (?:[Pp]y)?[Tt]orch\b.{0,60}\bmodule (?:does not|doesn't) exist|\bimport(?:ing)? (?:[Pp]y)?[Tt]orch\b.{0,60}\bno (?:such )?module\b",
            asked=True,
        ),
    ],
    message="the Python that ran has no torch: it is not the one, or not the environment, that "
    "torch was installed into",
    # transformers says that torch "was not found" where it does not want the one that is there
    follows=["torch-too-old"],
    fixes=[
        Fix("Run the training with the Python that has torch", "source ENVIRONMENT/bin/activate"),
        Fix("Or install torch into the Python that runs", "python -m pip install torch torchvision"),
    ],
)


@check.environment
def environment(
    torch: Torch, python: Python | None, distributions: Distributions | None
) -> Iterator[Finding]:
    """There is no torch to import, or only an empty folder of its name."""
    if torch.imported is None and torch.error is None and torch.version is None:
        raise CannotTell("whether torch can be imported is not known")
    if torch.named:
        raise CannotTell("torch is only named: whether it can be imported is not known")
    patient = python or Python()
    name = patient.executable or "the Python that was examined"
    about = ", ".join(text for text in (patient.version, patient.chosen) if text)
    fixes = [Fix(f"Install torch for {name}", patient.install_command("torch torchvision", distributions))]
    if patient.by_default:
        look = "gpudoctor check --python PYTHON"
        fixes.insert(
            0, Fix("Examine the Python that you train with; this one was taken for want of another", look)
        )
    if _empty_folder(torch):
        message = f"torch is an empty folder here, {torch.file}: there is no __init__.py in it, so nothing can be imported"
        old, new = shlex.quote(torch.file or ""), shlex.quote(f"{torch.file}-renamed")
        rename = Fix("Rename or remove the folder that hides torch", f"mv -n {old} {new}")
        yield check.found(message, fixes=[rename, *fixes])
    elif torch.imported is False and torch.file is None and _says_missing(torch):
        evidence = [f"{torch.error.type}: {torch.error.message}"] if torch.error else []
        message = f"{name}{f' ({about})' if about else ''} has no torch: nothing that imports torch can run"
        yield check.found(message, evidence=evidence, fixes=fixes)


def _says_missing(torch: Torch) -> bool:
    """Return whether the import failed for want of torch itself, not of something that torch needs."""
    return torch.error is None or torch.error.message.replace('"', "'") in (
        "No module named 'torch'",
        "No module named torch",
    )


def _empty_folder(torch: Torch) -> bool:
    """Return whether `import torch` gave a namespace package: a folder instead of a file, and no version."""
    return bool(torch.imported and torch.version is None and torch.file and not PurePath(torch.file).suffix)
