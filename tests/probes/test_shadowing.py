"""Files that hide a module, put beside a real torch: the file is the cause, and comes first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Silence, Torch
from gpudoctor.registry import Registry
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]
SCRIPT = "import torch\n\nprint('training')\n"


def verdict(snapshot: Snapshot, registry: Registry) -> tuple[str | None, str]:
    report = diagnose(snapshot, registry.checks())
    return report.verdict.primary, report.findings[0].message if report.findings else ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.py", ""), ("torch.py", SCRIPT), ("random.py", ""), ("random.py", SCRIPT), ("json.py", ""),
        ("queue.py", ""), ("inspect.py", ""), ("struct.py", ""), ("signal.py", SCRIPT), ("typing_extensions.py", ""),
        ("logging/__init__.py", ""),
    ],
)  # fmt: skip
def test_in_the_working_folder(
    ask: Ask,
    registry: Registry,
    torch_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    snapshot = ask("torch", "python")
    primary, message = verdict(snapshot, registry)
    assert primary == "torch-shadowed", (primary, message)
    assert str(tmp_path / name.removesuffix("/__init__.py")) in message
    assert snapshot.get(Silence) is None


@pytest.mark.parametrize("name", ["json.py", "signal.py"])
def test_on_pythonpath(
    ask: Ask,
    registry: Registry,
    torch_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    (tmp_path / name).write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    primary, message = verdict(ask("torch", "python"), registry)
    assert primary == "torch-shadowed", (primary, message)
    assert str(tmp_path / name) in message


def test_scripts_that_torch_does_without(
    ask: Ask, registry: Registry, torch_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of many scripts, some of which have the name of a module; torch is imported all the same."""
    for name in ("test", "train", "profile", "cmd", "wave", "chunk", "this", "turtle", "models"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not to be imported')\n")
    monkeypatch.chdir(tmp_path)
    snapshot = ask("torch", "python", "pci")
    torch = snapshot.get(Torch)
    assert torch is not None
    assert torch.imported
    assert not any(shadow.loaded for shadow in torch.shadows)
    assert verdict(snapshot, registry)[0] is None
