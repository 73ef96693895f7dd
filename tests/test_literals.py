"""No pattern is lost by searching for its literals first."""

import json
import random
import re

import pytest

from gpudoctor.literals import BIG, RARE, Finder, Vague, literals
from gpudoctor.logs.literal_index import encoded_index, registry_finder, symptom_literals
from gpudoctor.logs.scan import MARKERS
from gpudoctor.registry import Registry
from tests.benchmarks.make_log import healthy
from tests.matching_text import matching_texts

REGISTRY = Registry()
CHECKS = REGISTRY.checks()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"EADDRINUSE", {"EADDRINUSE"}),
        (r"port (?P<port>\d+) in use", {" in use"}),
        (
            r"[Ee]xpected (it|them) here",
            {"Expected it here", "Expected them here", "expected it here", "expected them here"},
        ),
        (r"colou?r wrong", {"color wrong", "colour wrong"}),
        (r"(?:alpha|beta\d)-gamma", {"-gamma"}),
        (r"(?:alphabet|betatron \d+)", {"alphabet", "betatron "}),
        (r"(?<!not )broken(?! glass)", {"broken"}),
        (r"(long text )+x", {"long text "}),
    ],
)
def test_the_rarest_text_that_every_match_holds(pattern, expected):
    assert literals(pattern) == expected


@pytest.mark.parametrize(
    "pattern", [r"\d+", r"(?:longer text)?", r"(?i)some error", r"abc", r"(?i:some error)", r".*"]
)
def test_a_pattern_without_a_fixed_text_is_refused(pattern):
    with pytest.raises(Vague):
        literals(pattern)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_whatever_a_symptom_matches_holds_one_of_its_literals(check):
    for symptom in check.symptoms:
        known = literals(symptom.pattern)
        for text in matching_texts(symptom.pattern, 8):
            assert any(literal in text for literal in known), (symptom.pattern, text)


def test_for_nearly_every_symptom_there_are_such_texts():
    patterns = [symptom.pattern for check in CHECKS for symptom in check.symptoms]
    unwritten = [pattern for pattern in patterns if not any(matching_texts(pattern, 8))]
    assert len(unwritten) < len(patterns) / 100, unwritten  # the examples of their checks show those


def test_the_index_beside_the_checks_is_what_the_patterns_say(generated):
    assert generated("checks/literals.json", encoded_index(CHECKS).decode())


def test_the_finder_of_the_index_knows_every_symptom():
    owners = {owner for group in registry_finder(REGISTRY)._owners for owner in group if owner is not None}
    assert owners == {(check.id, number) for check in CHECKS for number, _ in enumerate(check.symptoms)}


def test_a_package_without_an_index_is_read_as_it_is(tmp_path):
    (tmp_path / "my_own.py").write_text(
        '"""Mine.\n\n## What happens\n"""\nfrom gpudoctor import Check, Severity\n'
        'check = Check(severity=Severity.ERROR, symptoms=["my very own failure"], message="mine")\n'
    )
    registry = Registry((tmp_path,))
    hits = [
        owner for hit in registry_finder(registry).hits(b"so: my very own failure!") for owner in hit.owners
    ]
    assert hits == [("my-own", 0)]
    assert symptom_literals(registry.check("my-own")) == [["my very own failure"]]


def test_literals_that_overlap_are_all_found():
    find = Finder([("out of memory", 1), ("memory", 2), ("out of memory", 3)])
    assert sorted(owner for hit in find.hits(b"CUDA out of memory") for owner in hit.owners) == [1, 2, 3]


def test_what_a_long_text_was_searched_with_is_made_anew_once_it_was_given_back():
    find, long = Finder([("out of memory", 1), ("x" * 40, 2)]), b"out of memory" + bytes(BIG)
    assert find.find(long) == [(0, 0, 13)]
    assert "_fast" in vars(find)
    find.release()
    assert "_fast" not in vars(find)
    find.release()
    assert find.find(long) == [(0, 0, 13)]


def test_a_text_in_another_alphabet_is_found_too():
    find = Finder([("größer als", 1)])
    assert [hit.owners for hit in find.hits("x größer als y".encode())] == [(1,)]


def test_a_long_text_is_searched_in_a_table_of_128_columns():
    find = Finder([("größer als", 1), ("out of memory", 2)])
    assert [n for n, _, _ in find.find("x größer als y, out of memory".encode() + bytes(BIG))] == [1]
    used = {byte for text in registry_finder(Registry()).texts if text.isascii() for byte in text}
    # a class of its own for each byte in use, and for each range of others between them
    assert len(used) + sum(byte + 1 not in used for byte in used) < 127


def test_markers_are_not_in_every_line():
    assert all(len(marker) >= 7 and re.search(r"[A-Za-z]{5}", marker) for marker in MARKERS)


def test_lines_of_a_training_that_goes_well_hold_no_literal():
    """Each such line would be a candidate for patterns: a gigabyte of them took six times as long."""
    chance = random.Random(3)
    lines = [line for line in (healthy(chance, step) for step in range(2000)) if "NCCL INFO" not in line]
    known = json.loads(encoded_index(CHECKS))
    every = {text for alternatives in known.values() for each in alternatives for text in each}
    assert len(every) > 4000
    assert {text for text in every if any(text[:RARE] in line for line in lines)} == set()


def test_a_long_text_is_searched_for_the_beginning_of_what_is_long():
    find = Finder([("the adapter of the third node does not answer any more", 1)])
    assert [n for n, _, _ in find.find(b"the adapter of the third node" + bytes(BIG))] == [0]
    assert find.find(b"the adapter of the" + bytes(BIG)) == []
