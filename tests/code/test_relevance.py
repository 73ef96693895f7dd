"""No file is left that holds a word of a check of scripts."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.code.relevance import PARTS, WORDS, relevant

ROOT = Path(__file__).parent.parent.parent


@settings(max_examples=300)
@given(st.from_regex(WORDS))
def test_whatever_the_pattern_matches_is_relevant(text):
    assert relevant(text)


@pytest.mark.parametrize("folder", ["gpudoctor", "tests/scripts", "checks/reproductions"])
def test_a_file_is_relevant_where_the_pattern_is_in_it(folder):
    texts = [path.read_text() for path in (ROOT / folder).rglob("*.py")]
    assert len(texts) > 5
    assert [relevant(text) for text in texts] == [WORDS.search(text) is not None for text in texts]


def test_a_part_that_no_word_follows_is_not_enough():
    text = "\n".join(f"# {part} #" for part in ("from torch import nn", "= torch.", "cuda:x", "distributed"))
    assert any(part in text for part in PARTS)
    assert not relevant(text)
    assert relevant(f"{text}\nx.cuda()")
