"""What the importers' tests share: texts in each format, and reading a text as a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from gpudoctor.importers import Imported, read
from gpudoctor.registry import Registry
from gpudoctor.report import ProbeStatus


@pytest.fixture(scope="session")
def topics() -> dict[str, type[Struct]]:
    """The types of every topic's facts."""
    return Registry().topics


@pytest.fixture(scope="session")
def load() -> Callable[[str], str]:
    """Return one of the texts beside these tests, by name."""
    return lambda name: (Path(__file__).parent / "texts" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def read_text(
    tmp_path_factory: pytest.TempPathFactory, topics: dict[str, type[Struct]]
) -> Callable[[str | bytes], Imported]:
    """Write a text to a file, byte for byte, and read it."""
    path = tmp_path_factory.mktemp("importers") / "given"

    def read_it(text: str | bytes) -> Imported:
        path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        return read(str(path), topics)

    return read_it


@pytest.fixture(scope="session")
def facts_of(read_text: Callable[[str | bytes], Imported]) -> Callable[[str | bytes], dict[str, Any]]:
    """Read a text and return its facts by topic; every topic has its probe's result."""

    def facts(text: str | bytes) -> dict[str, Any]:
        snapshot = read_text(text).snapshot
        done = {p.name: p for p in snapshot.probes}
        assert all(done[topic].status is ProbeStatus.OK for topic in snapshot.facts)
        assert all(p.reason for p in snapshot.probes if p.status is not ProbeStatus.OK)
        return dict(snapshot.facts)

    return facts
