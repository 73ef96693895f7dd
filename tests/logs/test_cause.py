"""Cause and consequence: what went wrong first, on which rank, and what only followed."""

import pytest

from gpudoctor import explain
from gpudoctor.facts import Run
from gpudoctor.logs.explain import explain_run
from gpudoctor.model import Role, Severity
from gpudoctor.registry import Registry
from gpudoctor.report import Status

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of "
    "which 1.19 GiB is free."
)
TRACE = """\
Traceback (most recent call last):
  File "/home/user/train.py", line 12, in main
    loss.backward()
  File "/venv/lib/python3.12/site-packages/torch/_tensor.py", line 648, in backward
    torch.autograd.backward(
"""
TIMEOUT = (
    "[E ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=811, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)
REMOTE = (
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
)
FAILED = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-04_05:06:07
  host      : node0
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 4711)
  error_file: <N/A>
============================================================
"""


def on(rank, text):
    return "\n".join(f"[rank{rank}]: {line}" for line in text.strip().split("\n")) + "\n"


def causes(report):
    return [f.id for f in report.findings if f.role is Role.CAUSE]


def consequences(report):
    return [f.id for f in report.findings if f.role is Role.CONSEQUENCE]


def test_one_rank_runs_out_of_memory_and_the_others_only_notice():
    text = (
        on(1, TRACE + OOM)
        + on(0, REMOTE)
        + on(0, TIMEOUT.format(0))
        + on(2, TIMEOUT.format(2))
        + on(3, TIMEOUT.format(3))
        + FAILED
    )
    report = explain(text, name="train.log")
    assert causes(report) == ["cuda-oom"]
    cause = report.findings[0]
    assert (cause.severity, cause.evidence[0].rank, cause.evidence[0].where) == (
        Severity.ERROR,
        1,
        "train.log:6",
    )
    assert set(consequences(report)) >= {"nccl-timeout", "child-failed"}
    assert all(f.severity is Severity.NOTE and not f.fixes for f in report.findings[1:])
    assert "(reported by ranks 0, 2, 3)" in next(f.message for f in report.findings if f.id == "nccl-timeout")
    assert report.verdict.primary == "cuda-oom"
    assert "rank 1" in report.verdict.sentence


def test_the_order_in_the_text_does_not_matter_where_a_cause_is_by_nature():
    report = explain(on(0, TIMEOUT.format(0)) + FAILED + on(1, TRACE + OOM))
    assert causes(report) == ["cuda-oom"]


def test_time_stamps_give_the_order():
    first = "2026-03-04T05:06:01Z [rank1]: RuntimeError: Distributed package doesn't have NCCL built in\n"
    later = f"2026-03-04T05:06:09Z [rank0]: {OOM}\n"
    assert causes(explain(later + first)) == ["nccl-not-built"]
    assert causes(explain(first.replace("06:01", "06:10") + later)) == ["cuda-oom"]


def test_a_log_with_only_secondary_symptoms_says_so():
    report = explain(on(0, TIMEOUT.format(0)) + on(2, TIMEOUT.format(2)) + FAILED)
    assert causes(report) == ["nccl-timeout"]
    assert "Another rank failed or stalled first, and its output is not here" in report.verdict.sentence
    assert any("--tee" in fix.command for fix in report.findings[0].fixes)
    assert any("TORCH_FR_BUFFER_SIZE" in fix.command for fix in report.findings[0].fixes)


def test_a_fault_outside_the_catalogue_is_the_first_exception_its_rank_and_the_users_own_frame():
    report = explain(on(2, TRACE + "KeyError: 'labels'") + on(0, TIMEOUT.format(0)) + FAILED, name="x.log")
    (cause,) = [f for f in report.findings if f.role is Role.CAUSE]
    assert cause.id == "unrecognised-error"
    assert "KeyError: 'labels'" in cause.message
    assert "(reported by rank 2)" in cause.message
    assert (cause.location.path, cause.location.line) == ("/home/user/train.py", 12)
    assert cause.evidence[0].where == "x.log:6"
    assert report.verdict.status is Status.BROKEN
    assert set(consequences(report)) == {"nccl-timeout", "child-failed"}


def test_a_traceback_that_was_caught_and_retried_does_not_win():
    text = (
        TRACE + OOM + "\nretrying with half of the batch\n"
        + "".join(f"epoch 1 step {n} loss 0.{n}\n" for n in range(5))
        + TRACE + "KeyError: 'labels'\n"
    )  # fmt: skip
    report = explain(text)
    assert causes(report)[0] == "unrecognised-error"
    survived = next(f for f in report.findings if f.id == "cuda-oom")
    assert survived.severity is Severity.NOTE
    assert "training went on after it" in survived.message


def test_training_that_went_on_to_its_end_is_no_failure():
    text = TRACE + OOM + "\n" + "".join(f"step {n} loss 0.{n}\n" for n in range(9)) + "Training completed\n"
    report = explain(text)
    assert report.worst() is Severity.NOTE
    assert report.verdict.status is Status.HEALTHY


def test_a_keyword_in_the_users_own_print_does_not_win():
    text = "note: after CUDA out of memory. lower the batch\n" + TRACE + "KeyError: 'labels'\n"
    assert explain(text).verdict.primary == "unrecognised-error"
    text = TRACE + "KeyError: 'labels'\n\nnote to self: CUDA out of memory. is what I had yesterday\n"
    assert explain(text).verdict.primary == "unrecognised-error"


def test_an_exception_at_exit_is_not_the_cause():
    text = (
        TRACE
        + OOM
        + "\nException ignored in: <function Loader.__del__ at 0x7f>\n"
        + TRACE
        + "TypeError: 'NoneType' object is not iterable\n"
    )
    assert causes(explain(text)) == ["cuda-oom"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "epoch 1 loss 0.3\nepoch 2 loss 0.2\n",
        "W1120 00:16:41.369000 370001 torch/distributed/run.py:803] Setting OMP_NUM_THREADS environment variable for each process to be 1\n",
        "[W socket.cpp:663] [c10d] The IPv6 network addresses of (node0, 29500) cannot be retrieved (gai error: -9 - Address family)\n",
        "node1:104:104 [0] NCCL INFO misc/socket.cc:47 -> 3\nnode1:104:104 [0] NCCL INFO comm 0x1 rank 0 - Abort COMPLETE\n",
        "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.\n",
        "[rank0]:[W1020 20:38:36.1 ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not called before program exit\n",
        "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.\n",
        "RequestsDependencyWarning: urllib3 (2.0.7) doesn't match a supported version!\n",
    ],
)
def test_noise_is_never_an_error(text):
    assert explain(text).worst() in (None, Severity.NOTE)


def test_a_file_without_time_stamps_leaves_the_order_to_the_text(tmp_path):
    from gpudoctor.logs.explain import explain_lines
    from gpudoctor.logs.lines import read_lines
    from gpudoctor.registry import Registry

    registry = Registry()
    first = read_lines(
        [(1, "[rank1]: RuntimeError: Distributed package doesn't have NCCL built in")], "a.log"
    )
    later = read_lines([(1, f"2026-03-04T05:06:09Z [rank0]: {OOM}")], "b.log")
    report = explain_lines([*first, *later], registry)
    assert causes(report) == ["nccl-not-built"]


def test_a_crash_in_native_code_alone_sends_nobody_to_another_rank():
    report = explain("train.sh: line 3: 4711 Segmentation fault (core dumped) python train.py\n")
    assert causes(report) == ["child-segfault"]
    assert "Another rank" not in report.verdict.sentence
    assert "What lies behind it does not show here" in report.verdict.sentence


def test_a_short_paste_may_be_retyped_with_other_capitals():
    assert causes(explain("runtimeerror: cuda OUT OF MEMORY. tried to allocate 2.00 gib")) == ["cuda-oom"]
    assert explain("we never saw an out of memory error\n").findings == []


LOCAL = '''"""The quota of our own storage is used up."""
from gpudoctor import Check, Fix, Severity
check = Check(
    severity=Severity.ERROR,
    symptoms=[r"Disk quota exceeded: '/nfs/(?P<project>\\w+)"],
    message="project <project> has used up its quota",
    fixes=[Fix("Ask for more", "quota-request <project>")],
)
'''


def test_a_sites_own_check_is_the_cause_and_the_built_in_one_its_echo(tmp_path):
    line = "OSError: [Errno 122] Disk quota exceeded: '/nfs/acme/model.pt'\n"
    assert causes(explain(line)) == ["disk-full"]
    (tmp_path / "nfs_quota.py").write_text(LOCAL)
    report = explain(line, checks=[tmp_path])
    assert (causes(report), consequences(report)) == (["nfs-quota"], ["disk-full"])
    assert report.verdict.primary == "nfs-quota"
    assert report.findings[0].message == "project acme has used up its quota"


@pytest.mark.parametrize("severity", ["WARNING", "NOTE"])
def test_a_sites_own_check_is_the_cause_whatever_its_severity(tmp_path, severity):
    (tmp_path / "nfs_quota.py").write_text(LOCAL.replace("Severity.ERROR", f"Severity.{severity}"))
    report = explain("OSError: [Errno 122] Disk quota exceeded: '/nfs/acme/model.pt'\n", checks=[tmp_path])
    assert (causes(report), consequences(report)) == (["nfs-quota"], ["disk-full"])
    assert report.findings[0].severity is Severity.ERROR  # it is what ended the training
    text = OOM + "\nOSError: [Errno 122] Disk quota exceeded: '/nfs/acme/model.pt'\n"
    assert causes(explain(text, checks=[tmp_path])) == ["cuda-oom"]


def test_a_sites_own_check_comes_before_a_built_in_warning_that_was_raised(tmp_path):
    """Where a built-in warning is the cause, for it was raised, the site's own one in its line is."""
    built_in = LOCAL.replace("Severity.ERROR", "Severity.WARNING")
    (tmp_path / "disk_full.py").write_text(built_in.replace('r"Disk', 'r"Errno 122. Disk'))
    (tmp_path / "nfs_quota.py").write_text(LOCAL.replace("Severity.ERROR", "Severity.NOTE"))
    text = TRACED.format("OSError: [Errno 122] Disk quota exceeded: '/nfs/acme/model.pt'")
    registry = Registry((tmp_path,))
    assert registry.check("disk-full").site
    registry.check("disk-full").site = False
    assert causes(explain(text, checks=registry))[0] == "nfs-quota"


TRACED = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    save()\n{}\n'


def test_a_sites_own_check_in_another_line_is_no_better_than_a_built_in_one(tmp_path):
    (tmp_path / "nfs_quota.py").write_text(LOCAL)
    text = OOM + "\nOSError: [Errno 122] Disk quota exceeded: '/nfs/acme/model.pt'\n"
    assert causes(explain(text, checks=[tmp_path])) == ["cuda-oom"]


SUMMARY = """E1122 04:00:28.5 23450 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -11) local_rank: 0 (pid: 7) of binary: python
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_04:00:28
  host      : node1
  rank      : 5 (local_rank: 0)
  exitcode  : -11 (pid: 7)
"""


def test_a_local_rank_is_not_taken_for_the_rank():
    (finding,) = explain(SUMMARY).findings
    assert finding.ranks == [5]
    assert (
        finding.message
        == "a worker (local rank 0) crashed in native code, exit code -11 (SIGSEGV) (reported by rank 5)"
    )
    (finding,) = explain(SUMMARY.splitlines()[0]).findings
    assert (finding.ranks, "local rank 0" in finding.message) == ([], True)


def own(rank, error):
    frames = f'[rank{rank}]:   File "/home/me/train.py", line 31, in <module>\n[rank{rank}]:     main()\n'
    return f"[rank{rank}]: Traceback (most recent call last):\n{frames}[rank{rank}]: {error}\n"


def test_what_ended_another_rank_before_is_the_cause_whether_it_is_known_or_not():
    unknown, known = (
        "OSError: [Errno 5] Input/output error",
        "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB",
    )
    report = explain(own(1, unknown) + own(0, known))
    assert [f.id for f in report.findings] == ["unrecognised-error", "cuda-oom"]
    assert report.findings[0].ranks == [1]
    assert explain(own(0, known) + own(1, unknown)).verdict.primary == "cuda-oom"
    # One process that went on after the first did not end by it.
    assert explain(own(1, unknown) + own(1, known)).verdict.primary == "cuda-oom"


def test_what_ended_the_first_try_is_the_cause_of_what_the_next_one_met():
    full = "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"
    failed = (
        "E1123 04:58:59.823000 177 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {}) "
        "local_rank: 0 (pid: 17) of binary: python\n"
    )
    trace = (
        'Traceback (most recent call last):\n  File "/home/me/train.py", line {}, in <module>\n    go()\n{}\n'
    )
    first = trace.format(12, "BlockingIOError: lustre went away")
    text = first + failed.format(1) + trace.format(6, full) + failed.format(1)
    assert explain(text).verdict.primary == "unrecognised-error"
    # Without the launcher's word what is known says more.
    assert explain(first + trace.format(6, full)).verdict.primary == "cuda-oom"


def test_the_exception_of_a_loader_worker_is_quoted_not_that_it_was_caught():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/fit.py", line 33, in main\n    for x, y in loader:\n'
        '  File "/v/site-packages/torch/_utils.py", line 750, in reraise\n    raise exception\n'
        "KeyError: Caught KeyError in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
        '  File "/home/me/data.py", line 17, in __getitem__\n    return self.rows[i]["label"]\n'
        "KeyError: 'label'\n"
    )
    (finding,) = explain(text).findings
    assert finding.message == "KeyError: 'label', raised below /home/me/data.py line 17 in __getitem__"
    assert finding.evidence[-1].text.endswith('in __getitem__: return self.rows[i]["label"]')


def test_the_clock_beats_the_order_of_the_files(tmp_path):
    """A node that was told to stop is no cause where another one had failed before."""
    ended = "W1122 04:01:08.5 23450 torch/distributed/elastic/agent/server/api.py:739] Received Signals.SIGTERM death signal"
    failed = "E1122 04:00:28.5 99 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0"
    (tmp_path / "a-node0.log").write_text(f"epoch 1 loss 3\n{ended}\n")
    (tmp_path / "b-node1.log").write_text(own(1, OOM) + failed + "\n")
    report = explain(tmp_path)
    assert report.verdict.primary == "cuda-oom"
    assert report.findings[0].ranks == [1]


def test_a_rank_that_left_without_a_word_is_the_cause_and_not_the_lost_connection():
    root = "ChildFailedError: \nRoot Cause (first observed failure):\n  rank      : {} (local_rank: {})\n  exitcode  : 1 (pid: 9)\n"
    left = on(
        0, "RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:9397.\n"
    )
    assert causes(explain(left + root.format(1, 1))) == ["child-failed"]
    assert causes(explain(left + root.format(0, 0))) == ["gloo-peer-closed"]


INTERRUPTED = (
    '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/home/me/fit.py", line 11, in <module>\n'
    "[rank1]:     step()\n[rank1]: KeyboardInterrupt\n"
)
LOST = (
    '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/home/me/fit.py", line 12, in <module>\n'
    "[rank0]:     dist.barrier()\n[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer "
    "[127.0.0.1]:32472.\n"
)
ENDED = "E1122 19:25:16.586000 15584 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -2) local_rank: 1 (pid: 16662) of binary: python\n"


def test_the_rank_that_was_interrupted_is_why_another_one_lost_it():
    report = explain(INTERRUPTED + LOST + ENDED)
    assert [(f.id, f.severity) for f in report.findings] == [
        ("interrupted", Severity.ERROR),
        ("gloo-peer-closed", Severity.NOTE),
    ]
    assert report.findings[0].ranks == [1]
    # the other way round, nobody knows; without the launcher, neither
    assert explain(LOST + INTERRUPTED + ENDED).findings[0].id == "gloo-peer-closed"
    assert explain(INTERRUPTED + LOST).findings[0].id == "gloo-peer-closed"


def test_an_interruption_of_the_reader_is_no_failure():
    run = Run(name="torchrun", exit_code=130, seconds=2.0, interrupted=True)
    assert explain_run(run, INTERRUPTED + LOST + ENDED).worst() is Severity.NOTE


def test_a_rank_that_is_aborted_without_a_word_followed_the_hang_that_another_had_told():
    dump = """\
Timeout (0:00:08)!
Thread 0x00007f20e57ceb80 (most recent call first):
  File "/venv/lib/torch/distributed/distributed_c10d.py", line 4181 in all_reduce
  File "train.py", line 16 in <module>
"""
    failed = FAILED.replace("  <NO_OTHER_FAILURES>\n", "{}").replace(
        "rank      : 1 (local_rank: 1)", "rank      : 0"
    )
    other = "[1]:\n  time      : 2026-03-04_05:06:07\n  rank      : 1 (local_rank: 1)\n  exitcode  : {} (pid: 4712)\n"
    assert explain(dump + failed.format(other.format(-6))).verdict.primary == "silent-hang"
    assert explain(failed.format(other.format(-6))).verdict.primary == "child-segfault"
    assert explain(dump + failed.format(other.format(-11))).verdict.primary == "child-segfault"


SRUN = "srun: error: n0: task {}: {}\n"


def test_a_task_that_srun_says_was_ended_by_a_signal_is_why_another_one_lost_it():
    lost = "0: [rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:5: Connection reset\n"
    steps = "".join(f"{rank}: step {n}\n" for n in range(3) for rank in (0, 1))
    other = SRUN.format(0, "Exited with exit code 1")
    for said in ("Segmentation fault", "Bus error", "Illegal instruction (core dumped)"):
        report = explain(steps + lost + SRUN.format(1, said) + other)
        assert [finding.id for finding in report.findings[:2]] == ["child-segfault", "gloo-peer-closed"]
    # It ended itself, as C++ does where a connection is lost.
    report = explain(steps + lost + SRUN.format(1, "Aborted") + other)
    assert report.findings[0].id == "gloo-peer-closed"


KILLED = "srun: error: n1: tasks 0-2: Killed\n"
ENDS = "srun: Terminating StepId=81.0\n"


@pytest.mark.parametrize(
    ("log", "primary"),
    [
        (SRUN.format(3, "Exited with exit code 1") + ENDS + KILLED, "child-failed"),
        (
            SRUN.format(3, "Exited with exit code 1") + ENDS + SRUN.format(1, "Exited with exit code 137"),
            "child-failed",
        ),
        (KILLED + ENDS + SRUN.format(3, "Exited with exit code 1"), "host-oom-killed"),
        (SRUN.format(3, "Exited with exit code 0") + KILLED, "host-oom-killed"),
        (
            SRUN.format(3, "Exited with exit code 1")
            + "slurmstepd: error: Detected 1 oom_kill event in StepId=81.0.\n"
            + KILLED,
            "host-oom-killed",
        ),
    ],
)
def test_those_that_a_launcher_killed_because_one_had_failed_are_no_cause(log, primary):
    assert explain(f"step 3 loss 0.4\n{log}").verdict.primary == primary


def test_a_summary_whose_root_cause_was_cut_off_still_tells_who_left_by_itself():
    row = "[{0}]:\n  rank      : {0} (local_rank: {0})\n  exitcode  : {1} (pid: 7{0})\n"
    head = FAILED[: FAILED.index("  <NO")]
    cut = "Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n"
    rows = row.format(1, 1) + row.format(2, -9) + row.format(0, -15)
    assert explain(head + rows + cut).verdict.primary == "child-failed"
    assert explain(head + row.format(2, -9) + cut).verdict.primary == "host-oom-killed"


def test_what_somebody_asks_above_a_launchers_words_is_no_reason_to_leave():
    failed = "E0304 05:06:07.8 8 torch/distributed/elastic/multiprocessing/api.py:8] failed (exitcode: 1) local_rank: 0 (pid: 9) of binary: python\n"
    report = explain(f"is the memory of my cards not enough for it ?\n\n{failed}")
    assert report.findings[0].id == "child-failed"
