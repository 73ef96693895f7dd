"""A log of any size is read in one pass and bounded memory; what matters in it is kept, with its true line numbers."""

import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.literals import Finder
from gpudoctor.logs import scan as module
from gpudoctor.logs.scan import scan

FIND = Finder([("NEEDLE", ("needle", 0)), ("Traceback (most recent call last)", None)])


@pytest.fixture
def small(monkeypatch):
    """Make the scanner take a few kilobytes for a long log."""
    for name, value in {"SHORT": 3000, "BLOCK": 2000, "BEFORE": 200, "AFTER": 200, "ENDS": 300}.items():
        monkeypatch.setattr(module, name, value)


def test_a_short_log_is_kept_whole():
    kept = scan(io.BytesIO(b"a\nb\n\xffc"), FIND)
    assert kept.lines == [(1, "a"), (2, "b"), (3, "�c")]
    assert (kept.total, kept.size) == (3, 6)
    assert scan(io.BytesIO(b""), FIND) == ([], 0, 0)


@pytest.mark.parametrize("place", [0, 1, 30, 120, 121, 122, 123, 150, 499, 500, 999])
def test_what_stands_around_a_literal_is_kept_with_its_numbers(small, place):
    rows = [f"line number {n} says nothing" for n in range(1, 1001)]
    rows[place] = f"here is the NEEDLE of {place + 1}"
    kept = scan(io.BytesIO(("\n".join(rows) + "\n").encode()), FIND)
    assert kept.total == 1000
    assert kept.lines[0] == (1, rows[0])
    assert kept.lines[-1] == (1000, rows[-1])
    assert (place + 1, rows[place]) in kept.lines
    assert all(rows[number - 1] == text for number, text in kept.lines)
    near = [number for number, _ in kept.lines if abs(number - place - 1) <= 4]
    assert len(near) >= min(5, place + 1)
    assert len(kept.lines) < 200


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            ["x" * 40, "", "NEEDLE", "a NEEDLE b", "y" * 700, "Traceback (most recent call last):"]
        ),
        max_size=300,
    ),
    st.integers(1, 5000),
)
def test_every_line_that_is_kept_is_true_and_no_needle_is_lost(rows, step):
    class Slow(io.BytesIO):
        def read(self, size=-1, /):
            return super().read(min(size, step))

    sizes = {"SHORT": 3000, "BLOCK": 2000, "BEFORE": 200, "AFTER": 200, "ENDS": 300}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in sizes.items():
            patch.setattr(module, name, value)
        kept = scan(Slow("\n".join(rows).encode()), FIND)
    numbers = [number for number, _ in kept.lines]
    assert numbers == sorted(numbers)
    found = {number for number, text in kept.lines if "NEEDLE" in text}
    assert found == {number for number, text in enumerate(rows, 1) if "NEEDLE" in text}
    assert all(text in rows[number - 1] for number, text in kept.lines)


def test_a_literal_in_every_line_does_not_fill_the_memory(small, monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 20_000)
    monkeypatch.setattr(module, "OFTEN", 10)
    text = "".join(f"NEEDLE in line {n} of many\n" for n in range(1, 20_001))
    kept = scan(io.BytesIO(text.encode()), FIND)
    assert sum(len(text) for _, text in kept.lines) < 30_000
    assert kept.lines[-1][0] == kept.total == 20_000


def test_one_line_of_a_gigabyte_is_read_in_bounded_memory():
    program = """
from gpudoctor.literals import Finder
from gpudoctor.logs.scan import scan
class Endless:
    left = 1 << 30
    def read(self, size, /):
        size = min(size, self.left)
        self.left -= size
        return (b"x" * size if self.left else b"x" * (size - 40) + b" NEEDLE" + b"y" * 33)[:size]
kept = scan(Endless(), Finder([("NEEDLE", 1)]))
assert kept.total == 1, kept.total
assert any("NEEDLE" in text for _, text in kept.lines)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150_000  # KiB
