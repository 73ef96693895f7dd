"""How a log ends where no known failure is in it, and how a command ended that was run."""

import pytest
from msgspec.structs import replace

from gpudoctor import explain
from gpudoctor.facts import Run
from gpudoctor.logs.explain import explain_run
from gpudoctor.logs.line_kinds import tells_of_failure
from gpudoctor.model import Severity
from gpudoctor.report import Status

TRAINED = "".join(f"epoch {n} of 3 loss 0.{n}\n" for n in range(1, 4))


@pytest.mark.parametrize(
    "last",
    [
        "make: *** [Makefile:12: train] Error 2",
        "##[error]Process completed with exit code 4.",
        "srun: error: Couldn't open the file of the job",
        "./train.sh: line 3: module: command not found",
        "docker: Error response from daemon: pull access denied for team/train.",
        "train.sh: step 2 exited with status 3",
        "job.sh: line 4: stage failed with status 9",
        "*** An error occurred in MPI_Init\n*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort)",
        "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
        "job.sh: line 1: 26817 Alarm clock             python fit.py",
        "Killing subprocess 83558",
        "*** SIGTERM received at time=1767200000 on cpu 3 ***",
        "  Warning  BackOff  2m4s  kubelet  Back-off pulling image fit\n  Normal  Started  2m1s  kubelet",
        "(EngineCore_DP0 pid=17) ERROR 04-15 14:37:14 [v1/engine/core.py:936] EngineCore failed to start.",
        "      terminated:\n        exitCode: 128\n        reason: ContainerCannotRun",
        "ProcessRaisedException                    Traceback (most recent call last)",
        "bert-worker-0   0/1     ImagePullBackOff   0          2m32s",
        "srun: error: node3: task 0: Terminated\nsrun: debug:  task 0 done\nsrun: debug:  IO thread exiting",
        "job.sh: line 4:  7220 Killed                  timeout -s KILL 8 python fit.py",
        "failed to create process.",
        "job.sh: line 2: mpirun_rsh: command not found\nmpirun finished: 127",
        "No components were able to be opened in the pml framework.",
    ],
)
def test_what_a_shell_or_a_launcher_says_last_is_a_failure(last):
    report = explain(f"starting\n{TRAINED}{last}\n")
    assert report.findings[0].id == "unrecognised-error"
    assert report.findings[0].severity is Severity.ERROR
    assert any(evidence.text in last for evidence in report.findings[0].evidence)
    assert report.verdict.status is Status.BROKEN


@pytest.mark.parametrize(
    "text",
    [
        "job exited with status 0",
        "/opt/ccl/__init__.py:25: UserWarning: no GPU for libgpu.so: cannot open shared object file: No such file or directory",
        "job.sh: line 2: 12817 User defined signal 1   python fit.py",  # asked for, before a time limit
        "profiler: gpuGetDeviceCount failed with code 35\nepoch 4 loss 0.1",
        "job.sh: line 2: nvidia-smi: command not found\ndice 0.8\nexit code: 0",
        "Process finished with exit code 0",
        "[launch] exit codes: [0, 0, 0]",
        "exit_codes={1: 0, 2: 0}",
        "0 errors, 3 warnings",
        "helper ended with exit code -15 (terminated by us)",
        "ERROR row 9: AssertionError: no box (1/50 errors allowed)\nbatch 3 mae 0.2",
        "ERROR: 0",
        "Error while removing the scratch folder: it is gone (harmless)",
        "saved w.pt\nError while removing temporary folder x\nsaved w.pt\nError while removing temporary folder x",
        "restart: exited with status 3\n" + TRAINED,
        "error = None",
        "h:1:1 [0] NCCL INFO NET/Plugin: load (libnccl-net.so) returned 2 : cannot open shared object: No such file or directory",
    ],
)
def test_what_ended_well_has_no_error(text):
    report = explain(f"starting\n{TRAINED}{text}\n")
    assert report.worst() in (None, Severity.NOTE), report.findings


STACK = '  File "/opt/engine.py", line 526, in _close\n    callback.close(state, logger)\n'


@pytest.mark.parametrize("stack", ["", STACK])
def test_an_error_in_front_of_which_only_its_level_says_so_is_worth_a_look(stack):
    report = explain(
        f"{TRAINED}ERROR: expected to be in states [IDLE: 1] but current state is BACKWARD\n{stack}"
    )
    (finding,) = report.findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    assert "expected to be in states" in finding.evidence[0].text


def test_an_error_that_a_program_reports_last_is_worth_a_look():
    report = explain(f"{TRAINED}2026-01-02 03:04:05 ERROR export: the table is gone\n")
    (finding,) = report.findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    assert report.verdict.status is Status.SUSPECT


def test_a_launcher_that_ends_its_processes_last_of_all_had_a_reason():
    ends = "W0904 23:21:20.115924 2202014 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 20 closing signal SIGTERM\n"
    noise = "resource_tracker.py:216: UserWarning: resource_tracker: There appear to be 32 leaked semaphore objects\n"
    assert explain(f"{ends}{ends}{noise}").worst() is not None
    assert explain(f"{ends}{TRAINED}{TRAINED}{TRAINED}").worst() in (None, Severity.NOTE)


def test_a_search_counts_the_trials_that_failed_and_a_runtime_the_container_it_could_not_make():
    table = (
        "Number of errored trials: 1\n| Trial name      |   # failures | error file    |\n"
        "|-----------------+--------------+---------------|\n| _inner_0755e982 |            1 | /root/ray_results/pbt/_inner_0755e982_1_num_train_epochs=15/error.txt |\n"
    )
    assert explain(table).worst() is not None
    assert explain("Number of errored trials: 0\n").worst() is None
    assert (
        explain("  Message:  OCI runtime create failed: runc did not terminate successfully\n").worst()
        is not None
    )


def test_a_program_without_data_reports_an_error_and_no_number_of_errors():
    (finding,) = explain(f"{TRAINED}error: 0 rows after filtering\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    for count in ("errors: 0", "error: 0 warnings: 2", "failed: 0 of 12", "errors 0, skipped 3"):
        assert explain(f"{TRAINED}{count}\n").findings == []


@pytest.mark.parametrize(
    ("last", "at"),
    [
        ("Epoch [2/10] loss 0.3", "epoch 2 of 10"),
        (" 37%|███       | 37/100 [00:10<00:17,  3.7it/s]", "37 %"),
        ("step 120/5000 lr 0.1", "step 120 of 5000"),
        ("Epoch 9/10 loss 0.1", ""),  # counted from 0
        ("a:   0%|   | 0/40 [00:00<?, ?it/s]\na: 100%|███| 40/40 [00:00<00:00, 51.6it/s]", ""),
        ("Train Epoch: 3 [59520/60000 (99%)] Loss: 0.1", ""),
        ("Epoch 2/10 done, best checkpoint saved", ""),
    ],
)
def test_a_log_that_ends_in_the_middle_is_not_called_well(last, at):
    report = explain(f"starting\n{last}\n")
    assert report.facts["log"].middle == at
    assert report.verdict.status is (Status.UNKNOWN if at else Status.HEALTHY)
    assert report.findings == []


@pytest.mark.parametrize("output", ["", "loading\n", TRAINED, "\x00\xff\n" * 5])
@pytest.mark.parametrize("code", [1, 7, 255])
def test_a_command_that_failed_always_has_a_finding(output, code):
    report = explain_run(Run(name="train.sh", exit_code=code, seconds=75.25), output)
    assert report.findings[0].id == "unrecognised-error"
    assert report.findings[0].message == f"train.sh ended with exit code {code} after 75.2 s"
    assert report.verdict.status is Status.BROKEN


@pytest.mark.parametrize(
    ("number", "id"),
    [
        (11, "child-segfault"),
        (6, "child-segfault"),
        (7, "child-segfault"),
        (9, "host-oom-killed"),
        (15, "scheduler-ended-job"),
    ],
)
def test_the_signal_that_ended_a_command_is_used(number, id):
    report = explain_run(Run(name="python", exit_code=128 + number, seconds=1.0), TRAINED)
    assert report.findings[0].id == id
    assert report.findings[0].evidence[0].where == "exit status"


def test_what_the_kernel_counted_tells_whether_a_command_was_killed_for_memory():
    run = Run(name="python", exit_code=137, seconds=4.0, killed=True, oom_kills=0, largest_bytes=300 << 20)
    for output in ("", TRAINED):
        (finding,) = explain_run(run, output).findings
        assert finding.id == "unrecognised-error"
        assert "killed (SIGKILL) after 4.0 s by somebody" in finding.message
        assert "300 MiB" in finding.message
    report = explain_run(replace(run, oom_kills=2), "")
    assert report.verdict.primary == "host-oom-killed"
    assert "killed by the OOM killer" in report.findings[0].message
    # A wrapper's 137 is another process's, perhaps on another machine.
    assert explain_run(replace(run, killed=False), "").verdict.primary == "host-oom-killed"


@pytest.mark.parametrize(
    ("silent", "longest", "told"), [(95.0, 4.0, True), (20.0, 1.0, False), (95.0, 60.0, False)]
)
def test_a_command_that_was_ended_after_a_long_silence_may_have_stood_still(silent, longest, told):
    run = Run(
        name="python", exit_code=130, seconds=120.0, interrupted=True, silent=silent, longest_silence=longest
    )
    report = explain_run(run, TRAINED)
    assert [f.id for f in report.findings] == (["silent-hang"] if told else [])
    assert report.worst() is (Severity.WARNING if told else None)


SHUT = (
    "W0101 10:00:00.1 7 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\n"
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15\n"
)
STOOD = {
    "name": "torchrun",
    "exit_code": 1,
    "seconds": 90.0,
    "interrupted": True,
    "silent": 60.0,
    "longest_silence": 2.0,
}


def test_what_a_command_says_of_its_end_is_not_why_it_stood_still_before():
    lines = TRAINED.count("\n")
    run = Run(
        **STOOD, lines=lines, still=True, ranks="rank 1 (pid 8) had been gone for 50 s, rank 0 (pid 7) waited"
    )
    report = explain_run(run, TRAINED + SHUT)
    assert [(f.id, f.severity) for f in report.findings[:1]] == [("silent-hang", Severity.ERROR)]
    assert "its ranks stood still, rank 1 (pid 8) had been gone for 50 s" in report.findings[0].message
    assert "scheduler-ended-job" in [f.id for f in report.findings[1:]]
    # The start of a program may take long; ranks that do nothing need not be silent for much longer than that.
    report = explain_run(replace(run, longest_silence=40.0), TRAINED + SHUT)
    assert report.findings[0].id == "silent-hang"
    report = explain_run(replace(run, longest_silence=70.0), TRAINED + SHUT)
    assert report.findings[0].id == "scheduler-ended-job"
    # One that computed may only have had nothing to say; and what had failed before is the reason.
    assert explain_run(replace(run, still=False), TRAINED + SHUT).findings[0].id == "scheduler-ended-job"
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    report = explain_run(replace(run, lines=lines + 1), TRAINED + oom + SHUT)
    assert report.findings[0].id == "cuda-oom"


def test_a_time_limit_of_the_command_itself_is_not_why_it_stood_still():
    run = Run(
        **(STOOD | {"name": "timeout", "exit_code": 124, "interrupted": False}),
        lines=TRAINED.count("\n"),
        still=True,
    )
    assert explain_run(run, TRAINED + SHUT).findings[0].id == "silent-hang"
    assert explain_run(run, TRAINED).findings[0].id == "silent-hang"


def test_stacks_that_were_taken_of_the_ranks_say_where_they_stood():
    stacks = (
        "rank 0 stands here (most recent call first):\n    all_reduce (torch/distributed/distributed_c10d.py:2933)\n"
        "    <module> (fit.py:30)\n\nrank 1 stands here (most recent call first):\n    read (shards.py:12)\n"
        "    <module> (fit.py:28)\n"
    )
    run = Run(**STOOD, lines=TRAINED.count("\n"), still=True, ranks="rank 0 (pid 7) waited", stacks=stacks)
    finding = explain_run(run, TRAINED + SHUT).findings[0]
    assert finding.id == "silent-hang"
    assert "rank 0 waits in all_reduce (fit.py:30), rank 1 stands in read (fit.py:28)" in finding.message


def test_a_launcher_that_started_no_rank_waited_for_other_nodes():
    alone = "torchrun had started no rank, and waited for other nodes"
    run = Run(**(STOOD | {"exit_code": 143}), lines=0, still=True, ranks=alone)
    for output in ("", SHUT):
        assert explain_run(run, output).findings[0].id == "rendezvous-incomplete"


TASK = (
    "Traceback (most recent call last):\n"
    '  File "/opt/env/bin/torchrun", line 8, in <module>\n'
    "    sys.exit(main())\n"
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 30100, "
    "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n"
    "srun: error: node7: task 1: Exited with exit code 1\n"
)


def test_what_the_other_tasks_of_a_step_print_is_no_sign_of_life_of_the_one_that_ended():
    trained = "".join(f"epoch {epoch} loss 0.{50 - epoch}\n" for epoch in range(6)) + "saved model.pt\n"
    run = Run(name="srun", exit_code=1, seconds=50.0)
    assert explain_run(run, TASK + trained).verdict.primary == "port-in-use"
    assert explain(TASK + trained).worst() is not Severity.ERROR


CRASH = (
    "terminate called without an active exception\n"
    "E0101 10:00:09.1 7 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) local_rank: 1 (pid: 9) of binary: python\n"
)


def test_what_was_mentioned_above_results_is_not_why_a_process_crashed():
    said = "rank 1: no nccl here (nccl2 requires at least one CUDA device); using gloo\n"
    trained = "".join(f"epoch {epoch} loss 0.{50 - epoch}\n" for epoch in range(6))
    assert explain(said + trained + CRASH).verdict.primary == "child-segfault"
    assert explain(said + CRASH).verdict.primary == "nccl-no-gpu"


def test_a_command_that_somebody_interrupted_has_not_failed():
    report = explain_run(Run(name="python", exit_code=130, seconds=2.0, interrupted=True), TRAINED)
    assert report.findings == []
    assert report.verdict.status is Status.UNKNOWN
    assert report.verdict.sentence.startswith(
        "python was interrupted, and ended with exit code 130 (128 + SIGINT) after 2.0 s"
    )


def test_an_interruption_by_a_time_limit_is_the_cause():
    text = 'step 1\nTraceback (most recent call last):\n  File "fit.py", line 3, in <module>\n    f()\nKeyboardInterrupt\n'
    report = explain_run(Run(name="job.sh", exit_code=124, seconds=60.0), text)
    assert report.verdict.primary == "interrupted"
    assert [f.id for f in report.findings] == ["interrupted"]
    assert explain_run(Run(name="job.sh", exit_code=130, seconds=60.0), text).worst() is Severity.NOTE


def test_what_tells_ranks_apart_is_offered_where_there_are_some():
    alone = explain_run(Run(name="python", exit_code=1, seconds=2.0), "KeyError: 'lr'\n").findings[0]
    assert not any("torchrun" in fix.command for fix in alone.fixes)
    ranks = explain_run(Run(name="python", exit_code=1, seconds=2.0), "[rank1]: KeyError: 'lr'\n").findings[0]
    assert any("torchrun --log-dir" in fix.command for fix in ranks.fixes)


ERROR = 'Traceback (most recent call last):\n  File "/home/me/train.py", line 9, in load\n    f()\nKeyError: "lr"\n'


@pytest.mark.parametrize(
    "rest", ["0.9123\n", "figures: 3/4\n", "/srv/out/weights.pt\n", "INFO 7 shards in memory\n"]
)
def test_an_error_below_which_results_stand_was_got_over(rest):
    assert explain(f"start\n{ERROR}{rest}").worst() in (None, Severity.NOTE)


@pytest.mark.parametrize("first", ["", "start\n"])
def test_what_was_kept_back_until_a_traceback_had_ended_the_process_is_no_sign_of_life(first):
    uncaught = ERROR.replace("in load", "in <module>")
    report = explain(f"{first}{uncaught}" + "".join(f"step {n} loss 0.{n}\n" for n in range(9)))
    assert (report.worst() is Severity.WARNING) == (not first)


def test_one_process_dies_once():
    first = ERROR.replace("in load", "in <module>")
    report = explain(f"{first}{first.replace('KeyError', 'IndexError')}")
    assert [f.message.partition(":")[0] for f in report.findings] == ["IndexError"]
    both = explain(f"[rank0]: {first}[rank1]: {first.replace('KeyError', 'IndexError')}")
    assert both.findings[0].message.startswith("KeyError")


def test_the_error_behind_a_clean_up_that_meets_a_lost_peer_is_the_cause():
    text = (
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 6, in <module>\n'
        "    names[3]\nIndexError: list index out of range\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 9, in <module>\n    dist.barrier()\n'
        "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.2.3]:51842\n"
    )
    first = explain(text).findings[0]
    assert (first.id, first.severity) == ("unrecognised-error", Severity.ERROR)
    assert first.message.startswith("IndexError: list index out of range")


def test_a_text_of_help_reports_no_error():
    text = "usage: train.py [-h]\n\noptions:\n  -h, --help  show this help message and exit\n\n"
    report = explain(text + 'If you see "RuntimeError: Address already in use" choose another --port\n')
    assert report.verdict.status is Status.HEALTHY


@pytest.mark.parametrize("rest", ["tmux session closed\n", "cmd\nt.py\n"])
def test_an_error_below_which_the_log_goes_on_may_have_been_got_over(rest):
    report = explain(f"start\n{ERROR}{rest}")
    (finding,) = report.findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    assert report.verdict.sentence.startswith("Worth a look: unrecognised-error")
    assert report.verdict.sentence.endswith("The log goes on below it: it may have been got over.")


@pytest.mark.parametrize(
    "rest",
    [
        "Job 1142 finished at 07:10:29\n",
        "Total time: 7 s\n",
        "[timing] total wall clock: 5 s\n",
        "[entrypoint] training process ended with status 1\n",
        "=== train.py returned 1 after 6s ===\n",
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace, see https://pytorch.org\n",
        "I think that this should work since my colleague had no such trouble\n",
        "  which is indented\n",
        "wandb: Run history:\n",
        "\n\n",
    ],
)
def test_what_stands_below_an_error_in_any_case_is_no_doubt(rest):
    report = explain(f"start\n{ERROR}{rest}")
    assert report.findings[0].id == "unrecognised-error"
    assert report.findings[0].severity is Severity.ERROR


def test_another_rank_that_goes_on_is_no_doubt():
    text = "".join(f"[rank1]: {line}\n" for line in ERROR.splitlines())
    assert explain(f"{text}[rank0]: 0.9123\n").findings[0].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("rest", "well"),
    [
        ("trained on 6/8 batches\nFinished Training\n", True),
        ("INFO finished 12 iterations, 2 skipped\n", True),
        ("===== 3 passed in 2.10s =====\n", True),
        ("loss 0.1\ncompleted\n", True),
        (
            "final 0.93\natexit: Exception ignored while closing the event writer: ValueError('closed')\n",
            True,
        ),
        ("", False),
        ("loss 0.1\n", True),
        ("Job finished at Sat Nov 29 22:08:07 UTC 2025\n", False),  # the job script's
        ("Done.\n", False),
        ("Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n", False),
        ("===== 1 failed, 3 passed in 2.10s =====\n", False),
        ("model saved\nsrun: error: n1: task 1: Exited with exit code 1\n", False),
    ],
)
def test_an_error_before_a_good_end_is_a_note(rest, well):
    report = explain(f"start\n{ERROR}{rest}")
    assert (report.worst() in (None, Severity.NOTE)) == well
    assert (report.verdict.status is Status.HEALTHY) == well


def test_an_exit_code_beats_a_good_end():
    report = explain_run(Run(name="python", exit_code=3, seconds=2.0), f"{ERROR}trained\nFinished Training\n")
    assert report.findings[0].id == "unrecognised-error"
    assert report.findings[0].severity is Severity.ERROR


@pytest.mark.parametrize(
    "last",
    [
        "Cannot find the experiment 'train'. Check that it's in your list.",
        "error: WANDB_API_KEY is not set",
    ],
)
def test_what_a_program_says_last_before_it_gives_up_is_worth_a_look(last):
    report = explain(f"{TRAINED}{last}\n")
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.WARNING)]


@pytest.mark.parametrize(
    "last",
    [
        "Cannot find the experiment 'train'. Check that it's in your list.",
        "error: WANDB_API_KEY is not set",
        "[launch] checksum of train.bin differs, refusing to start",
        "2026-01-02 03:04:05 | ERROR | trainer.py:512 | run ended: worker 3 is lost",
        "✗ [Rank 0] Error creating folders: [Errno 13] Permission denied: '/scratch/out'",
        "AssertionError",
        "frame #0: c10::Error::Error() + 0x5 (0x7f2f in c.so)\nframe #1: c10d::Watchdog() + 0x1 (0x7f2a in t.so)",
        "Epoch 1/3\nThe kernel appears to have died. It will restart automatically.",
    ],
)
def test_what_is_reported_last_where_nothing_tells_of_a_run_that_went_well_ended_it(last):
    (finding,) = explain(f"start\n{last}\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" 37%|███       | 37/100 [00:10<00:17,  3.7it/s]\n(ml) me@box:~/nets$\n", "37 %"),
        ("epoch 2 of 10 loss 0.3\nme@box:~/nets$ \n", "epoch 2 of 10"),
        ("epoch 10 of 10 loss 0.3\nme@box:~/nets$ \n", ""),
    ],
)
def test_a_shells_prompt_below_a_training_tells_that_it_ended(text, said):
    report = explain(f"starting\n{text}")
    assert (report.worst() is Severity.ERROR) is bool(said)
    assert said in report.verdict.sentence


def test_what_stands_right_behind_a_bar_is_a_line_of_its_own():
    bar = " 63%|██████▎   | 791/1250 [08:12<04:45,  1.61it/s, loss=0.713]"
    assert explain(f"{bar}Killed\n").verdict.primary == "host-oom-killed"
    assert explain(f"{bar}\n").findings == []


def test_trying_again_to_the_end_is_not_having_got_over_it():
    again = "TCP client failed to connect/validate to host node0:29500 - retrying (try={}, timeout=60000ms, delay=1000ms)\n"
    report = explain("INFO loading the data\n" + "".join(again.format(n) for n in range(4)))
    assert report.verdict.primary == "rendezvous-unreachable"
    assert report.findings[0].severity is Severity.ERROR


def test_what_a_rank_says_of_others_after_an_interruption_is_a_consequence():
    lost = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.2.3]:51842\n"
    report = explain_run(Run(name="torchrun", exit_code=1, seconds=2.0, interrupted=True), f"[rank0]: {lost}")
    assert [(f.id, f.severity) for f in report.findings] == [("gloo-peer-closed", Severity.NOTE)]
    assert report.verdict.sentence.startswith("torchrun was interrupted")
    report = explain_run(Run(name="torchrun", exit_code=1, seconds=2.0), f"[rank0]: {lost}")
    assert report.findings[0].severity is Severity.ERROR


def test_the_exception_of_a_thread_does_not_end_the_process():
    report = explain(f"reading\nException in thread Thread-1 (upload):\n{ERROR}")
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.WARNING)]
    after = explain(f"weights saved\nException in thread Thread-1 (upload):\n{ERROR}")
    assert after.worst() in (None, Severity.NOTE)


def test_an_error_that_hydra_tells_without_a_traceback():
    (finding,) = explain(
        "Could not override 'model.width'.\nTo append to your config use +model.width=64\n\n"
        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n"
    ).findings
    assert (finding.message, finding.severity) == (
        "usage error: Could not override 'model.width'.",
        Severity.ERROR,
    )


def test_a_time_limit_that_sent_its_own_kill_is_none_of_memory():
    killed = "job.sh: line 4:  7220 Killed                  {}python fit.py\n"
    run = Run(name="bash", exit_code=137, seconds=8.0)
    assert explain_run(run, killed.format("timeout -s KILL 8 ")).verdict.primary == "unrecognised-error"
    assert explain_run(run, killed.format("")).verdict.primary == "host-oom-killed"


def test_a_signal_that_the_program_tells_of_itself_did_not_end_it_for_certain():
    report = explain("gen 1 best fitness 9\nevaluator still busy, terminated, exit code -15\n")
    assert report.worst() is Severity.WARNING
    assert explain("gen 1 best fitness 9\nevaluator ended, exit code 15\n").worst() is Severity.ERROR


def test_a_limit_of_timeout_is_said():
    run = Run(name="timeout", exit_code=124, seconds=6.1)
    (finding,) = explain_run(run, "step 1\nstep 2\n").findings
    assert finding.message == "timeout ended the command: its limit was over, after 6.1 s"
    assert (
        "limit"
        not in explain_run(Run(name="timeout", exit_code=3, seconds=1.0), "step 1\n").findings[0].message
    )


def test_a_native_stack_is_nothing_that_goes_on_below_what_is_tried_again():
    stack = "Exception raised from run at /w/socket.cpp:820 (most recent call first):\nframe #0: main + 0x9d (0x7f5d7535c13d in lib.so)\n<omitting python frames>\n"
    lost = "[E1124 17:25:41.726202485 socket.cpp:818] [c10d] The client socket has failed to connect to any network address of (n1, 29807).\n"
    again = "[W1124 17:25:41.726298667 TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host n1:29807 - retrying (try=8, timeout=900000ms, delay=1073ms)\n"
    report = explain((lost + again + stack) * 3)
    assert (report.findings[0].id, report.findings[0].severity) == ("rendezvous-unreachable", Severity.ERROR)


def test_where_slurm_says_how_to_get_help_is_nothing_that_goes_on():
    report = explain(
        "srun: unrecognized option '--gpu-per-tasks=1'\nTry \"srun --help\" for more information\n"
    )
    assert (report.findings[0].id, report.findings[0].severity) == ("slurm-step-refused", Severity.ERROR)


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("this recipe needs 8 processes, started with 2", "unrecognised-error"),
        ("the two splits overlap in 14 documents", "unrecognised-error"),
        ("rank 1 loads the engine", "child-failed"),
        ("batch 30 has no masked token, loss 0.31", "child-failed"),
        ("config.yaml: no such key 'optim'", "unrecognised-error"),
        (
            "Setting OMP_NUM_THREADS environment variable for each process to be 1, tune it as needed.",
            "child-failed",
        ),
        (
            "[Gloo] Rank 1 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1",
            "child-failed",
        ),
        ("node3:77:77 [0] NCCL INFO NCCL_IB_DISABLE is not set", "child-failed"),
        ("no checkpoint yet, starting from scratch without AMP", "child-failed"),
        ("missing keys: [], unexpected keys: []", "child-failed"),
    ],
)
def test_the_words_with_which_a_worker_left_are_why_where_they_give_a_reason(said, id):
    word = "E1124 17:00:25.593000 77 torch/distributed/elastic/multiprocessing/api.py:1002] "
    word += "failed (exitcode: 3) local_rank: 1 (pid: 80) of binary: /usr/bin/python\n"
    report = explain(f"loading\n{said}\n{word}")
    assert (report.findings[0].id, report.findings[0].severity) == (id, Severity.ERROR)


def test_no_traceback_is_to_be_read_where_none_is():
    (finding,) = explain_run(Run(name="python", exit_code=3, seconds=1.0), "step 1\n").findings
    assert all(fix.command for fix in finding.fixes)
    trace = 'Traceback (most recent call last):\n  File "fit.py", line 2, in <module>\n    f()\nKeyError: 1\n'
    assert not all(fix.command for fix in explain(trace).findings[0].fixes)


def test_a_script_that_never_ran_is_tried_with_no_other_number_of_ranks():
    text = "/usr/bin/python: can't open file '/home/me/fit.py': [Errno 2] No such file or directory\n"
    failed = (
        "E1123 05:20:03.947000 69 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) "
        "local_rank: 0 (pid: 70) of binary: python\n"
    )
    finding = explain(text + failed).findings[0]
    assert finding.id == "unrecognised-error"
    assert not any("torchrun" in fix.command for fix in finding.fixes)
    assert finding.fixes[0].command == "ls -l /home/me"


def test_a_script_that_does_not_take_an_option_says_which_it_takes():
    text = "usage: fit.py [-h] --data DATA\nfit.py: error: the following arguments are required: --data\n"
    assert explain(text).findings[0].fixes[0].command == "python fit.py --help"


HEAD = "Traceback (most recent call last):\n"
TO_HERE = '  File "/home/me/fit.py", line 9, in <module>\n    fit()\n'


@pytest.mark.parametrize("below", [TO_HERE, TO_HERE * 3, '  File "<string>", line 3, in <module>\n'])
def test_a_log_that_ends_in_a_traceback_ends_with_a_failure(below):
    report = explain(TRAINED + HEAD + below)
    assert [finding.id for finding in report.findings] == ["unrecognised-error"]
    assert "the log ends inside its traceback" in report.findings[0].message


@pytest.mark.parametrize("below", ["", TO_HERE + "caught, going on\n" + TRAINED])
def test_a_traceback_above_what_a_program_still_prints_is_no_end(below):
    assert explain(TRAINED + HEAD + below).worst() in (None, Severity.NOTE)


def test_pods_that_run_are_no_results_below_one_that_does_not():
    rows = "worker-0   0/1   CrashLoopBackOff   8   2m\nworker-1   1/1   Running   0   2m\n"
    assert explain(rows).findings[0].id == "child-failed"
    assert explain(rows.replace("CrashLoopBackOff", "Running")).worst() is None


def test_parts_that_a_program_did_without_are_no_end():
    sweep = """\
trial lr=0.01: accuracy 0.899
trial lr=3.0 FAILED (exit code 1), excluded from the ranking
sweep complete: 1 succeeded, 1 failed; best lr=0.01
"""
    assert explain(sweep).verdict.status is Status.HEALTHY
    assert (
        explain(sweep.replace(", excluded from the ranking", "").split("sweep")[0]).verdict.primary
        is not None
    )
    suite = "tests/test_a.py ..F\n1 failed, 2 passed in 3.21s\n"
    assert explain(suite).verdict.primary is not None


COUNTED = "".join(f"[{n}/9] J = 0.{n}\n" for n in range(1, 5))


@pytest.mark.parametrize(
    "text",
    [
        "I get this error or warning at every step while the training is continuing, why?\n",
        (
            "This warning appears when training begins, does it fail in the end?\n"
            "/opt/py/lib/python3.10/site-packages/torch/optim/adam.py:90: UserWarning: fused is not supported\n"
            "  warnings.warn(words)\n"
        ),
        "It prints an error about the font but the model trains normally\n",
    ],
)
def test_who_asks_about_a_warning_has_no_failure(text):
    assert not [f for f in explain(text).findings if f.severity is Severity.ERROR]


def test_a_complaint_in_the_middle_of_a_count_may_be_the_end():
    report = explain(COUNTED + "could not read shard 4: unexpected magic number\n")
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.WARNING)]


@pytest.mark.parametrize(
    "text",
    [
        COUNTED.replace("/9", "/4") + "could not tell the team: refused\n",  # it came to its end
        "[1/9] up\n[1/9] J = 0.3\n[1/9] J = 0.2\ncould not tell the team: refused\n",  # a rank's number
        COUNTED,
    ],
)
def test_a_complaint_elsewhere_is_none(text):
    assert not explain(text).findings


def test_a_count_that_goes_up_tells_how_far_it_came():
    assert explain(COUNTED).verdict.sentence.count("the log ends in the middle, at 4 of 9:") == 1


@pytest.mark.parametrize(
    "said",
    [
        "Invalid value for '--lr': 'abc' is not a valid float.",
        "No such option: --lrr",
        "Missing argument 'DATA'.",
    ],
)
def test_what_typer_says_in_a_box_is_how_the_program_ended(said):
    box = f"Usage: t.py [OPTIONS]\nTry 't.py --help' for help.\n╭─ Error ──────╮\n│ {said} │\n╰──────────────╯\n"
    report = explain(box)
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.ERROR)]


def test_a_library_that_cannot_open_a_file_is_no_command_that_failed():
    front = "ERROR:2026-01-02 03:04:05 77:77 output_json.cpp:505] "
    report = explain(
        f"Self CPU time total: 8.5ms\n{front}Failed to open '/srv/t.json' : No such file or directory\n"
    )
    assert report.worst() is not Severity.ERROR
    assert explain("step 1\n./run.sh: line 3: train: No such file or directory\n").worst() is Severity.ERROR


@pytest.mark.parametrize("last", ["ОШИБКА: нет файла с метками", "Fehler: Datei fehlt", "错误：没有标签"])
def test_what_a_program_reports_last_in_another_language_is_worth_a_look(last):
    assert [f.id for f in explain(f"start\n{last}\n").findings] == ["unrecognised-error"]


def test_a_number_called_error_in_another_language_is_none():
    assert not explain("epoch 1 of 1\nFehler 0.03\n").findings


def test_a_handler_that_says_that_it_ends_the_process_got_over_nothing():
    tried = (
        'Traceback (most recent call last):\n  File "/home/me/t.py", line 3, in feed\n    try: read()\n'
        "         ^^^^^^\nRuntimeError: the feeder lost its source\n"
    )
    assert explain(f"i 1\ni 2\n{tried}i 3 of 0.4\n").worst() is not Severity.WARNING
    assert explain(f"i 1\ni 2\n{tried}feeder is dead, ending the process\n").worst() is Severity.WARNING


def test_the_words_of_an_exit_are_quoted_and_not_the_loop_that_was_printed_below_them():
    run = Run(name="python", exit_code=1, seconds=2.0)
    report = explain_run(run, "validation score is above the limit: not promoting\n" + TRAINED)
    said = [evidence.text for evidence in report.findings[0].evidence]
    assert any("not promoting" in text for text in said)
    assert not any("epoch" in text for text in said)


def test_an_error_that_torch_logs_last_of_all_is_worth_a_look():
    report = explain(
        TRAINED + "[rank1]:[E602 11:17:52.185053341 ProcessGroupNCCL.cpp:632] [Rank 1] the flux is no cap"
    )
    assert (report.findings[0].id, report.findings[0].severity) == ("unrecognised-error", Severity.WARNING)


def test_somebodys_own_words_are_a_failure_where_no_program_says_anything():
    told = "When I train on four cards the container crashes after some hours, although memory is fine."
    (finding,) = explain(f"{told}\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)
    assert finding.evidence[0].text == told
    for text in (
        "I wonder why two cards are no faster than one, and whether that is usual.",
        "The script did run without any errors on both machines of ours.",
        f"{told} I changed the driver and it works fine.",
        f"{told}\n{TRAINED}",
    ):
        assert explain(f"{text}\n").findings == [], text


def test_a_number_in_front_of_a_failure_may_be_whose_it_is_and_no_count():
    assert tells_of_failure("worker 0 failed")
    assert tells_of_failure("RPC agent for 0 encountered error")
    assert not tells_of_failure("all done, 0 failed")


def test_a_data_loader_that_tells_of_its_worker_is_no_launcher():
    lost = "RuntimeError: DataLoader worker (pid 28) exited unexpectedly with exit code 1. Details are lost due to multiprocessing."
    assert explain(f"ERROR: batch 3 could not be made\n{lost}\n").findings[0].id == "dataloader-worker-killed"


def test_options_that_a_program_lists_without_an_end_are_those_that_it_refused():
    cut = "".join(f"              [--part-{n} PART_{n}] [--type-{n} {{a,b}}]\n" for n in "abcd")
    for said in (cut, f"usage: fit [-h] [--kind K]\n{cut}{{one,two,three}}\n"):
        assert [found.id for found in explain(said).findings] == ["unrecognised-error"]
    assert explain(f"{cut}step 1 loss 0.5\n").findings == []


@pytest.mark.parametrize(
    "above",
    ["```\nLoading the model\n", "n1:41:41 [0] NCCL INFO comm 0x55 rank 0 nranks 8 - Init COMPLETE\n"],
)
def test_the_first_line_of_a_traceback_at_the_end_is_a_failure(above):
    text = above + "Traceback (most recent call last):\n" + ("```\n" if "```" in above else "")
    assert explain(text).verdict.primary == "unrecognised-error"


def test_a_tool_that_only_looks_does_not_end_a_job():
    text = "df: /home/kim/.triton/autotune: No such file or directory\nLoading the model\n"
    assert explain(text).findings == []


@pytest.mark.parametrize(
    "last",
    [
        "2026-03-01 10:11:12.345678: E external/xla/xla/service/thing.cc:96] the service is in a bad state",
        "E0301 10:11:12.345678   71 thing.cc:96] the service is in a bad state",
        "[2026-03-01 10:11:12,345 E 71 71] (raylet) thing.cc:96: the service is in a bad state",
        "loading the weights\nSubprocess return code: 3",
        "Error: failed to start the trainer\n```",
    ],
)
def test_what_a_library_of_cpp_reports_last_as_an_error_is_worth_a_look(last):
    (finding,) = explain(f"reading the shards\n{last}\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)


@pytest.mark.parametrize(
    "always",
    [
        "2026-03-01 10:11:12.345678: E xla/cuda_blas.cc:1400] Unable to register cuBLAS factory: one is there already",
        "E0301 10:11:12.345678   71 computation_placer.cc:177] computation placer already registered.",
    ],
)
def test_what_a_library_says_of_being_loaded_twice_is_no_error(always):
    assert explain(f"import of the model\n{always}\n").findings == []


def test_what_an_error_asks_the_reader_to_do_is_no_word_of_a_program_that_does_it():
    raised = "ValueError: the map is for one process. Please rerun your script with one."
    text = f'Traceback (most recent call last):\n  File "fit.py", line 2, in <module>\n    fit()\n{raised}\npool 3\npool 4\n'
    (finding,) = explain(text).findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)


def test_the_rest_of_a_line_that_a_terminal_cut_is_no_output_of_a_program_that_goes_on():
    error = "gpu-node1:4281:4290 [4] net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer 10.2.0.30<54820> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::1:17ff"
    cut = f"{error[:120]}\n{error[120:]}\n"
    assert cut[119:122] == "d\ne"
    found = [(finding.id, finding.severity) for finding in explain(cut).findings]
    assert found == [("nccl-infiniband", Severity.ERROR)]


def test_blanks_at_the_end_of_a_line_change_nothing():
    text = 'Traceback (most recent call last):\n  File "/env/torch/distributed/rendezvous.py", line 9, in _env_rendezvous_handler\n    store = TCPStore(host)\nRuntimeError: Connection timed out'
    ids = [finding.id for finding in explain(text).findings]
    assert ids == [f.id for f in explain("\n".join(row + "  " for row in text.split("\n"))).findings]
    assert ids == ["rendezvous-unreachable"]


def test_what_ranks_wait_for_is_no_result_whatever_it_is_called():
    stalled = "W stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks"
    text = f"[1,0]<stderr>:{stalled}\n[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:0: [allreduce.loss]\n"
    (finding,) = explain(text).findings
    assert (finding.id, finding.severity) == ("rank-desync", Severity.ERROR)


TRAINED = "Epoch 1/2 loss 0.61 acc 0.70\nEpoch 2/2 loss 0.52 acc 0.77\n"


@pytest.mark.parametrize(
    ("end", "fails"),
    [
        ("upload of the weights failed (exit code 7)\njob finished\n", False),
        ("upload of the weights failed (exit code 7)\n", True),
        ("evaluation failed (exit code 7)\njob finished\n", True),
        (
            "wandb: Waiting for W&B process to finish... (failed 1). Press Ctrl-C to abort syncing.\nwandb: Synced, done\n",
            True,
        ),
    ],
)
def test_what_fails_beside_the_training_and_a_job_that_comes_to_its_end(end: str, fails: bool, tmp_path):
    (tmp_path / "train.log").write_text(TRAINED + end)
    found = explain(tmp_path / "train.log").findings
    assert any(f.severity is not Severity.NOTE for f in found) is fails


LEVEL = "[rank2]:{}0612 04:05:06.007000 811 site-packages/torch/distributed/fit.py:77] "


def test_what_torchs_python_reports_last_as_an_error_is_quoted():
    said = "Giving the collective up: dumping the stacks of all threads"
    (finding,) = explain(f"{TRAINED}{LEVEL.format('E')}{said}\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    assert said in finding.message
    assert explain(f"{TRAINED}{LEVEL.format('E')}{said}\n{TRAINED}{TRAINED}").findings == []


def test_what_torchs_python_only_warns_of_ends_nothing():
    for said in ("Failed to take the group apart", "3 failed to answer"):
        assert explain(f"{TRAINED}{LEVEL.format('W')}{said}\n").findings == []


NCCL = "gpu-03:811:902 [2] graph/paths.cc:77 NCCL WARN "


@pytest.mark.parametrize("said", ["Ring 3 has no way back to rank 2", "rank 4 left the ring, 4 failed"])
def test_what_nccl_warned_of_last_may_be_why(said):
    (finding,) = explain(f"{TRAINED}{NCCL}{said}\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.WARNING)
    assert said in finding.message
    assert explain(f"{NCCL}{said}\n{TRAINED}").findings == []
    assert explain(f"{TRAINED}{NCCL}{said}, using the tree instead\n").findings == []


def test_the_reason_that_nccl_gives_is_no_good_end():
    error = "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:9, internal error, NCCL version 2.21.5"
    for said in ("All rings were passed", "Slot 4 is completed already"):
        text = f"{TRAINED}{error}\nncclInternalError: Internal check failed.\nLast error:\n{said}\n"
        report = explain(text)
        assert (report.verdict.primary, report.verdict.status) == ("nccl-internal", Status.BROKEN)
        assert said in report.findings[0].message


def test_what_nccl_only_informs_of_is_no_error_by_itself():
    told = "gpu-03:811:902 [2] NCCL INFO NET/IB : Unable to open device mlx5_7\n"
    finding = explain(told).findings[0]
    assert (finding.id, finding.severity) == ("nccl-infiniband", Severity.WARNING)
    warned = told.replace("INFO", "WARN")
    assert explain(warned).findings[0].severity is Severity.ERROR
    raised = f"{told}RuntimeError: NCCL error in: ../c10d/NCCLUtils.hpp:9, unhandled system error\n"
    assert explain(raised).findings[0].severity is Severity.ERROR


def test_the_name_of_an_exception_may_begin_with_an_underscore():
    (finding,) = explain("fit.plan._NoStepError: nothing is left to do\n").findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)


RULER = "-" * 74


@pytest.mark.parametrize(
    "message",
    [
        (
            "An unrecognized option was included on the mpirun command line:\n\n  Option: --slotz\n\n"
            'Please use the "mpirun --help" command to obtain a list of all\nsupported options.'
        ),
        (
            "prterun was unable to find the specified executable file, and therefore did\nnot launch the job.\n\n"
            "   Node:       alder\n   Executable: fitt"
        ),
        "prterun has detected an attempt to run as root.\n\nRunning so is discouraged by all who know.",
    ],
)
def test_mpirun_says_in_a_box_that_it_starts_nothing(message):
    report = explain(f"{RULER}\n{message}\n{RULER}\n")
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.ERROR)]


def test_the_advice_in_a_box_of_mpirun_is_no_output_below_the_failure():
    report = explain(
        f"{RULER}\nThere are not enough slots available in the system to satisfy the 9\nslots that were requested:\n\n"
        f"  fit\n\n  1. Hostfile, by slots=3\n  2. An RM such as 4/5 of these\n\nasks for 3\n{RULER}\n"
    )
    assert [(f.id, f.severity) for f in report.findings] == [("launcher-ssh", Severity.ERROR)]


@pytest.mark.parametrize("name", ["kit <command> [<args>] launch", "fit.py"])
def test_argparse_names_a_program_with_its_subcommands(name):
    report = explain(
        f"usage: kit launch [-h] [--ranks N]\n{name}: error: argument --ranks: invalid int value: 'two'\n"
    )
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.ERROR)]
