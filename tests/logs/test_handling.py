"""What tells that a program caught a failure: its own words, torchrun's silence, a loop that goes on, a supervisor's 0."""

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

NO_DRIVER = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
STARTED = (
    "W1123 00:49:54.441000 31246 torch/distributed/run.py:982] Setting OMP_NUM_THREADS environment variable for each"
    " process to be 1 in default\n"
)
FRAME = "{0}  File \"/home/me/t.py\", line 6, in {1}\n{0}    v = table[key]\n{0}KeyError: 'fr'\n"


def traceback(prefix: str = "", function: str = "<module>") -> str:
    return f"{prefix}Traceback (most recent call last):\n{FRAME.format(prefix, function)}"


def worst(text: str) -> Severity | None:
    severity = explain(text).worst()
    return None if severity is Severity.NOTE else severity


def test_an_exception_in_a_line_of_the_program_s_own_had_been_caught():
    lines = "".join(f"SYM{n:03d}: FAILED (ValueError: series {n} has 0 rows)\n" for n in (5, 16, 27))
    assert worst(f"{lines}sharpe 1.21\n38 ok, 3 failed\n") is Severity.WARNING
    assert worst("row-group 4 kept 96\nERROR cannot parse row 1: ValueError: bad float\n") is Severity.WARNING


@pytest.mark.parametrize(
    "text",
    [
        "epoch 3 loss 0.4\nValueError: bad float\n",  # as Python prints it, the traceback is lost
        "epoch 3 loss 0.4\ntraining failed: ValueError: bad float\n",
        "epoch 3 loss 0.4\nERROR row 1: ValueError: bad float\naborting\n",
        "I get this ValueError: bad float\n",  # nothing of a program's output
    ],
)
def test_one_with_which_the_program_ends_is_an_error_in_its_own_words_too(text):
    assert worst(text) is Severity.ERROR


@pytest.mark.parametrize("below", ["", "[default0]:i=3 n=2.0\n"])
def test_a_rank_that_raises_the_same_again_while_torchrun_is_silent_died_of_neither(below):
    one = traceback("[default1]:")
    assert worst(f"{STARTED}[default1]:i=0 n=2.0\n{one}{one}{below}") is None


def test_a_handler_s_traceback_while_torchrun_is_silent_ended_no_rank():
    caught = traceback(function="on_fit_end")
    assert worst(STARTED + "`Trainer.fit` stopped: `max_epochs=2` reached.\n" + caught + caught) is None
    # Its caller tells of it right below, in words of its own.
    told = "word fr is not known, zeros used. The server said: KeyError: 'fr'\n"
    assert worst(f"{STARTED}word en 1.5\n{traceback(function='_run_function')}{told}") is None
    assert worst(f"{STARTED}word en 1.5\n{traceback()}{told}") is Severity.ERROR


def test_what_failed_above_a_launch_that_goes_well_was_of_something_else():
    steps = "".join(f"step {n} loss 0.{9 - n}\n" for n in range(4))
    assert worst(f"{traceback()}{STARTED}{steps}") is None
    assert worst(f"{traceback()}{STARTED}loading\n") is Severity.WARNING


def test_what_a_program_tells_last_while_torchrun_is_silent_ended_no_rank():
    told = "warning: hook: URLError: <urlopen error [Errno 111] Connection refused>\n"
    assert worst(f"{STARTED}epoch 3/3 - val_loss: 0.333\n{told}") is None


def test_one_that_may_have_ended_a_rank_is_an_error_where_torchrun_is_not_there_or_says_so():
    assert worst(f"{STARTED}[default1]:i=0 n=2.0\n{traceback('[default1]:')}") is Severity.ERROR
    told = "E1123 00:49:55.441000 31246 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 3) of binary: python\n"
    assert worst(STARTED + traceback(function="fit") + told) is Severity.ERROR


def test_a_rank_whose_loop_goes_on_below_its_exception_caught_it():
    one, other = traceback("rank 1 | "), traceback("rank 0 | ")
    log = f"rank 1 | mini 0 ce 0.90\n{one}rank 1 | mini 1 ce 0.80\nrank 0 | mini 0 ce 0.90\n{other}rank 0 | mini 1 ce 0.80\n"
    assert worst(log) is None


def test_a_rank_that_prints_nothing_of_its_loop_any_more_did_not():
    one = traceback("rank 1 | ")
    assert worst(f"rank 1 | mini 0 ce 0.90\n{one}rank 1 | bye\nrank 0 | mini 0 ce 0.90\n") is Severity.ERROR


COMPOSE = "trainer-1  | connecting\n" + traceback("trainer-1  | ") + "trainer-1 exited with code 1\n"


def test_a_supervisor_s_last_word_is_that_the_program_ended_with_0():
    again = "trainer-1  | round 0 mae 4\ntrainer-1  | round 1 mae 3\n"
    assert worst(f"{COMPOSE}{again}trainer-1 exited with code 0\n") is None
    assert worst(f"{COMPOSE}trainer-1  | round 0 mae 4\ntrainer-1 exited with code 1\n") is Severity.ERROR
    assert worst(f"{COMPOSE}trainer-2 exited with code 0\n") is Severity.ERROR


def test_other_tasks_of_a_step_go_on_below_srun_s_word_of_one_that_ended():
    above, ended = "pass 0 mae 9\npass 0 mae 9\npass 1 mae 8\n", "srun: error: n0: task 1: {}\n"
    below = "pass 1 mae 8\npass 2 mae 7\npass 3 mae 6\n"
    for word in ("Killed", "Exited with exit code 3"):
        assert worst(above + ended.format(word) + below) is Severity.ERROR
        told = below + "srun: Force Terminated StepId=7.0\n"
        assert worst(above + ended.format(word) + told) is Severity.ERROR
        anew = f"pass 0 mae 9\n{below}pass 4 mae 5\n"
        assert worst(above + ended.format(word) + anew) is None
        assert worst(above + ended.format(word) + told + anew) is None


FALLS_BACK = "[W1124 13:54:14.156208396 ProcessGroupGloo.cpp:528] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. (function operator())\n"


def test_what_torch_s_c_only_warned_of_is_over_where_torchrun_says_of_no_failure():
    assert worst(f"{STARTED}{FALLS_BACK}total two\n") is None
    assert worst(f"{STARTED}{FALLS_BACK}") is not None


def test_what_a_program_says_last_of_a_part_that_it_does_without_is_over():
    assert worst("trial 0 mse 0.9\n[ERROR] trial 1: loss inf, it counts as failed\n") is None
    assert worst("trial 0 mse 0.9\n[ERROR] trial 1: loss inf\n") is Severity.ERROR


def test_who_started_a_program_says_that_it_left_with_a_failure():
    parts = "stage 1 of 3\n" + traceback()
    assert worst(f"{parts}stage 2 returned 1\nthe pipeline stops here\n") is Severity.ERROR
    assert worst(f"{parts}stage 2 returned 1\nstage 3 of 3 mse 0.4\n") is not Severity.ERROR


def test_systemd_says_that_a_service_ended_well():
    journal = "Jun 03 10:00:01 gpu4 "
    program = traceback(f"{journal}python3[8123]: ")
    again = f"{journal}systemd[1]: ft.service: Scheduled restart job, restart counter is at 1.\n{journal}python3[8160]: gen 0 elbo -90\n"
    assert worst(f"{program}{again}{journal}systemd[1]: ft.service: Deactivated successfully.\n") is None
    assert (
        worst(f"{program}{journal}systemd[1]: ft.service: Failed with result 'exit-code'.\n")
        is Severity.ERROR
    )


def test_what_a_launcher_says_of_workers_that_it_started_again_is_no_end():
    failed = "E1123 00:49:17.696000 30708 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 30788) of binary: python\n"
    again = "".join(f"attempt 1 frame {n} err_px 0.{n}9\n" for n in range(4))
    assert worst(f"{STARTED}attempt 0 frame 0 err_px 0.00\n{traceback('[rank1]: ')}{failed}{again}") is None
    # Under --tee a rank's lines bear its number, so that they stand right below what the rank raised.
    tee = "".join(f"[default1]:sample {n} psnr {20 + n}\n" for n in range(3))
    raised = traceback("[default1]:[rank1]: ")
    assert worst(f"{STARTED}{tee}{raised}{failed}{tee}") in (None, Severity.NOTE)
    assert (
        worst(f"{STARTED}{tee}{raised}{failed}[default1]:it was key fr\n[default1]:  in row 3\n")
        is Severity.ERROR
    )


def test_an_attempt_that_fails_is_no_result():
    text = f"start\n{traceback()}attempt 2 in 0.5 s\n"
    assert worst(text) is not None


def test_rows_with_units_below_a_caught_exception_are_a_table():
    log = (
        "cache:ERROR: index is damaged, rebuilding\n"
        + traceback(function="read")
        + "   128    1.664 ms\n   256    3.328 ms\n"
    )
    assert worst(log) is None


@pytest.mark.parametrize(
    "last",
    [
        '{"used_gb": 512, "event": "quota of run is used up", "level": "critical"}',
        "FATAL Flags parsing error: Unknown command line flag 'learning_rate'\nPass --helpshort or --helpfull to see help on flags.",
        "step 4\ngiving up after 2 tries",
    ],
)
def test_a_program_s_last_word_that_it_failed_is_told(last):
    assert worst(f'{{"n": 3, "loss": 0.25, "event": "step", "level": "info"}}\n{last}\n') is not None


EVERYWHERE = [
    "[rank3]: ",
    "[default3]: ",
    "    ",
    "\t",
    "2024-06-03T09:12:44.123456789Z ",
    "trainer-1  | ",
    "[1,3]<stderr>:",
]


@pytest.mark.parametrize("prefix", EVERYWHERE)
def test_what_stands_in_front_of_every_line_changes_nothing(prefix):
    handled = f"gen 0 fid 90\nERROR:root:no commit id\n{traceback()}gen 1 fid 80\ngen 2 fid 70\n"
    fatal = f"gen 0 fid 90\n{traceback()}"
    for text, severity in ((handled, None), (fatal, Severity.ERROR)):
        assert worst("\n".join(prefix + line for line in text.splitlines())) is severity


def test_torch_s_mark_on_tracebacks_alone_ends_a_rank():
    assert worst(f"gen 0 fid 90\n{traceback('[rank3]: ')}gen 1 fid 80\n") is Severity.ERROR


def test_where_a_process_told_of_one_and_raised_another_the_other_is_the_cause():
    told = "bad sample 0: OSError: record 0 is truncated\nbad sample 1: OSError: record 1 is truncated\n"
    (finding,) = explain(told + traceback()).findings
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("KeyError: 'fr'")


def test_a_task_of_asyncio_that_nobody_asks_for_ends_no_process():
    task = "Task exception was never retrieved\nfuture: <Task finished name='Task-3' coro=<ask() done>>\n"
    report = explain(f"answers [3.0, 4.5] score 4.5\n{task}{traceback(function='ask')}")
    assert report.worst() is not Severity.ERROR


@pytest.mark.parametrize(
    ("above", "severity"),
    [
        ("epoch 0 loss 1.0\ntest acc 0.88\n", Severity.WARNING),
        ("test acc 0.81\ntest acc 0.88\n", Severity.ERROR),  # after each epoch, and the next one is missing
        ("epoch 0 loss 1.0\ntest epoch 1: acc 0.88\n", Severity.ERROR),
    ],
)
def test_the_result_on_the_test_set_is_the_end_of_the_work_where_it_is_told_once(above, severity):
    assert worst(above + traceback(function="plot")) is severity


NCCL = "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1207, internal error, NCCL version 2.14.3\nncclInternalError: Internal check failed.\nLast error:\n{0}\n"
CUT = '  File "/home/me/data.py", line 318, in load\n    dist.barrier()\n'


def test_a_traceback_without_its_first_line_does_not_show_that_somebody_caught_it():
    ended = "".join(
        f"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process {n} closing signal SIGTERM\n"
        for n in range(371, 375)
    )
    report = explain(CUT + NCCL.format("Bootstrap : no socket interface found") + ended)
    assert (report.findings[0].id, report.findings[0].severity) == ("nccl-interface", Severity.ERROR)
    one = '[rank0]:   File "/home/me/t.py", line 12, in main\n[rank0]:     assert n\n[rank0]: AssertionError\n[rank0]: cleaning up\n'
    assert (
        worst("".join(f"2025-03-14 10:00:12,001 - trainer - INFO - {x}\n" for x in one.splitlines()))
        is Severity.ERROR
    )


@pytest.mark.parametrize("reason", ["bootstrapping took 12 rounds", "{'peer': 3}", "stream 12 of 0.5"])
def test_the_reason_that_nccl_gives_is_no_result(reason):
    report = explain("epoch 1 loss 0.5\n" + NCCL.format(reason))
    assert (report.findings[0].id, report.findings[0].severity) == ("nccl-internal", Severity.ERROR)
    assert not report.findings[0].behind.startswith("The log goes on")


def test_the_frames_of_a_notebook_s_traceback_are_no_results():
    log = (
        "WARNING worker.py:2058 -- A worker died or was killed while executing a task by an unexpected system error.\n"
        "---------------------------------------------------------------------------\n"
        "RayActorError                             Traceback (most recent call last)\n"
        'Cell In[3], line 1\n----> 1 llm = LLM(model="gpt2", tensor_parallel_size=2)\n\n'
        "File /mnt/vllm/entrypoints/llm.py:89, in LLM.__init__(self, model)\n"
    )
    assert worst(log) is Severity.ERROR


def test_what_a_launcher_says_of_those_that_it_ends_is_no_result():
    handled = traceback(function="save")
    ended = "".join(f"Killing subprocess {n}\n" for n in range(411, 415))
    assert worst(f"start\n{handled}{ended}") is Severity.ERROR


def test_the_message_of_an_exception_without_its_traceback_may_have_more_lines():
    keys = (
        "rank 1 len(log_vars): 3 keys: loss_cls,loss\nrank 0 len(log_vars): 4 keys: loss_cls,loss_mask,loss\n"
    )
    report = explain(f"AssertionError: loss log variables are different across GPUs!\n{keys}")
    assert (report.findings[0].id, report.findings[0].severity) == ("keys-differ-by-rank", Severity.ERROR)
    assert worst("step 1 loss 0.5\nValueError: bad row\nstep 2 loss 0.4\nstep 3 loss 0.3\n") is None


@pytest.mark.parametrize(
    ("said", "worst"),
    [
        ("this point of the grid is not valid", Severity.WARNING),
        ("negative rate", Severity.WARNING),
        # a program that ends says it so
        ("the run failed", Severity.ERROR),
        ("caught at the top", Severity.ERROR),
        ("unexpected", Severity.ERROR),
        ("rate -1.0 is out of range", Severity.ERROR),
        ("", Severity.ERROR),
    ],
)
def test_a_logged_traceback_that_ends_the_log_is_in_doubt_where_its_line_tells_of_no_failure(said, worst):
    trace = (
        'Traceback (most recent call last):\n  File "/home/me/grid.py", line 9, in point\n    fit(rate)\n'
        "ValueError: rate -1.0 is out of range\n"
    )
    above = "[2026-11-23 05:18:33,093][grid][INFO] - rate 0.1 gives 0.900\n"
    logged = f"[2026-11-23 05:18:33,191][grid][ERROR] - {said}\n"
    assert explain(above + logged + trace).worst() is worst
    # Who calls it critical ends with it, whatever the words.
    assert explain(above + logged.replace("ERROR", "CRITICAL") + trace).worst() is Severity.ERROR
    # Without a result above it, or from the script itself, it may be all that there was.
    assert explain(logged + trace).worst() is Severity.ERROR
    assert explain(above + logged + trace.replace("in point", "in <module>")).worst() is Severity.ERROR


def test_another_backend_is_tried_below_what_failed():
    text = "[0] nccl is of no use (nccl2 requires at least one CUDA device), {}\n"
    steps = "[0] it 0\n[0] it 1\n[0] it 2\n"
    killed = (
        "E1123 05:20:03.947000 69 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) "
        "local_rank: 0 (pid: 70) of binary: python\n"
    )
    assert explain(text.format("trying gloo") + steps + killed).verdict.primary == "child-segfault"
    assert explain(text.format("try another machine") + killed).findings[0].id == "nccl-no-gpu"
    # Where it trained below that, it is not why a process crashed later.
    assert explain(text.format("try another machine") + steps + killed).findings[0].id == "child-segfault"


def test_what_the_fault_handler_writes_is_nothing_that_goes_on():
    text = (
        "custom op\nFatal Python error: Segmentation fault\n\nCurrent thread 0x00007f33558abb80 (most recent call first):\n"
        '  File "/home/me/op.py", line 2 in <module>\n\nExtension modules: numpy.linalg._umath_linalg, torch._C (total: 2)\n'
    )
    assert [(f.id, f.severity) for f in explain(text).findings] == [("child-segfault", Severity.ERROR)]


def test_a_file_that_was_exported_is_a_good_end():
    trace = (
        'Traceback (most recent call last):\n  File "/home/me/fit.py", line 5, in <module>\n    try: probe()\n'
        "RuntimeError: no such device\n"
    )
    assert explain(f"auc 0.9\nexported the graph\n{trace}").worst() is Severity.WARNING
    assert explain(f"auc 0.9\nexporting the graph\n{trace}").worst() is Severity.ERROR


@pytest.mark.parametrize(
    ("end", "severity"),
    [
        (
            "second copy: <class 'FileNotFoundError'> [Errno 2] No such file or directory: 'b/last.ckpt'\n",
            Severity.WARNING,
        ),
        (
            "run failed: <class 'FileNotFoundError'> [Errno 2] No such file or directory: 'b/last.ckpt'\n",
            Severity.ERROR,
        ),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'b/last.ckpt'\n", Severity.ERROR),
    ],
)
def test_a_class_of_exceptions_as_python_writes_it_had_been_caught(end, severity):
    assert worst("loaded 12 files\n" + end) is severity


def test_a_short_word_for_an_epoch_counts_as_progress():
    text = "no resume: Checkpoint file not found: runs/last.ckpt\n"
    ends = "upload: <class 'TimeoutError'> 30 s\n"
    assert worst(text + "ep 0 0.2\nep 1 -0.1\nep 2 -0.5\n" + ends) is not Severity.ERROR


def test_what_is_raised_as_it_should_be_is_no_failure():
    said = "[1] second init: raised ValueError as it should: trying to initialize the default process group twice!\n"
    assert worst(said + "[1] 3/3 provoked\n") in (None, Severity.NOTE)
    assert worst(said.replace("raised ValueError as it should", "ValueError")) is Severity.ERROR


DEBUGGED = (
    "Task exception was never retrieved\n"
    "future: <Task finished name='Task-4' coro=<send() done> exception=OSError('gone') created at tasks.py:19>\n"
    "source_traceback: Object created at (most recent call last):\n"
    '  File "/home/me/loop.py", line 30, in <module>\n    asyncio.run(main())\n'
    '  File "/home/me/loop.py", line 12, in main\n    asyncio.create_task(send())\n'
)


def test_a_task_of_asyncio_ends_alone_where_asyncio_debugs_too():
    one = traceback(function="send")
    assert worst(f"{DEBUGGED}{one}") is None
    assert worst("Exception in callback send()\nhandle: <Handle send()>\n" + one) is Severity.WARNING
    assert worst(one) is Severity.ERROR


def test_a_warning_of_python_s_alone_ended_nothing():
    said = "{}UserWarning: CUDA initialization: Found no NVIDIA driver on your system."
    assert worst(said.format("/home/me/t.py:6: ") + "\n  x = probe()\n") is Severity.WARNING
    raised = f'Traceback (most recent call last):\n  File "/home/me/t.py", line 6, in <module>\n    x = probe()\n{said.format("")}\n'
    assert worst(raised) is Severity.ERROR


def test_a_training_that_stops_early_as_it_should_has_not_failed():
    assert worst("epoch 7 loss 0.4\nERROR early stopping triggered: loss did not improve\n") is None
    raised = traceback().replace(
        "KeyError: 'fr'", "RuntimeError: Early stopping looks at val_f1, which is not logged"
    )
    assert worst("epoch 7 loss 0.4\n" + raised) is Severity.ERROR


def test_what_a_handler_printed_from_the_same_line_again_and_again_may_be_over():
    one = traceback(function="draw")
    assert worst(one * 4) is Severity.WARNING
    assert worst(one * 2) is Severity.ERROR
    assert worst(one * 4 + "giving up\n") is Severity.ERROR
    assert worst(one * 4 + traceback()) is Severity.ERROR


GONE = "Default process group has not been initialized, please make sure to call init_process_group."


def test_a_message_in_a_program_s_own_words_below_its_results_may_be_over():
    assert worst(f"epoch 0 loss 0.1\nlast look round: {GONE}\n") is Severity.WARNING
    assert worst(f"epoch 0 loss 0.1\nerror at the end: {GONE}\n") is Severity.ERROR
    assert worst(f"epoch 0 loss 0.1\nValueError: {GONE}\n") is Severity.ERROR
    assert worst(f"last look round: {GONE}\n") is Severity.ERROR


def test_type_and_message_behind_a_program_s_words_had_been_caught():
    assert worst(f"built the net\nprobe of gpu: RuntimeError {NO_DRIVER}\n") is Severity.WARNING
    assert worst(f"built the net\nRuntimeError {NO_DRIVER}\n") is Severity.ERROR
    assert worst(f"built the net\nthe run crashed: RuntimeError {NO_DRIVER}\n") is Severity.ERROR


def test_a_word_that_begins_a_line_is_known_behind_the_time_of_a_cluster_s_log():
    rows = traceback().replace("KeyError: 'fr'", "KeyboardInterrupt").splitlines()
    stamped = "".join(f"2026-11-02T08:00:0{n}.5Z {row}\n" for n, row in enumerate(rows))
    assert explain(stamped).findings[0].id == "interrupted"


AGAIN = "E1129 08:00:09.852000 88 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 7) local_rank: 0 (pid: 93) of binary: python\n"


def test_workers_whose_first_words_come_again_were_started_again():
    begins = "begin at pass {0}, try {0}\n"
    end = "nothing left to do\n"
    assert worst(f"{begins.format(0)}{AGAIN}{begins.format(1)}{end}") is None
    # Two ranks wrote into one line.
    assert worst(f"{begins.format(0)}{AGAIN}{begins.format(1).strip()}{begins.format(1)}{end}") is None
    assert worst(f"{begins.format(0)}{AGAIN}") is Severity.ERROR
    gave_in = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    assert worst(f"{begins.format(0)}{AGAIN}{begins.format(1)}{end}{gave_in}") is Severity.ERROR


def test_a_refused_command_line_is_over_where_another_one_comes_to_results():
    refused = "usage: fit.py [-h]\nfit.py: error: unrecognized arguments: --old\n"
    assert worst(f"{refused}without --old, then\np0 tr=0.90 va=1.00\np1 tr=0.80 va=0.95\n") is None
    assert worst(f"{refused}took 0.4 s\n") is Severity.ERROR
    assert worst(f"{refused}python 3.11\npython 3.12\n") is Severity.ERROR


def test_torch_compile_runs_the_code_as_it_is_where_it_warns_of_an_exception():
    rows = ["WON'T CONVERT f /home/me/m.py line 3", "due to: ", *traceback(function="compile").splitlines()]
    front = "{}1129 08:00:15.055000 70 torch/{}/convert_frame.py:2493] "
    warned = "".join(front.format("W", "_dynamo") + row + "\n" for row in rows)
    assert worst(warned) is None
    assert worst("".join(front.format("E", "_dynamo") + row + "\n" for row in rows)) is Severity.ERROR


def test_what_torch_s_c_only_warned_of_is_no_error_where_nothing_else_is_there():
    assert worst(FALLS_BACK) is Severity.WARNING
    assert worst(FALLS_BACK + traceback()) is Severity.ERROR


def test_the_name_of_an_exception_with_which_loops_end_may_be_told_as_a_good_end():
    assert worst("batch 3 loss 0.2\nStopIteration: no more batches\n") is Severity.WARNING
    assert worst("batch 3 loss 0.2\nKeyError: no more batches\n") is Severity.ERROR
    raised = traceback().replace("KeyError: 'fr'", "StopIteration: no more batches")
    assert worst("batch 3 loss 0.2\n" + raised) is Severity.ERROR


def test_an_exception_that_nobody_caught_comes_before_a_warning_of_python_s():
    warned = "/home/me/t.py:2: UserWarning: Failed to initialize NVML: Driver/library version mismatch\n  probe()\n"
    assert explain(f"{warned}epoch 0 loss 1.0\n{traceback()}").verdict.primary == "unrecognised-error"


def test_what_was_printed_often_and_then_raised_is_an_error():
    one = traceback(function="fetch")
    last = traceback(function="main").replace("line 6", "line 9")
    ended = traceback().replace("\n", '\n  File "/home/me/t.py", line 9, in main\n    fetch()\n', 1)
    assert worst(one * 3 + ended + last) is Severity.ERROR


def test_what_a_handler_printed_last_of_something_beside_the_work_may_be_over():
    aside = traceback(function="finish").replace("v = table[key]", "write_table(runs)")
    assert worst("rank 0: 40 rounds, loss 0.3\nrank 1: 40 rounds, loss 0.3\n" + aside) is Severity.WARNING
    assert worst(aside) is Severity.ERROR
    assert worst("reading the table\n" + aside) is Severity.ERROR  # no result yet
    assert worst("round 2 of 40, loss 0.3\n" + aside) is Severity.ERROR  # in the middle
    assert worst("40 rounds, loss 0.3\nthe run failed:\n" + aside) is Severity.ERROR
    for call in ("train(runs)", "self.run_epoch()", "main()"):
        assert worst("40 rounds, loss 0.3\n" + aside.replace("write_table(runs)", call)) is Severity.ERROR
    assert worst("40 rounds, loss 0.3\n" + aside.replace("in finish", "in <module>")) is Severity.ERROR


def test_a_program_that_says_in_the_same_line_that_it_does_without_has_not_failed_for_certain():
    told = "prep: MemoryError: clip {} has too many frames ({})\n"
    assert worst(told.format(2, "dropped") + told.format(7, "dropped")) is Severity.WARNING
    assert worst(told.format(2, "the limit is 900") + told.format(7, "the limit is 900")) is Severity.ERROR


def test_complaints_of_tools_alone_may_be_no_matter():
    assert (
        worst("mkdir: cannot create directory '/data/out': No such file or directory\n") is Severity.WARNING
    )
    assert worst("job.sh: line 4: fit: command not found\n") is Severity.ERROR


def test_what_a_program_says_that_it_does_instead_is_no_end():
    full = "write to /data/{}.pt: No space left on device; {}\n"
    assert worst(full.format(1, "writing to the other disk instead")) is None
    again = "".join(full.format(n, "writing to the other disk instead") for n in range(4))
    assert worst(again) is Severity.WARNING
    assert worst("".join(full.format(n, "no more") for n in range(4))) is Severity.ERROR
    assert worst(full.format(1, "consider using another disk instead")) is Severity.ERROR
    assert (
        worst("epoch 3 loss 0.4\n" + full.format(1, "keeping it in memory instead") + "epoch 4 loss 0.3\n")
        is None
    )
