"""Words that sentences are put together from: counts, lists, ranges, sizes, and what strangers wrote."""

import re
import signal
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudoctor.text import (
    NAME_MOST,
    SIGNALS,
    byte_size,
    capped,
    count,
    harmless,
    in_bytes,
    joined,
    listed,
    one_line,
    percent,
    ranges,
    ranks,
    shown,
    spans,
    whole_gib,
    with_signals,
)

BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Classes of what embeds, overrides or isolates a direction (UAX #9); the marks of one have those of letters."""
MARKS = "\u200e\u200f\u061c"
HOSTILE = "\x1b]0;title\x07\x1b[31m\r\n\u202egnp.exe\u2066\u2028\u2029\x85\x9b\x7f\ud800\udc80"


def obeyed(text: str) -> list[str]:
    """Return the characters that a terminal would obey, that break a line, or that no encoding can write."""
    return [
        c
        for c in text
        if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")
        or unicodedata.bidirectional(c) in BIDIRECTIONAL
        or c in MARKS
    ]


# --- counts and lists ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number, text", [(0, "0 keys"), (1, "1 key"), (2, "2 keys")])
def test_a_noun_takes_an_s_unless_it_is_one(number, text):
    assert count(number, "key") == text


def test_a_list_says_how_many_names_it_leaves_out():
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert listed(["a\x1b[31m", "b"], most=1) == "'a\\x1b[31m' and 1 more"
    assert listed(["a", "b"], show=str.upper) == "A, B"


def test_what_a_list_leaves_out_has_a_noun():
    assert listed(["a", "b", "c"], 1, noun="device") == "a and 2 more devices"
    assert listed(["a", "b"], 1, noun="device") == "a and 1 more device"
    assert listed(["a"], 1, noun="device") == "a"


@pytest.mark.parametrize(
    ("words", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_joined_as_in_a_sentence(words, text):
    assert joined(iter(words)) == text


def test_lines_that_are_left_out_are_counted():
    assert capped(iter("abc"), most=3) == ["a", "b", "c"]
    assert capped(iter("abcde"), most=3) == ["a", "b", "c", "2 more of this kind"]
    assert capped([], most=3) == []


# --- ranges --------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40)))
def test_spans_hold_the_numbers_in_their_order(numbers):
    found = spans(numbers)
    assert [n for first, last in found for n in range(first, last + 1)] == numbers


@given(st.sets(st.integers(0, 40)))
def test_spans_of_sorted_numbers_do_not_touch(numbers):
    found = spans(sorted(numbers))
    assert all(first <= last for first, last in found)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(found))


@pytest.mark.parametrize(
    "numbers, text",
    [([], ""), ([3], "3"), ([0, 1], "0-1"), (range(32), "0-31"), ([0, 2, 5], "0,2,5"), ([7, 0, 1], "7,0-1")],
)
def test_numbers_in_short(numbers, text):
    assert ranges(list(numbers)) == text


def test_of_many_runs_the_first_ones_are_named():
    assert ranges([0, 2, 4, 6], most=4) == "0,2,4,6"
    assert ranges([0, 2, 4, 6], most=3) == "0,2,4,..."


@pytest.mark.parametrize(
    "numbers, text",
    [
        ([], ""),
        ([3], "rank 3"),
        ([0, 1], "ranks 0, 1"),
        ([0, 1, 2, 9], "ranks 0-2, 9"),
        (range(0, 20, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14, …"),
    ],
)
def test_ranks_are_named_as_a_reader_would(numbers, text):
    assert ranks(list(numbers)) == text


# --- sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (4 * 2**20, "4.0 MiB"),
        (999 * 2**20, "999 MiB"),
        (1000 * 2**20, "1.0 GiB"),
        (123 * 2**30, "123 GiB"),
        (2**70, "1048576 PiB"),
    ],
)
def test_a_size_has_the_unit_that_a_reader_would_take(size, text):
    assert byte_size(size) == text


@pytest.mark.parametrize(
    "text, size",
    [
        ("64 B", 64),
        ("64", 64),
        ("1.50 GiB", 1.5 * 2**30),
        ("612MB", 612 * 2**20),
        ("5 K", 5 * 1024),
        ("2 bytes.", 2),
        (" 1.5. ", 1.5),
        ("1 tib", 2**40),
    ],
)
def test_a_size_is_read(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1 GiB", "1 GiBs", "1 XB", "one", ".5 GiB", "1 GiB 2", "\u00b2 B"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="no size"):
        in_bytes(text)


@given(st.text(max_size=20))
@example("1.2.3 GiB")
@example("\u0663 GiB")
def test_any_text_is_a_size_or_refused(text):
    try:
        size = in_bytes(text)
    except ValueError:
        return
    assert size >= 0


@given(st.integers(0, 2**60))
@example(1023)
@example(1024)
def test_a_size_that_is_written_is_read_again(size):
    read = in_bytes(byte_size(size))
    # Four figures at the most are written; of a value below 1000 one decimal, or none from 100 on.
    assert read == pytest.approx(size, rel=0.06)
    assert size >= 1024 or read == size


@given(st.integers(0, 2**60), st.integers(0, 2**60))
def test_a_larger_size_is_never_written_as_a_smaller_one(one, other):
    small, large = sorted((one, other))
    assert in_bytes(byte_size(small)) <= in_bytes(byte_size(large))


def test_memory_is_named_in_whole_gib():
    assert whole_gib(85_520_809_984) == "80 GiB"


@pytest.mark.parametrize(
    "done, whole, text", [(0, 0, "0 %"), (37, 100, "37 %"), (999, 1000, "99 %"), (7, 5, "100 %")]
)
def test_how_much_is_done(done, whole, text):
    assert percent(done, whole) == text


# --- what strangers wrote ------------------------------------------------------------------------------------


@given(st.text(st.characters()))
@example(HOSTILE)
def test_a_harmless_text_has_nothing_to_obey(text):
    made = harmless(text)
    assert obeyed(made) == []
    made.encode()


@given(st.text(st.characters()))
@example(HOSTILE)
def test_what_is_kept_is_kept_and_nothing_else(text):
    made = harmless(text, keep="\t\n")
    assert set(obeyed(made)) <= {"\t", "\n"}
    assert (made.count("\n"), made.count("\t")) == (text.count("\n"), text.count("\t"))


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_an_ordinary_text_stays_as_it_is(text):
    assert harmless(text) == text


@given(st.text(st.characters()))
@example(HOSTILE)
@example("\x1c\x1d\x1e a\x0b\x0cb")
def test_one_line_is_one_line(text):
    made = one_line(text)
    assert made.isprintable()
    assert len(made.splitlines()) <= 1
    assert obeyed(made) == []


@given(st.text(st.characters()))
@example(HOSTILE)
@example("")
def test_a_name_is_shown_on_one_line_and_cut(text):
    made = shown(text)
    assert made.isprintable()
    assert 0 < len(made) <= NAME_MOST + 1
    assert obeyed(made) == []


def test_escapes_are_those_of_python():
    assert harmless("a\x1b[31m\nb\tc\r\u202e\udc80") == "a\\x1b[31m\\nb\\tc\\r\\u202e\\udc80"
    assert one_line("a\x1b[31m\nb\tc\u202e") == "a\\x1b[31m b c\\u202e"
    assert shown("layer.0.weight") == "layer.0.weight"
    assert shown("") == "''"
    assert shown("a\nb") == "'a\\nb'"
    assert re.fullmatch(r"x{120}…", shown("x" * 500))


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers are Linux's")
def test_every_signal_below_the_real_time_ones_has_its_name():
    here = {int(one): one.name for one in signal.Signals if one < 32}
    alike = {"SIGIOT": "SIGABRT", "SIGPOLL": "SIGIO", "SIGCLD": "SIGCHLD"}
    assert [alike.get(here[n + 1], here[n + 1]) for n in range(len(SIGNALS)) if n + 1 in here] == [
        name for n, name in enumerate(SIGNALS) if n + 1 in here
    ]
    assert len(here) >= 30


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("left with exit code -14", "left with exit code -14 (SIGALRM)"),
        ("left with exit code 142 after 3 s", "left with exit code 142 (128 + SIGALRM) after 3 s"),
        ("left with exit code 1", "left with exit code 1"),
        ("left with exit code 128", "left with exit code 128"),
        ("left with exit code 199", "left with exit code 199"),
        ("left with exit code -77", "left with exit code -77"),
        ("SIGSEGV, exit code -11", "SIGSEGV, exit code -11"),
    ],
)
def test_an_exit_code_that_tells_of_a_signal_names_it(sentence, said):
    assert with_signals(sentence) == said
