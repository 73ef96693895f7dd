"""Who reports, who is silent, and who stood in another collective."""

import pytest

from gpudoctor import explain

WAIT = """[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/home/me/train.py", line {line}, in <module>
[rank{rank}]:     {call}
[rank{rank}]:   File "/v/site-packages/torch/distributed/c10d_logger.py", line 83, in wrapper
[rank{rank}]:     return func(*args, **kwargs)
[rank{rank}]:   File "/v/site-packages/torch/distributed/distributed_c10d.py", line 4811, in {name}
[rank{rank}]:     work.wait()
[rank{rank}]: RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.2.3]:51842
"""


def wait(rank, line, name):
    return WAIT.format(rank=rank, line=line, call=f"dist.{name}(t)", name=name)


def test_the_rank_that_says_nothing_is_the_one_to_look_at():
    log = "world_size: 3\n" + wait(0, 20, "all_reduce") + wait(2, 20, "all_reduce")
    report = explain(log)
    assert report.verdict.primary == "gloo-peer-closed"
    assert "look at the output of rank 1, which failed or stalled first" in report.findings[0].message


def test_where_nobody_says_how_many_ranks_there_are_none_is_named():
    report = explain(wait(0, 20, "all_reduce"))
    assert "look at the output of another rank" in report.findings[0].message


def test_ranks_that_stood_in_different_calls_are_told():
    report = explain(wait(0, 20, "barrier") + wait(1, 31, "all_reduce"))
    said = "rank 0 in barrier (/home/me/train.py line 20), rank 1 in all_reduce (/home/me/train.py line 31)"
    assert said in report.verdict.sentence


def test_ranks_that_waited_in_different_calls_are_told_with_the_failure_itself():
    closed, waited = (
        "Connection closed by peer [10.1.2.3]:51842",
        "Timed out waiting 7000ms for recv operation",
    )
    log = wait(0, 20, "all_gather") + wait(1, 31, "all_reduce")
    found = explain(log.replace(closed, f"{waited} to complete")).findings[0]
    assert found.id == "rank-desync"
    assert "rank 0 in all_gather (/home/me/train.py line 20), rank 1 in all_reduce" in found.message


def test_ranks_that_stood_in_the_same_call_are_not():
    report = explain(wait(0, 20, "barrier") + wait(1, 31, "barrier"))
    assert "different calls" not in report.verdict.sentence


def test_a_known_failure_shows_the_users_own_line():
    report = explain(wait(0, 20, "all_reduce"))
    assert (
        report.findings[0].evidence[-1].text
        == 'File "/home/me/train.py", line 20, in <module>: dist.all_reduce(t)'
    )
    assert report.findings[0].location.line == 20


def timed_out(rank, operation, number=40, group=""):
    work = f"WorkNCCL(SeqNum={number}, OpType={operation}, NumelIn=8, NumelOut=8, Timeout(ms)=600000)"
    return (
        f"[rank{rank}]:[E220 10:00:0{rank}.123456789 ProcessGroupNCCL.cpp:632] [{group}Rank {rank}] Watchdog caught "
        f"collective operation timeout: {work} ran for 600021 milliseconds before timing out.\n"
    )


def test_ranks_whose_watchdogs_name_different_collectives_did_not_make_the_same_calls():
    report = explain(timed_out(0, "ALLREDUCE") + timed_out(1, "BROADCAST"))
    assert report.verdict.primary == "rank-desync"
    assert (
        "the ranks wait in different collectives, here in ALLREDUCE, number 40" in report.findings[0].message
    )


def test_nor_did_ranks_that_have_come_to_different_numbers_in_one_group():
    group = "PG ID 0 PG GUID 0(default_pg) "
    report = explain(timed_out(0, "ALLREDUCE", 40, group) + timed_out(1, "ALLREDUCE", 41, group))
    assert report.verdict.primary == "rank-desync"


@pytest.mark.parametrize(
    "log",
    [
        timed_out(0, "ALLREDUCE") + timed_out(1, "ALLREDUCE"),
        timed_out(0, "ALLREDUCE", 40) + timed_out(1, "ALLREDUCE", 90),  # perhaps of different groups
        timed_out(0, "ALLREDUCE", 4, "PG ID 1 PG GUID 1(a) ")
        + timed_out(1, "BROADCAST", 9, "PG ID 1 PG GUID 2(b) "),
        timed_out(0, "SEND") + timed_out(1, "RECV"),
        timed_out(0, "ALLREDUCE") + timed_out(0, "BROADCAST"),
    ],
)
def test_a_watchdogs_word_alone_is_a_time_out(log):
    assert explain(log).verdict.primary == "nccl-timeout"
