"""What is kept of compiled patterns is what ``re`` compiles; no file, folder or edit of it changes an answer."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudoctor.logs
import gpudoctor.redact
from gpudoctor import pattern_cache
from gpudoctor.patterns import late_pattern
from gpudoctor.registry import Registry

LOG = "[rank1]: RuntimeError: CUDA error: out of memory\n"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Return the file, of a process that has compiled nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pattern_cache, "_kept", pattern_cache._Kept())
    pattern_cache.compiled.cache_clear()
    pattern_cache.recall()
    yield pattern_cache._kept.file
    pattern_cache.compiled.cache_clear()


def again(monkeypatch):
    """Begin as another process does."""
    monkeypatch.setattr(pattern_cache, "_kept", pattern_cache._Kept())
    pattern_cache.compiled.cache_clear()
    pattern_cache.recall()


def all_patterns():
    for package in (gpudoctor.logs, gpudoctor.redact):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            for held in vars(importlib.import_module(module.name)).values():
                if type(held) is type(late_pattern("a")):
                    yield held.pattern, held.flags
    registry = Registry()
    for id in registry.modules:
        for symptom in registry.get(id).symptoms:
            yield symptom.pattern, re.ASCII


def test_every_pattern_is_the_same_when_it_comes_back():
    patterns = set(all_patterns())
    assert len(patterns) > 1000
    for pattern, flags in patterns:
        parts = pattern_cache._taken_apart(pattern, flags)
        assert pattern_cache._put_together(pattern, parts) == re.compile(pattern, flags)


PATTERN = r"(?:[a-c.]|\\[dwsb]|\[\^?[a-z-]+\]|\((?:\?:|\?P<n>|\?!|\?=)?a?\)|[*+?]|\|){0,12}"
WRONG_CODE = msgspec.msgpack.encode({"0 a+b": [0, b"\xff" * 8, 1, {}]})


@given(st.from_regex(PATTERN, fullmatch=True))
def test_any_pattern_is_the_same_or_refused_alike(pattern):
    try:
        made = re.compile(pattern)
    except re.error:
        return
    assert pattern_cache._put_together(pattern, pattern_cache._taken_apart(pattern, 0)) == made


def test_the_next_process_compiles_nothing(kept, monkeypatch):
    pattern = late_pattern(r"(?P<rank>\d+) failed|died", re.IGNORECASE)
    assert pattern.search("3 FAILED")["rank"] == "3"
    pattern_cache.keep()
    assert kept.exists()
    again(monkeypatch)
    monkeypatch.setattr(re, "compile", None)
    assert late_pattern(r"(?P<rank>\d+) failed|died", re.IGNORECASE).search("3 FAILED")["rank"] == "3"


@pytest.mark.parametrize("damage", [b"", b"\x00\x01 no message pack", WRONG_CODE])
def test_a_damaged_file_changes_nothing(kept, monkeypatch, damage):
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(damage)
    again(monkeypatch)
    assert pattern_cache.compiled("a+b").search("caab")
    pattern_cache.keep()
    again(monkeypatch)
    assert pattern_cache.compiled("a+b") == re.compile("a+b")


def test_a_folder_that_cannot_be_written_changes_nothing(kept, monkeypatch):
    kept.parent.write_text("a file where the folder would be")
    assert pattern_cache.compiled("a+b").search("ab")
    pattern_cache.keep()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    again(monkeypatch)
    assert pattern_cache.compiled("a+b").search("ab")


def test_explain_says_the_same_with_what_it_kept(tmp_path, monkeypatch):
    log = Path(tmp_path, "train.log")
    log.write_text(LOG)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "gpudoctor", "explain", "--json", str(log)]
    first, second = (subprocess.run(command, capture_output=True, check=False).stdout for _ in range(2))
    assert [file.name.partition("-")[0] for file in tmp_path.glob("cache/gpudoctor/*")] == ["patterns"]
    assert msgspec.json.decode(first)["findings"] == msgspec.json.decode(second)["findings"] != []
