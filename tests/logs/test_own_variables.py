"""The variables with which a command was run, beside what it printed."""

import pytest

from gpudoctor.facts import Run
from gpudoctor.logs.explain import explain_run

LOST = (
    "torch.distributed.DistNetworkError: The client socket has timed out after 20000ms while trying to connect to "
    "(127.0.0.1, 29511).\n"
)
BY_TORCHRUN = (
    "W1004 08:00:01.000000 70 torch/distributed/run.py:852] Setting OMP_NUM_THREADS environment variable\n"
)


def primary(log, name="python"):
    return explain_run(Run(name=name, exit_code=1, seconds=25.0), log).verdict.primary


@pytest.fixture
def rank(monkeypatch):
    def set_to(number):
        monkeypatch.setenv("RANK", number)
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", "29511")

    return set_to


def test_a_rank_that_nobody_waits_for_is_why_it_could_not_connect(rank):
    rank("2")
    assert primary(LOST) == "rank-out-of-range"


def test_a_rank_that_is_right_explains_nothing(rank):
    rank("1")
    assert primary(LOST) == "rendezvous-unreachable"


def test_a_launcher_gives_its_ranks_variables_of_its_own(rank):
    rank("2")
    assert primary(BY_TORCHRUN + LOST) == "rendezvous-unreachable"
    assert primary(LOST, name="torchrun") == "rendezvous-unreachable"


def test_what_is_no_matter_of_the_network_is_left_alone(rank):
    rank("2")
    trace = 'Traceback (most recent call last):\n  File "fit.py", line 2, in <module>\n    fit()\n'
    assert primary(trace + "KeyError: 'labels'\n") == "unrecognised-error"


def test_a_rank_that_cannot_exist_waits_in_silence_until_somebody_ends_it(rank):
    ended = Run(name="python", exit_code=143, seconds=70.0, interrupted=True)
    rank("2")
    assert explain_run(ended, "").verdict.primary == "rank-out-of-range"
    rank("1")
    assert explain_run(ended, "").findings == []
    rank("2")
    assert explain_run(ended, "step 1 loss 0.5\nstep 2 loss 0.4\n").findings == []
