"""What tells that a process went on from a failure, and what tells that it did not."""

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

UNCAUGHT = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line 9, in <module>\n    f()\n{}\n'
BOX = """\
╭──────────────── Traceback (most recent call last) ────────────────╮
│ /home/me/plots.py:8 in <module>                                   │
│                                                                   │
│    7 for i in range(4):                                           │
│ ❱  8 │   {:<55} │
│                                                                   │
│ /home/me/plots.py:5 in plot                                       │
│                                                                   │
│ ❱  5 │   draw(i)                                                  │
╰───────────────────────────────────────────────────────────────────╯
ValueError: no axis of that name
figures: 3/4
"""
LIMIT = "MemoryError: {} GiB are over the budget"
FAILED = "E1122 12:47:09.929000 801 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 80) of binary: python\n"
NO_DRIVER = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"


def quiet(report):
    return report.worst() in (None, Severity.NOTE)


def test_what_nccl_says_of_its_setup_is_no_result():
    text = (
        "(pid=97) RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:784, unhandled cuda error, NCCL version 2.7.8\n"
        "(pid=98) n1:98:337 [0] NCCL INFO Channel 00 : 0[2d000] -> 1[2e000] via P2P/IPC\n"
        "(pid=98) n1:98:337 [0] transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 217 peer access is "
        "not supported between these two devices\n"
        "(pid=98) n1:98:337 [0] NCCL INFO transport.cc:68 -> 1\n"
    )
    report = explain(text)
    assert report.findings[0].id == "nccl-p2p"
    assert not quiet(report)


def test_the_marked_line_of_a_box_tells_whether_it_was_caught():
    assert quiet(explain(BOX.format("try: plot(i)")))
    assert not quiet(explain(BOX.format("plot(i)")))


@pytest.mark.parametrize(
    "below",
    [
        "python 3.8, pytorch 1.13",
        "- CUDA version: 11.7",
        "torch == 1.2",
        "batch size = 4, lr = 0.001",
        "My card has 11.0 GB",
        "版本是 pytorch 1.5",
    ],
)
def test_what_somebody_says_of_his_machine_is_no_result(below):
    said = "RuntimeError: CUDA error: misaligned address\n"
    assert explain(said + below + "\n").worst() is Severity.ERROR
    assert explain(said + "epoch 2 loss 0.41\n" * 3).worst() is Severity.NOTE


@pytest.mark.parametrize(
    ("text", "well"),
    [
        (f"cpu   248 ms\ncuda  n/a   [RuntimeError] {NO_DRIVER}\nmps   n/a   [RuntimeError] none\n", True),
        (f"| cuda | n/a | {NO_DRIVER} |\n", True),
        (f"cuda: RuntimeError: {NO_DRIVER}\n", False),
        (f"INFO probe: {NO_DRIVER}\n3 layers\n", True),
        (f"ERROR probe: {NO_DRIVER}\n", False),
    ],
)
def test_what_is_merely_told_is_no_failure(text, well):
    assert quiet(explain(text)) == well


@pytest.mark.parametrize(
    ("last", "well"),
    [
        ("wer 0.142 cer 0.051\nERROR:root:cleanup: the folder is gone\n", True),
        ("wer 0.142 cer 0.051\nERROR:tb:events not flushed: the pipe is gone\n", True),
        (
            "wer 0.142 cer 0.051\nERROR could not remove /scratch/a: [Errno 2] No such file or directory\n",
            True,
        ),
        ("wer 0.142 cer 0.051\nERROR:root:export: the folder is gone\n", False),
        ("loading\nERROR:root:cleanup: the folder is gone\n", False),
    ],
)
def test_a_clean_up_that_fails_below_a_result_changes_nothing(last, well):
    assert quiet(explain(last)) == well


def test_a_bar_that_comes_to_its_end_below_an_error_tells_that_it_was_got_over():
    error = "ERROR cannot identify image file 'b.png'\n"
    assert quiet(explain(f"{error}images: 100%|████| 40/40 [00:00<00:00, 51.6it/s]\n"))
    wide = "images: {:3}%|" + 80 * "█" + "| {}/40 [00:00<00:00, 51.6it/s]\n"
    assert quiet(
        explain(error.join(["", *(wide.format(n, "04") for n in (0, 10, 20)), wide.format(100, 40)]))
    )
    assert not quiet(explain(f"{error}images:  60%|██  | 24/40 [00:00<00:00, 51.6it/s]\n"))


def test_an_exception_that_came_again_below_the_same_line_was_caught_there():
    again = [UNCAUGHT.format(LIMIT.format(n)) for n in (152, 76, 38)]
    assert quiet(explain("".join(again) + "batch size 64\n"))
    assert not quiet(explain("".join(again)))
    assert not quiet(explain(again[0] + "batch size 64\n"))


def test_a_thread_ends_alone():
    thread = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n'
        "    self.run()\nKeyError: 'plugin'\n"
    )
    assert quiet(explain(f"{thread}0.8123 0.8154\n"))
    assert explain(thread).worst() is Severity.WARNING


def test_what_torch_says_of_a_rank_beats_what_it_had_printed_before_and_comes_later():
    """torchrun passes on the two streams of a rank by two threads, and the standard output is kept back."""
    trace = "".join(
        f"[default1]:[rank1]: {line}\n" for line in UNCAUGHT.format("KeyError: 'lr'").splitlines()
    )
    steps = "".join(f"[default1]:iter {n}: loss 4.{n}\n" for n in range(4))
    text = steps + trace + steps + FAILED
    assert explain(text).verdict.primary == "unrecognised-error"
    assert quiet(explain(trace + FAILED + steps))  # it was started again


def test_notes_below_the_message_of_an_uncaught_exception_belong_to_it():
    report = explain("loading\n" + UNCAUGHT.format("PlanError: no plan for stage 2\nstages count from 0"))
    assert report.findings[0].severity is Severity.ERROR


def test_an_exception_that_passes_on_the_end_of_a_process_is_the_cause_where_nothing_else_tells_of_it():
    broken = UNCAUGHT.format(
        "concurrent.futures.process.BrokenProcessPool: A process in the pool was terminated"
    )
    (finding,) = explain(broken).findings
    assert finding.message.startswith("BrokenProcessPool: ")
    worker = UNCAUGHT.replace("fit.py", "worker.py").format("KeyError: 'lr'")
    assert explain(worker + broken).findings[0].message.startswith("KeyError")


def test_an_exception_without_a_message_is_known_by_its_module():
    (finding,) = explain(UNCAUGHT.format("_queue.Empty")).findings
    assert finding.message.startswith("Empty, raised below /home/me/fit.py line 9")


@pytest.mark.parametrize(
    "text",
    [
        "job.sh: line 5: SCRATCH_DIR: unbound variable\n",
        "job.sh: line 3: unexpected EOF while looking for matching `\"'\n",
        'FATAL: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc.weight". \n',
    ],
)
def test_the_last_words_of_a_shell_and_of_torch_are_a_failure(text):
    assert explain(text).worst() is Severity.ERROR


def test_workers_that_print_again_below_the_launchers_word_were_started_again():
    trace = UNCAUGHT.format("BufferError: ring buffer overrun")
    again = "".join(f"INFO r1 it {n} lr 0.1\n" for n in range(4))
    assert quiet(explain(trace + FAILED + again))
    assert not quiet(explain(trace + FAILED + again + "Root Cause (first observed failure):\n"))
    assert not quiet(explain(trace + FAILED))
    steps = "".join(f"[default1]:iter {n}: loss 4.{n}\n" for n in range(4))
    end = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    assert not quiet(explain(trace + FAILED + end + steps))  # the standard output, kept back until the end
    launch = "W1122 12:50:01.100000 44 torch/distributed/run.py:982] Setting OMP_NUM_THREADS\n"
    assert quiet(explain(trace + FAILED + end + launch + steps))


def test_an_exception_group_that_was_caught_and_printed():
    group = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/home/me/fit.py", line 3, in <module>\n'
        "  |     {}\n  | ExceptionGroup: services (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
        "    | TimeoutError: ntp\n    +------------------------------------\n{{'parameters': 110}}\n"
    )
    assert quiet(explain(group.format("try: probe()")))
    assert not quiet(explain(group.format("probe()")))


def test_a_line_that_was_broken_between_words_and_then_cut_at_a_width_is_read():
    text = (
        "RuntimeError: one of the variables needed for gradient computation has been modified\n"
        "by an inplace operation: [torch.FloatTensor [768]] is at version 3; expected version 2\ninstead.\n"
    )
    cut = "\n".join(
        line[at : at + 60] for line in text.splitlines() for at in range(0, max(1, len(line)), 60)
    )
    assert [f.id for f in explain("x" * 60 + "\n" + cut).findings] == ["inplace-gradient"]


@pytest.mark.parametrize(("row", "well"), [("rouge: n/a\nbleu: 27.9\n", True), ("rouge\nbleu\n", False)])
def test_what_a_program_does_without_is_not_available(row, well):
    assert quiet(explain(UNCAUGHT.format("ModuleNotFoundError: No module named 'rouge'") + row)) == well


TRIED = (
    'Traceback (most recent call last):\n  File "/home/me/fit.py", line 9, in <module>\n    try: f()\n{}\n'
)
LAUNCHED = "W1122 12:50:01.100000 44 torch/distributed/run.py:982] Setting OMP_NUM_THREADS\n"


def test_what_was_raised_in_a_line_that_tries_was_got_over_where_something_follows():
    missing = TRIED.format("FileNotFoundError: [Errno 2] No such file or directory: '/mnt/eval.txt'")
    assert quiet(explain(missing + "no extra list\n"))
    assert not quiet(explain(missing))
    assert not quiet(explain(missing.replace("try: ", "") + "no extra list\n"))
    assert not quiet(explain(missing + "giving up\n"))


def test_torchrun_would_have_told_of_a_rank_that_failed():
    lost = TRIED.format("FileNotFoundError: [Errno 2] No such file or directory: 'scratch'")
    assert quiet(explain(LAUNCHED + "AP50 0.551\n" + lost))
    assert not quiet(explain("AP50 0.551\n" + lost))
    assert not quiet(explain(LAUNCHED + "AP50 0.551\n" + lost + FAILED))
    assert not quiet(explain(LAUNCHED + "AP50 0.551\n" + lost.replace("try: ", "")))


def test_a_thread_with_which_the_program_ends_is_the_cause():
    thread = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n'
        "    self.run()\nKeyError: 'shard'\n"
    )
    steps = "".join(f"batch {n} [0.{n}]\n" for n in range(4))
    report = explain(f"{thread}{steps}feeder died, stopping after 4 batches\n")
    assert report.findings[0].severity is Severity.ERROR
    assert report.findings[0].message.startswith("KeyError")
    named = "Exception in thread feeder:\n" + thread
    report = explain(LAUNCHED + named + FAILED)
    assert report.findings[0].severity is Severity.ERROR
    assert report.findings[0].message.startswith("KeyError")
    assert explain(LAUNCHED + named + steps + FAILED).verdict.primary == "child-failed"
    assert quiet(explain(f"{thread}{steps}Early stopping after 4 batches\n"))
    assert quiet(explain(f"{thread}{steps}feeder died, falling back to plain loading\n"))


def test_what_help_says_of_errors_is_no_failure():
    text = (
        "usage: fit.py [-h]\n\noptions:\n  -h, --help  show this help message and exit\n\n"
        "exit codes:\n  1  RuntimeError: the data is gone\n  137  killed\nkilled: exit code 137\n"
    )
    assert quiet(explain(text))
    assert not quiet(
        explain("$ ./job.sh\n" * 6 + text + "srun: error: n1: task 0: Exited with exit code 3\n")
    )


def test_a_launcher_that_ends_its_processes_is_no_sign_that_training_went_on():
    """DeepSpeed's level stands in front of the line, and the words behind it are a list."""
    log = (
        "    store.add(store_key, 1)\nRuntimeError: Connection reset by peer\n"
        "[2023-03-08 23:09:10,901] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 15884\n"
        "[2023-03-08 23:09:10,911] [ERROR] [launch.py:324:sigkill_handler] ['python', '-u', 'run.py', '--local_rank=1']\n"
    )
    frames = '  File "torch/distributed/distributed_c10d.py", line 786, in init_process_group\n'
    [first, *_] = explain(frames + log).findings
    assert first.id == "gloo-peer-closed"
    assert first.severity is Severity.ERROR


def test_a_library_that_advises_to_rerun_has_not_done_so():
    log = (
        "Step: 2%| | 110/5000 [04:56<1:33:50, 1.15s/it]\nERROR: DataLoader worker (pid 28) exited unexpectedly with exit code 1. "
        "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace.\n"
        'Traceback (most recent call last):\n  File "interface.py", line 653, in _next_batch\n    batch = next(self.iterator)\n'
        '  File "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 701, in __next__\n'
    )
    [first, *_] = explain(log).findings
    assert first.id == "dataloader-worker-killed"
    assert first.severity is Severity.ERROR


def test_what_a_scheduler_says_of_the_resources_is_no_result():
    end = "Job finished at Sun Nov 22 18:45:14 UTC 2026\nResources used: 00:00:12 walltime, 1.2 GB\n"
    steps = "".join(f"epoch {n} loss 0.{n}\n" for n in range(4))
    report = explain(steps + UNCAUGHT.format("ValueError: max() arg is an empty sequence") + end)
    assert report.findings[0].message.startswith("ValueError")
    assert not quiet(report)


def test_of_a_group_of_exceptions_the_one_in_it_is_the_cause():
    group = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/home/me/fit.py", line 3, in <module>\n'
        "  |     asyncio.run(main())\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        '    |   File "/home/me/fit.py", line 9, in env\n    |     raise ValueError(shape)\n'
        "    | ValueError: env 2: 3 channels\n    +------------------------------------\n"
    )
    (finding,) = explain(group).findings
    assert finding.message == "ValueError: env 2: 3 channels, raised below /home/me/fit.py line 9 in env"


def test_an_exception_that_is_printed_as_an_object_was_caught():
    rows = "r0 rejected: KeyError('k')\nr0 rejected: RuntimeError(\"shape '[3]' is invalid for input of size 2\")\n"
    assert quiet(explain(rows + "rejected in total: 12 of 400 records\n"))
    assert not quiet(explain(rows))
    assert not quiet(explain(rows + "giving up\n"))
    assert not quiet(explain(rows + "Job finished at Sun Nov 22 18:45:14 UTC 2026\n"))


def test_the_status_that_a_job_prints_is_no_result():
    killed = "run.sh: line 1: 31078 Killed                  python fit.py\n"
    assert explain(f"epoch 0\n{killed}status 137\n").verdict.primary == "host-oom-killed"
    assert quiet(explain(f"epoch 0\n{killed}top1 0.971\nstatus 0\n"))


def test_a_thread_is_the_cause_where_spawn_says_that_its_process_left():
    thread = (
        'Exception in thread Thread-1 (feed):\nTraceback (most recent call last):\n  File "/usr/lib/python3.11/threading.py", '
        "line 1045, in _bootstrap_inner\n    self.run()\nKeyError: 'shard'\nrank 0 got 1\n"
    )
    left = "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 2"
    report = explain(thread + UNCAUGHT.format(left))
    assert report.findings[0].message.startswith("KeyError")
    assert report.findings[0].severity is Severity.ERROR


def test_what_an_exit_handler_says_does_not_tell_that_an_exception_was_got_over():
    failed = "epoch 0: loss 1.000\nepoch 1: loss 0.500\n" + UNCAUGHT.format("TypeError: no format for None")
    assert not quiet(explain(failed + "closing loggers ... ok\nreleasing lock ... ok\n"))
    assert quiet(explain(failed + "rouge 0.41\nclosing loggers ... ok\n"))


def test_a_notification_that_fails_below_the_result_changes_nothing():
    trace = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line 11, in notify\n    send()\nOSError: refused\n'
    good = "INFO:root:epoch 2: val acc 0.800\nINFO:root:Saved final.pt\n"
    assert quiet(explain(good + "ERROR:root:Could not send notification\n" + trace))
    assert not quiet(explain(good + "ERROR:root:training failed\n" + trace))
    assert not quiet(explain("loading\nERROR:root:Could not send notification\n" + trace))
    uncaught = trace.replace("notify", "<module>")
    # A logger may have written it: that is not known, and changes no result.
    assert explain(good + "ERROR:root:Could not send notification\n" + uncaught).worst() is Severity.WARNING
    assert explain("loading\nERROR:root:Could not send notification\n" + uncaught).worst() is Severity.ERROR
    ranks = "[rank 0] epoch 2: val acc 0.800\n[rank 1] epoch 2: val acc 0.790\n"
    both = trace + "\nDuring handling of the above exception, another exception occurred:\n\n" + uncaught
    assert explain(ranks + "ERROR:root:webhook did not answer\n" + both).worst() is Severity.WARNING
    assert not quiet(explain(LAUNCHED + good + "ERROR:root:Could not send notification\n" + trace + FAILED))


def test_an_error_with_which_hydra_ends_the_program_is_certain():
    text = (
        "Cannot find primary config 'train'. Check that it's in your config search path.\n\nConfig search path:\n"
        "\tprovider=main, path=file:///home/me/conf\n\n"
        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n"
    )
    assert explain(text).findings[0].severity is Severity.ERROR


def test_the_source_that_a_cut_off_traceback_quotes_is_no_result():
    text = FAILED.replace("exitcode: 1)", "exitcode: -11)") + (
        'Traceback (most recent call last):\n  File "/env/lib/python3.10/runpy.py", line 196, in _run_module_as_main\n'
        "    return _run_code(code, main_globals, None,\n"
    )
    finding = explain(text).findings[0]
    assert (finding.id, finding.severity) == ("child-segfault", Severity.ERROR)


SKIPS = "[2026-03-04 05:06:{0:02d},1] [INFO] [loss_scaler.py:181:update_scale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n"


def test_what_a_program_skips_again_and_again_until_the_end_was_not_got_over():
    skipped = "".join(SKIPS.format(n) for n in range(4))
    assert not quiet(explain(skipped))
    assert quiet(explain(f"{skipped}step 5 loss 0.91\nstep 6 loss 0.90\nstep 7 loss 0.89\n"))


def test_a_count_of_what_was_skipped_says_of_no_failure_that_it_was_got_over():
    row = " iteration {0}/ 900 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | TFLOPs: 78.{0} |\n"
    assert not quiet(explain("".join(row.format(n) for n in range(3))))


@pytest.mark.parametrize(
    "below",
    [
        "  1. Size: 64.0K\n     Shape: f32[128,6]{1,0}\n     Unpadded size: 3.0K\n     Allocation type: scoped\n",
        "",
    ],
)
def test_what_took_the_memory_is_no_result(below):
    text = "RuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem.\n"
    assert explain(text + below).worst() is Severity.ERROR


def test_who_waits_for_whom_is_no_result():
    text = (
        "step 8 loss 0.9\n"
        "W stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks\n"
        "Stalled ranks:\n4: [allreduce.0, allreduce.1]\n"
    )
    assert not quiet(explain(text))


def test_the_sentences_of_a_message_are_no_good_end():
    text = (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons:\n"
        "1) Use of a module parameter outside the `forward` function. 2) Reused parameters in multiple reentrant\n"
        "backward passes. For example, two checkpoint functions that wrap the same part would result in parameters that are used\n"
        "by different reentrant backward passes multiple times\n"
    )
    assert explain(text).worst() is Severity.ERROR


SUMMARY = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fit.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_10:00:00
  host      : node7
"""


@pytest.mark.parametrize("rows", range(1, 12))
def test_torchrun_s_summary_is_no_output_wherever_it_was_cut_off(rows):
    report = explain("\n".join(SUMMARY.split("\n")[:rows]))
    assert (report.findings[0].id, report.findings[0].severity) == ("child-failed", Severity.ERROR)


@pytest.mark.parametrize(
    ("failure", "below"),
    [
        (
            "n1:26:27 [1] src/alloc.h:125 NCCL WARN Cuda failure 710 'device-side assert triggered'",
            "n1:26:27 [1] NCCL INFO src/alloc.h:246 -> 1",
        ),
        ("(Actor pid=13) Fatal Python error: Aborted", "(Actor pid=13) \n(Actor pid=13) Stack (most rec"),
        (
            "[rank0]: RuntimeError: the shape of the parameter changed",
            "[rank0]: Expects torch.Size([517]) but got torch.Size([126, 4])",
        ),
        (
            "W1120 10:00:00.837000 140 torch/distributed/elastic/multiprocessing/api.py:858] Sending process 24 closing signal SIGTERM",
            "W1120 10:00:00.838000",
        ),
        (
            "[rank1]:[E723 01:58:45.5 ProcessGroupNCCL.cpp:1834] [PG ID 2 Rank 1] Timeout at NCCL work: 32, last enqueued NCCL work: 32",
            " [rank1]:[E723 01:58:45.6 ProcessGroupNCCL.cpp:630] [Rank 1] Some NCCL operations have failed or timed out.\n [rank1]:[E723 01:58",
        ),
        (
            "w0:15:91 [3] include/socket.h 398 NCCL WARN Call to write failed : Connection reset by peer.",
            "w0:15:91 [3] transport.cu:153 NCCL WARN transport.cu:153 ->2 [Proxy thread error]",
        ),
        (
            "RuntimeError: Error building extension 'fused': [1/2] nvcc -c fused.cu",
            "FAILED: fused.cuda.o\n/opt/cuda-11.8/bin/nvcc -DNAME=fused -isystem /opt/cuda-11.8/include",
        ),
        (
            "fit.py: error: unrecognized arguments: --local-rank=1",
            "usage: fit.py [-h] [--data DIR] [--best]\n              [--epochs 3]",
        ),
        (
            "[rank1]:[W901 21:19:08.2 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=51, addr=[localhost]:40714): Broken pipe",
            "Exception raised from sendBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:653 (most recent call first):\nframe #0: c10::Error::Error() + 0x80",
        ),
    ],
)
def test_what_belongs_to_a_failure_is_no_output_below_it(failure, below):
    report = explain(f"{failure}\n{below}\n")
    assert report.findings[0].severity is Severity.ERROR
    assert not report.findings[0].behind.startswith("The log goes on")


def test_what_a_last_line_tells_of_is_not_gone_on_from():
    report = explain("GPU available: True, used: True\ninitializing ddp: GLOBAL_RANK: 0, MEMBER: 1/8\n")
    assert (report.findings[0].id, report.findings[0].severity) == ("rendezvous-incomplete", Severity.ERROR)
    assert "goes on" not in report.findings[0].behind


def test_python_s_own_word_of_a_missing_module_is_no_exception_that_was_caught():
    log = "/opt/py/bin/python: Error while finding module specification for 'fit.main' (ModuleNotFoundError: No module named 'fit')\n"
    report = explain(log + "/opt/py/bin/python: Error while finding\n")
    assert (report.findings[0].id, report.findings[0].severity) == ("module-missing", Severity.ERROR)


def test_a_service_s_name_in_front_of_a_line_is_no_word_of_the_program():
    journal = "Oct 04 15:02:41 gpu4 fit-server[394]: "
    log = f"{journal}RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    report = explain(
        f"{log}{journal}CUDA kernel errors might be asynchronously reported at some other API call.\n"
    )
    assert (report.findings[0].id, report.findings[0].severity) == ("gpu-arch-unsupported", Severity.ERROR)


@pytest.mark.parametrize(
    "below",
    [
        "My code:\nself.net = wrap(opt)\nif opt['dist']:\n",
        "this happens while training the model\nCUDA_VISIBLE_DEVICES=0 python3 fit.py --config=a.yaml\n",
        "== Status ==\nMemory usage on this node: 21.2/1510.6 GiB\nResources requested: 0/72 CPUs, 0/14 GPUs\n",
        "Submitted batch job 4711\nme@box:~/nets$ \n",
        "/venv/torch/a.py:36: UserWarning: no NumPy\n  cpu = device('cpu')\n",
    ],
)
def test_what_somebody_wrote_or_typed_below_an_error_is_no_program_that_goes_on(below):
    error = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`\n"
    assert explain(error + below).worst() is Severity.ERROR
    assert quiet(explain(f"start\n{error}{below}epoch 1 acc 0.5\nepoch 2 acc 0.6\nepoch 3 acc 0.7\n"))


def test_the_reason_that_nccl_gives_does_without_nothing():
    text = "ncclInternalError: Internal check failed.\nLast error:\nNo NVML device handle. Skipping nvlink detection.\n"
    assert explain(text).worst() is Severity.ERROR


@pytest.mark.parametrize(
    ("below", "id"),
    [
        ("", "silent-hang"),
        ("both GPUs are at 100 % and this is all that I ever get to see here\n", "silent-hang"),
        ("step 3 loss 0.5\n", None),
        (" 3%|#    | 3/100 [00:01<00:30, 3.1it/s]\n", None),
        (
            "Traceback (most recent call last):\n  File \"f.py\", line 3, in <module>\nKeyError: 'a'\n",
            "unrecognised-error",
        ),
    ],
)
def test_what_waits_is_a_failure_where_the_log_ends_there(below, id):
    report = explain(f"loading\n| distributed init (rank 0): env://\n{below}")
    assert (report.findings[0].id if report.findings else None) == id


def test_who_asks_for_help_shows_what_failed():
    told = "Error： RuntimeError: use_libuv was requested but PyTorch was build without libuv support\n"
    assert explain(f"OS: Windows 11\n{told}How can I solve this?\n").worst() is Severity.ERROR
    assert explain(f"start\n{told}acc 0.71\nHow can I solve this?\n").worst() is not Severity.ERROR


def test_what_somebody_says_of_a_hang_stands_whatever_programs_print_around_it():
    good = "".join(f"step {n} loss 0.{n}\n" for n in range(1, 5))
    report = explain(f"With two nodes the training hangs after four steps.\n{good}")
    assert (report.verdict.primary, report.worst()) == ("silent-hang", Severity.ERROR)
    assert quiet(explain(f"No more hangs with the new driver, it works now.\n{good}"))


def test_a_last_line_that_was_cut_off_is_no_output():
    begun = "".join(f"box-{n}:1:{n} [0] NCCL INFO Channel 0{n} : 0 -> 1 via P2P\n" for n in range(2))
    assert [found.id for found in explain(f"{begun}box-").findings] == ["silent-hang"]
    assert explain(f"{begun}epoch 1 acc 0.5").findings == []


def test_steps_that_are_skipped_without_end_are_no_training_that_goes_on():
    skipped = "".join(
        f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.{n}e-303\n"
        for n in range(5)
    )
    assert not quiet(explain(skipped))
    assert quiet(explain(f"{skipped}epoch 1 acc 0.5\nepoch 2 acc 0.6\nepoch 3 acc 0.7\n"))


SETUP = "".join(f"box-1:7:{n} [{n}] NCCL INFO Channel 0{n} : 0 -> 1 via P2P\n" for n in range(2))


@pytest.mark.parametrize(
    ("log", "severity"),
    [
        (SETUP, Severity.NOTE),
        ("loading\n| distributed init (rank 0): env://\n", Severity.WARNING),
        (f"On two nodes my training hangs here:\n{SETUP}", Severity.ERROR),
    ],
)
def test_a_log_that_merely_ends_in_the_setup_may_have_been_cut_there(log, severity):
    report = explain(log)
    assert ([found.id for found in report.findings], report.worst()) == (["silent-hang"], severity)


THREAD = """\
Exception in thread Thread-3 (_pin_memory_loop):
Traceback (most recent call last):
  File "/venv/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/venv/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py", line 59, in _pin_memory_loop
    do_one_step()
ValueError: a batch without a shape
"""


def test_a_data_loaders_thread_that_dies_in_the_middle_leaves_the_training_without_batches():
    step = "epoch {0}/9 loss 0.{0}\n"
    assert explain(f"{step.format(1)}{THREAD}").worst() is Severity.ERROR
    assert explain(f"{step.format(9)}{THREAD}").worst() is not Severity.ERROR
    on = "".join(map(step.format, range(2, 6)))
    assert explain(f"{step.format(1)}{THREAD}{on}").worst() is not Severity.ERROR
    other = THREAD.replace("torch/utils/data/_utils/pin_memory", "uploads/queue").replace("_pin_memory_", "_")
    assert explain(f"{step.format(1)}{other}").worst() is not Severity.ERROR


@pytest.mark.parametrize("below", ["", "+ date\nfinished on Monday\n", "Done.\n"])
def test_a_launcher_that_refused_its_options_did_not_finish(below):
    said = "usage: torchrun [-h] [--nnodes NNODES]\ntorchrun: error: unrecognized arguments: --nodez\n"
    assert explain(f"+ torchrun --nodez 2 fit.py\n{said}{below}").worst() is Severity.ERROR
    trained = "".join(f"epoch {n} loss 0.{n}\n" for n in range(1, 5))
    assert explain(f"{said}trying without it\n{trained}{below}").worst() is not Severity.ERROR


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"


def test_what_another_command_printed_below_a_prompt_is_no_program_that_goes_on():
    table = "JOBID NAME ST\n41 fit R\n42 fit PD\n"
    for prompt in ("$ squeue\n", "me@box:~$ squeue\n", "me@box:~/nets$ \n"):
        assert explain(f"$ nvidia-smi\n{MISMATCH}{prompt}{table}").worst() is Severity.ERROR
    again = "".join(f"epoch {n} acc 0.{n}\n" for n in range(1, 5))
    assert explain(f"start\n{MISMATCH}{again}").worst() is not Severity.ERROR


def test_a_block_of_code_may_be_quoted():
    quoted = (
        "> ```\n> ValueError: no such layer\n> ```\n> and before\n> ```\n> epoch 2: 100% 9/9 acc 0.9\n> ```\n"
    )
    assert explain(quoted).worst() is Severity.ERROR


@pytest.mark.parametrize("why", [" DUE TO TIME LIMIT", " DUE TO PREEMPTION"])
def test_a_step_that_slurm_ends_may_print_for_some_seconds(why):
    steps = "".join(f"step {n} loss 0.{n}\n" for n in range(1, 9)).splitlines(keepends=True)
    said = f"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-04T05:06:07{why} ***\n"
    ended = "".join(steps[:4]) + said + "".join(steps[4:])
    assert explain(ended).worst() is Severity.ERROR
    assert explain("".join(steps[:4]) + said + "".join(steps)).worst() is not Severity.ERROR


def test_a_traceback_that_was_cut_off_below_ctrl_c_is_no_failure():
    frames = (
        '  File "/home/me/fit.py", line 9, in <module>\n    f()\n  File "/home/me/fit.py", line 3, in f\n'
    )
    head = "Traceback (most recent call last):\n"
    assert quiet(explain(f"step 1 loss 0.5\n^C{head}{frames}"))
    assert quiet(explain(f"step 1 loss 0.5\n^Ca.py:1: UserWarning: leaked\n{head}{frames}"))
    assert not quiet(explain(f"step 1 loss 0.5\n{head}{frames}"))


SHORTENED = """RuntimeError: Error(s) in loading state_dict for Net:
        Missing key(s) in state_dict: "_model.module.enc.weight", ", \n...
 "_model.module.head.bias".
        Unexpected key(s) in state_dict: "_model.enc.weight", \n...
"_model.head.bias"."""


def test_a_list_of_keys_that_was_shortened_by_hand_is_still_the_message():
    report = explain(
        f"Resuming on two GPUs does not work.\n\n```\n{SHORTENED}\n```\n\n**Expected**\nIt resumes.\n"
    )
    assert report.findings[0].severity is Severity.ERROR


def test_that_nccl_is_done_with_a_communicator_is_no_good_end():
    text = (
        "n1:41:41 [0] NCCL INFO Call to connect returned Connection timed out, retrying\n"
        "n1:41:66 [0] include/socket.h:400 NCCL WARN Call to connect failed : Connection timed out\n"
        "n1:41:66 [0] NCCL INFO init.cc:700 -> 2\n"
        "n1:41:41 [0] NCCL INFO comm 0x7f01 rank 0 nranks 2 cudaDev 0 busId 3000 - Abort COMPLETE\n"
    )
    report = explain(text)
    assert (report.verdict.primary, report.worst()) == ("nccl-interface", Severity.ERROR)


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-04T05:06:07Z\tINFO\tPod: ai.fit-0 exited with code 1\n2024-03-04T05:06:08Z\tINFO\tReconciling\n",
        (
            'time="2024-03-04T05:06:07Z" level=info msg="Pod: ai.fit-0 exited with code 1" job=ai.fit\n'
            'time="2024-03-04T05:06:08Z" level=info msg="Controller fit created pod fit-0"\n'
        ),
    ],
)
def test_what_a_supervisor_says_of_a_process_is_no_information_that_it_goes_on(text):
    report = explain(text)
    assert report.verdict.primary == "child-failed"
    assert report.worst() is not Severity.NOTE


REPORT_FAILED = (
    "[2026-03-01 10:00:0{n},100][fit][ERROR] - the table could not be sent\n"
    "Traceback (most recent call last):\n"
    '  File "/home/me/fit.py", line 31, in main\n'
    "    send(table)\n"
    "BrokenPipeError: [Errno 32] Broken pipe\n"
)


def rounds(last=""):
    """Three epochs of two steps each; a handler logs the same failure behind each."""
    steps = "".join(
        f"[2026-03-01 10:00:0{n},000][fit][INFO] - epoch {n} step 0 loss 0.{9 - n}\n"
        f"[2026-03-01 10:00:0{n},050][fit][INFO] - epoch {n} step 7 loss 0.{8 - n}\n"
        + REPORT_FAILED.format(n=n)
        for n in range(3)
    )
    return steps + last


def test_a_new_epoch_that_begins_with_the_first_step_is_no_new_try():
    assert explain(rounds()).worst() in (None, Severity.NOTE)


def test_a_programs_logger_says_that_it_is_done():
    once = rounds()[: len(rounds()) // 3]
    done = "[2026-03-01 10:00:09,000][fit][INFO] - Done.\n"
    assert explain(once + done).worst() in (None, Severity.NOTE)
    # A job's script says so whatever became of the training.
    assert explain(once + "Done.\n").worst() is Severity.ERROR


@pytest.mark.parametrize(
    "below", ["", "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n", "Retrying in 2s [Retry 1/5].\n"]
)
def test_the_last_that_a_program_says_of_an_exception_was_not_got_over(below):
    text = f"loading\n[ERROR] fit - <class 'RuntimeError'> - CUDA error: an illegal memory access was encountered\n{below}"
    assert explain(text).findings[0].severity is not Severity.NOTE
    text += "step 1 loss 0.5\nstep 2 loss 0.4\nstep 3 loss 0.3\n"
    assert explain(text).findings[0].severity is Severity.NOTE


def test_the_source_that_ipython_shows_says_nothing_of_the_run():
    text = (
        "---> 12     raise Lost(address)\n     13 log.debug('Retrying the request')\n\n"
        "MaxRetryError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /a "
        "(Caused by NewConnectionError('<Connection object at 0x7f>: Failed to establish a new connection: "
        "[Errno 101] Network is unreachable'))\n"
    )
    report = explain(text)
    assert (report.verdict.primary, report.worst()) == ("hub-unreachable", Severity.ERROR)


TEED = (
    "[default{r}]:[2026-03-01 10:00:0{n},000][fit][INFO] - epoch {n} loss 0.{n}\n"
    "[default{r}]:Traceback (most recent call last):\n"
    '[default{r}]:  File "/home/me/fit.py", line 31, in main\n'
    "[default{r}]:    share(table)\n"
    "[default{r}]:BrokenPipeError: [Errno 32] Broken pipe\n"
)


def test_what_one_rank_got_over_another_one_did_too_in_the_same_line():
    both = "".join(TEED.format(r=r, n=n) for n in range(2) for r in range(2))
    done = "[default0]:[2026-03-01 10:00:09,000][fit][INFO] - epoch 2 loss 0.2\n"
    assert quiet(explain(both.replace("Broken pipe\n[default1]", "Broken pipe\n" + done + "[default1]")))
    ended = FAILED + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    assert explain(both + done + ended).worst() is Severity.ERROR


def test_rows_that_a_logger_of_rich_s_fills_up_are_no_line_that_a_terminal_cut():
    def row(level, said, place):
        return f"{'':20}{level:9}{said:40}{place:>11}\n"

    text = "".join(
        row("ERROR", "no state of the scheduler, its warm-up", "fit.py:7")
        + row("", "begins anew", "")
        + row("INFO", f"pass {n} | mse 0.{9 - n}", "fit.py:8")
        for n in range(3)
    )
    assert quiet(explain(text))
