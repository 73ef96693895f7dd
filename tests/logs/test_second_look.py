"""A paste of few lines in which no pattern shows at first."""

import pytest

from gpudoctor import explain
from gpudoctor.logs.second_look import message_in

QUOTED = {
    "I keep getting `ModuleNotFoundError: No module named 'einops'` on the second epoch": "module-missing",
    'My job ends with "RuntimeError: Connection timed out" after some minutes': "rendezvous-unreachable",
    "Two cards, and then ModuleNotFoundError: No module named 'triton' Any idea how to go on?": "module-missing",
}
CUT = {
    "# RuntimeError: DistributedDataParallel is not needed when": "ddp-no-grad",
    "ValueError: sampler option is mutually ...": "sampler-shuffle-conflict",
    "RuntimeError: Trying to backward through the graph a": "backward-twice",
}
OF_NO_CHECK = [
    "I keep getting `KeyError: 'labels'` on the second epoch",
    "RuntimeError: the table of words is empty",  # begins as nothing that is known
    "RuntimeError: cuda runtime error (9)",  # a whole number, and not the beginning of 999
]


@pytest.mark.parametrize(("text", "id"), [*QUOTED.items(), *CUT.items()])
def test_what_is_quoted_or_cut_is_known(text: str, id: str):
    assert explain(text + "\n").verdict.primary == id


@pytest.mark.parametrize("text", OF_NO_CHECK)
def test_what_no_check_knows_stays_so(text: str):
    assert explain(text + "\n").verdict.primary in (None, "unrecognised-error")


def test_the_message_ends_where_the_sentence_goes_on():
    assert message_in("we see `KeyError: 'a b'` often") == "KeyError: 'a b'"
    assert message_in("it says ValueError: no rows When I use one card it runs") is not None
    assert message_in("no error is named here") is None
    assert message_in('{"level": "INFO", "error": "ValueError: no rows"}') is None


def test_a_pattern_of_a_line_s_beginning_looks_behind_a_rank_s_mark():
    text = "[rank1]: RuntimeError: Failed to import a.b because of the following error:\n[rank1]: No module named 'mergekit'\n"
    assert explain(text).verdict.primary == "module-missing"
