"""NCCL's plug-ins where the loader would look."""

from pathlib import Path

import pytest

from gpudoctor.facts import Plugins
from gpudoctor.probes.plugins import probe


def test_folders_of_the_variable_and_the_loaders_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ofi"
    folder.mkdir()
    for name in ("libnccl-net-ofi.so", "libnccl-tuner-ofi.so", "libnccl.so.2"):
        (folder / name).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{folder}::{tmp_path}/none")
    cache = tmp_path / "etc/ld.so.cache"
    cache.parent.mkdir()
    cache.write_bytes(
        b"glibc-ld.so.cache1.1\0libnccl-net.so\0/usr/lib/libnccl-net.so\0/usr/lib/libnccl.so.2\0"
    )
    (folder / "libnccl-tuner-ofi.so").write_bytes(b"\x7fELF\2")
    plugins = probe(tmp_path)
    assert plugins.found == ["libnccl-net-ofi.so", "libnccl-tuner-ofi.so", "libnccl-net.so"]
    assert plugins.damaged == [f"{folder}/libnccl-net-ofi.so"]


def test_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert probe(tmp_path) == Plugins()


@pytest.mark.parametrize(
    ("name", "there"), [("", True), ("ofi", True), ("libnccl-net-ofi", True), ("gib", False), ("of", False)]
)
def test_a_plugin_is_known_by_its_short_and_its_full_name(name: str, there: bool) -> None:
    assert Plugins(found=["libnccl-net-ofi.so"]).network(name) is there
