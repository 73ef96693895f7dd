"""What real trainings printed, two gloo ranks on torch 2.15, each with one provoked fault or with frightening output.

A run that ended well has no finding above a note. The folders of `real_runs` are sets that were made and labelled without a look at how gpudoctor reads; MISREAD names what
is still read in another way, and why.
"""

import json
from pathlib import Path

import pytest

from gpudoctor import explain
from gpudoctor.model import Role, Severity
from gpudoctor.report import Status

RUNS = Path(__file__).parent / "real_runs"
LABELS = {
    f"{path.parent.name}/{name}": label
    for path in sorted(RUNS.glob("*/labels.json"))
    for name, label in json.loads(path.read_text()).items()
}
MISREAD = {
    "first/broken-034-rank2of2": "nothing is printed: only the exit code, which `run` has, tells of a failure",
    "first/broken-083-rank0-name": "that the name exists on rank 0 alone does not show in the log",
    "first/broken-138-readonly": "a matter of the label: a folder for results that cannot be made is checkpoint-directory",
    "first/broken-140-parent-missing": "a matter of the label: a folder that is not there is checkpoint-directory",
    "first/broken-156-mpi": "a matter of the label: a backend that is not built is distributed-not-built",
    "second/broken-009-missing-ckpt": "a matter of the label: a checkpoint that is not there is checkpoint-directory",
    "second/broken-018-deep-trace": "the plug-in that is missing is the script's own, which its name does not tell",
    "second/broken-028-restart-late": "a tensor's index error is taken for one of an embedding",
    "second/broken-047-cuda-home": "an IndexError in cpp_extension; its traceback alone tells what it is",
    "second/broken-049-lit-tb": "the module's name stands only in Lightning's own sentence",
    "second/broken-103-view-shape": "a matter of the label: elements that do not fit a shape are matmul-shapes' neighbour",
    "third/broken-061-reshape-patch": "a shape of the script's own is taken for matmul-shapes",
    "third/broken-062-broadcast-mask": "a shape of the script's own is taken for matmul-shapes",
    "third/broken-067-segv-mp": "what the native code said before it aborted is quoted, not that it did",
    "third/broken-082-queue-hang": "a time limit ended it because it hung: the log shows that alone",
    "third/broken-088-r0name": "that the name exists on rank 0 alone does not show in the log",
    "third/broken-094-foreign": "nothing is printed: only the exit code, which `run` has, tells of a failure",
    "fourth/broken-009-taskgroup": "a file that may not be read is taken for a folder of checkpoints",
    "eighth/ok-005-tqdm-postfix-err": "an error of one sample is printed last, below the bar that is full",
    "eighth/ok-008-kill-straggler": "the exit code of a process that the program ended itself is the last line",
    "ninth/ok-003-tqdm-over": "the same caught traceback is printed twice, the last of the log, below the bar that is full",
    "tenth/ok-003-last-traceback-print": "a caught traceback that begins in the script is the last of the log",
    "tenth/ok-004-backtest-skips": "a count of failures is the last line: a warning, since the program told of each in its own words",
    "tenth/ok-011-final-plot-fails-in-main": "a caught traceback is the last of the log, below the result on the test set: a warning",
    "twelfth/ok-tee": "a caught traceback that begins in the script is the last of the log, and torchrun says nothing",
    "fifth/ok-018-rank-interleave-end": "a caught traceback is the last of the log, without a word",
}
FAULTS = {
    "abort": "child-segfault",
    "argparse": "unrecognised-error",
    "barrier-rank0": "rank-desync",
    "chained": "unrecognised-error",
    "early-exit0": "gloo-peer-closed",
    "exit3": "child-failed",
    "keyerror": "unrecognised-error",
    "nonfinite": "loss-not-finite",
    "runtimeerror-own": "unrecognised-error",
    "segv": "child-segfault",
    "shadow-random": "torch-shadowed",
    "sigkill": "host-oom-killed",
    "sigterm": "child-failed",
    "sysexit5": "child-failed",
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_cause_of_a_run_that_failed(name):
    report = explain(RUNS / f"{name}.txt")
    assert report.verdict.primary == FAULTS[name]
    assert report.findings[0].role is Role.CAUSE
    assert report.findings[0].severity is Severity.ERROR


@pytest.mark.parametrize("path", sorted(RUNS.glob("ok-*.txt")), ids=lambda path: path.stem)
def test_a_run_that_ended_well_has_no_error_whatever_it_printed(path):
    report = explain(path)
    assert report.worst() in (None, Severity.NOTE)
    assert report.verdict.status is Status.HEALTHY


def test_how_a_rank_ended_comes_before_what_the_others_say_of_having_lost_it():
    report = explain(RUNS / "exit3.txt")
    assert [f.id for f in report.findings[:2]] == ["child-failed", "gloo-peer-closed"]
    assert report.findings[1].role is Role.CONSEQUENCE
    assert "with exit code 3" in report.findings[0].message
    assert report.findings[0].ranks == [1]
    assert "Another rank" not in report.verdict.sentence


def test_what_was_handled_is_told_as_such():
    report = explain(RUNS / "ok-ckpt-fallback.txt")
    (finding,) = report.findings
    assert (finding.id, finding.handled) == ("checkpoint-corrupt", True)
    assert report.verdict.sentence.startswith("Nothing ended the training in ")
    assert "on the way: checkpoint-corrupt" in report.verdict.sentence


def test_an_elastic_restart_that_recovered_leaves_notes_of_what_came_before():
    text = (RUNS / "keyerror.txt").read_text()
    again = "".join(f"epoch {n} loss 0.{n}\n" for n in range(6))
    report = explain(
        text.partition('Traceback (most recent call last):\n  File "/venv/bin/torchrun')[0] + again
    )
    assert report.worst() in (None, Severity.NOTE)


@pytest.mark.parametrize("name", LABELS)
def test_a_labelled_run_is_read_rightly(name):
    label = LABELS[name]
    report = explain(RUNS / f"{name}.txt")
    errors = [finding.id for finding in report.findings if finding.severity is Severity.ERROR]
    if label["id"] == "healthy":
        right = report.worst() in (None, Severity.NOTE)
    elif label["id"] == "other":
        right = set(errors) <= {"unrecognised-error", *label["also"]}
    else:
        right = bool(report.findings) and report.findings[0].id in {label["id"], *label["also"]}
        # A fault of the script's own may be told as unknown.
        right = right or ("other" in label["also"] and set(errors) <= {"unrecognised-error"})
    assert right != (name in MISREAD), (errors, label)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rdzv-backend", "ValueError: The rendezvous backend 'c10' is not registered."),
        ("rdzv-backend", "from KeyError: 'c10'"),
        ("tied-save", "RuntimeError: Some tensors share memory"),
        (
            "rpc-remote",
            "NameError: name 'TABLE_SCALE' is not defined, raised below /home/me/t.py line 2 in lookup",
        ),
        ("npz-as-pt", "it holds w.npy, as numpy.savez writes it"),
        ("static-graph", "static_graph=True promises DDP"),
        ("lightning-gpu", "Lightning was to use GPUs, and torch sees none"),
        ("redirect-logs", "look at the output of rank 1, which failed or stalled first"),
        ("loss-dict", "torchrun names no other failure: the other rank had ended by itself"),
        ("scatter-list", "what a rank itself gave to scatter does not fit (3 came where 2 was expected)"),
    ],
)
def test_what_is_said_of_a_failure(name, said):
    finding = explain(RUNS / "fourteenth" / f"broken-{name}.txt").findings[0]
    assert finding.severity is Severity.ERROR
    assert said in finding.message


def test_a_store_that_another_node_had_shut_is_no_failure_and_one_that_a_worker_lost_is():
    path = RUNS / "fifteenth" / "ok-ns-ipv6-warn.txt"
    assert explain(path).worst() in (None, Severity.NOTE)
    lost = "RuntimeError: Connection closed by peer [10.0.0.2]:4711"
    worker = f'[rank1]: Traceback (most recent call last):\n[rank1]:   File "train.py", line 4, in <module>\n[rank1]: {lost}\n'
    assert explain(path.read_text() + worker).findings[0].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("name", "first"),
    [
        (
            "iterable-sampler",
            "itertools.islice(self.samples(), dist.get_rank(), None, dist.get_world_size())",
        ),
        ("spawn-short", "mp.spawn(worker, args=(nprocs,), nprocs=nprocs)"),
        ("spawn-file-handle", 'log = open(f"train.{rank}.txt", "w")'),
        ("anomaly", "torch.sqrt(variance.clamp_min(1e-8))"),
        ("sighup", "setsid torchrun"),
        ("scatter-list", "dist.scatter_object_list(mine, pieces"),
    ],
)
def test_the_first_fix_is_the_one_that_mended_the_run(name, first):
    assert first in explain(RUNS / "fourteenth" / f"broken-{name}.txt").findings[0].fixes[0].command


def test_the_last_words_of_a_rank_that_left_with_an_exit_code_are_why_it_left():
    report = explain(RUNS / "fifteenth" / "broken-logger-critical-then-1.txt")
    assert [finding.id for finding in report.findings[:2]] == ["unrecognised-error", "child-failed"]
    assert report.findings[0].message.startswith("cannot build the model: no tokenizer named")
