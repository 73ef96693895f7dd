"""What people cut out of an output and paste: titles, blocks of code, and pieces without a beginning or an end."""

import pytest

from gpudoctor import Severity, explain

TRAINED = "".join(f"epoch {n} of 3 loss 0.{n}\n" for n in (1, 2, 3))
RAISED = "Traceback (most recent call last):\n  File \"fit.py\", line 4, in <module>\n    main()\nKeyError: 'mask'\n"
ROWS = (
    "│    40 │   steps = len(loader)                 │\n"
    "│ ❱  41 │   run(steps)                          │\n"
    "│    42                                         │\n"
)
FRAME = "│ /home/me/project/fit.py:41 in main            │\n"
STACK = (
    "frame #3: c10d::ProcessGroupNCCL::watchdog() + 0x1a (0x7f00 in /opt/lib/libtorch_cuda.so)\n"
    "frame #4: clone + 0x43 (0x7f01 in /lib/libc.so.6)\n"
)


@pytest.mark.parametrize("head", ["╭──── Traceback (most recent call last) ────╮\n", ""])
def test_a_box_that_was_cut_off_is_a_traceback(head):
    report = explain(f"preparing 40 images\n{head}{FRAME}{ROWS}")
    assert report.worst() is Severity.ERROR
    assert "the log ends inside its traceback" in report.findings[0].message


def test_the_source_in_a_box_is_no_result_below_it_and_a_table_is():
    table = "".join(f"│    {n} │ loss 0.{n}5 │\n" for n in range(10, 13))
    assert (
        explain(TRAINED + RAISED.replace("Traceback", "error: Traceback") + table).worst()
        is not Severity.ERROR
    )


def test_source_that_skips_something_says_of_no_failure_that_it_was_got_over():
    frames = "".join(
        f'  File "pool.py", line {n}, in poll\n    raise skipped from exception_cause(skipped)\n'
        for n in (7, 8)
    )
    assert explain(f"RayTaskError(ValueError): pool::fit() (pid=7)\n{frames}  File").worst() is Severity.ERROR


@pytest.mark.parametrize("below", ["", "[2026-01-02 03:04:05,678] [INFO] [launch.py:3"])
def test_a_native_stack_without_its_first_lines_is_of_something_that_was_raised(below):
    assert explain(STACK + below).worst() is Severity.ERROR
    assert explain(STACK + TRAINED).worst() is None


@pytest.mark.parametrize(
    ("above", "worst"),
    [("epoch 1 of 3\n", Severity.ERROR), (TRAINED, None), ("Exception ignored in: <f>\n", None)],
)
def test_a_log_that_ends_in_the_first_words_of_a_traceback(above, worst):
    assert explain(f"{above}Traceback (most recent").worst() is worst


def test_bars_that_come_to_their_end_below_an_exception_were_not_kept_back():
    bars = "".join(f"100%|██████████| 49/49 [00:08<00:00,  5.6it/s, epoch={n}/9]\n" for n in (2, 3, 4))
    ended = '  File "torch/utils/data/dataloader.py", line 9, in poll\n    self._check()\n'
    killed = "RuntimeError: DataLoader worker (pid 12) is killed by signal: Aborted.\n"
    assert explain(f"{ended}{ended}{killed}").worst() is Severity.ERROR
    assert explain(f"{ended}{ended}{killed}{bars}").worst() is Severity.NOTE


def test_words_of_several_processes_that_end_at_once_are_no_crashes_beside_what_ended_them():
    said = "terminate called after throwing an instance of "
    timed_out = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=BROADCAST) ran for 9 milliseconds"
    text = f"{said}'c10::Error{said}''\n{said}'\nc10::Error'\n  what():  [PG 0 Rank 3] thread terminated with exception: [Rank 3] {timed_out}\n"
    assert [f.id for f in explain(text).findings if f.severity is Severity.ERROR] == ["nccl-timeout"]


@pytest.mark.parametrize(
    "said",
    [
        "F0102 03:04:05.678901 19761 parallel.cpp:195] Check failed: result == ncclSuccess (1 vs. 0)\n*** Check failure stack\n",
        "E0102 03:04:05.678901 19761 net.cc:188] Exception from operator: caffe2::EnforceNotMet: [enforce fail at a.cc:2] . no\n",
    ],
)
def test_a_library_that_ends_its_process_tells_of_no_exception_that_it_caught(said):
    assert explain("I0102 03:04:05.1  77 solver.cpp:5] Starting\n" + said).worst() is Severity.ERROR


MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def test_the_title_of_an_issue_was_written_when_all_was_over():
    assert explain(f"# {MEMORY}\n{TRAINED}").worst() is Severity.ERROR
    assert (
        explain("# training gets stuck at the first step\n\n3 GPUs found\n").verdict.primary == "silent-hang"
    )
    # a script's comments, and a log of which every line is one
    assert explain("# loading\n# the barrier hangs when a rank is late\nbarrier()\n").worst() is None


def test_what_stands_below_a_block_of_code_is_no_output_of_its_program():
    block = f"```\nstarting\n{RAISED}```\n"
    assert (
        explain(f"{block}My versions:\n```\ntorch 2.9.1\nnumpy 2.1.0\n{TRAINED}```\n").worst()
        is Severity.ERROR
    )
    assert explain(f"```\nstarting\n{RAISED}{TRAINED}{TRAINED}```\nand so on\n").worst() is not Severity.ERROR


@pytest.mark.parametrize(
    "last",
    [
        "The above exc",
        "*** Check fail",
        "torch.distributed.elastic.api:Sending process 77 clo",
        "-- Process 5 te",
        "WARNING:torch.dis",
        "/srv/env/lib/python3.12/si",
        "many_gpus.",
        "[2026-01-0",
        "I add the flag and it does the sa",
        "....",
        "=" * 30,
    ],
)
def test_what_was_cut_off_below_an_error_is_no_program_that_goes_on(last):
    assert explain(f"start\n{MEMORY}{last}\n").worst() is Severity.ERROR


def test_a_whole_last_line_may_be_a_programs():
    assert explain(f"start\n{MEMORY}/srv/out/weights.pt\n").worst() is not Severity.ERROR


@pytest.mark.parametrize(
    "piece",
    [
        '    run(steps)\n  File "/srv/env/lib/python3.12/site-packages/torch/nn/modu',
        '[rank3]:   File "/home/me/fit.py", line 9, in fit\n[rank3]:     loss.back',
        "    116     check()\n--> 117     while not context.join():\n    118         pass",
        "/opt/env/lib/trainer.py in _run(self, model)\n    916 \n    917         # dispatch\n--> 918         go()\n    919 ",
        '    run(steps)\n  File "/srv/env/torch/serialization.py", line 104, in restore\n    result = fn(sto',
        '(most recent call last):\n  File "/bin/torchrun", line 8, in <module>\n    raise Failed(\ntorch.elastic.errors.',
        "    model(step)\nRuntimeError:",
        "│ /opt/env/lib/python3.9/site-packages/launch.py:567 in  │\n│ simple_launcher               │\n│ ❱  567 │   raise Fa",
    ],
)
def test_a_piece_of_a_traceback_is_of_one_that_was_raised(piece):
    assert explain(piece).worst() is Severity.ERROR


def test_a_traceback_that_is_cut_off_was_not_got_over_by_what_stands_above():
    skipped = "| WARNING: ran out of memory, skipping batch\n"
    begun = 'Traceback (most recent call last):\n  File "fit.py", line 4, in <module>\n    main()\n'
    assert explain(f"{skipped}{begun}").worst() is Severity.ERROR


def test_a_mark_that_is_alone_may_be_the_end_of_a_block():
    failed = f"    step()\n{MEMORY}```\nI have two GPUs:\nmemory 81559 MiB\n"
    assert explain(failed).worst() is Severity.ERROR
    code = "```python\nmodel = Model(4, 0.5)\n```\n"
    assert explain(failed + code).worst() is Severity.ERROR


def test_what_a_library_warns_of_to_the_end_is_a_failure():
    row = "[W tensorpipe_agent.cpp:726] RPC agent for 0 encountered error when reading from {}: sendmsg: Broken pipe\n"
    lost = "".join(map(row.format, range(4)))
    assert explain(lost).worst() is Severity.ERROR
    assert explain(lost + TRAINED).worst() is None


def test_a_program_that_just_exits_has_failed():
    assert explain("The process just exits after this line, and I used two GPUs\n").worst() is Severity.ERROR
    assert explain("It does not simply exit any more, all is well with two GPUs\n").worst() is None


def test_what_somebody_says_of_a_hang_is_told_more_exactly_by_the_programs_words():
    told = "[rank1]:[E419 10:42:28.8 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    told += "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"
    assert (
        explain(f"On two nodes the training hangs after an epoch:\n{told}").verdict.primary == "nccl-timeout"
    )


def test_a_sentence_in_chinese_is_no_program_that_goes_on():
    words = "我在一台机器上同时启动了多个训练任务，每个任务需要不同的端口。\n"
    assert explain(f"执行中报错：{MEMORY}{words}").worst() is Severity.ERROR
    assert explain(f"{MEMORY}训练完成\n准确率 0.91\n").worst() is not Severity.ERROR


def test_an_ignored_exception_that_is_cut_off_is_none():
    late = "Exception ignored in: <function Iterator.__del__>\nTraceback (most recent call last):\n"
    assert explain(f'{TRAINED}{late}  File "/srv/env/lib/python3.12/site-pack').worst() is None


SETTINGS = "machine: LOCAL\ndebug: true\nkind: FSDP\nsizes: [1, 2]\n"


@pytest.mark.parametrize("words", ["My fsdp.yaml is:", "I use this config:", "我的配置如下："])
def test_what_somebody_shows_below_a_failure_got_over_nothing(words):
    failed = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 2 (pid: 9) of binary: python\n"
    assert explain(f"{failed}\n{words}\n{SETTINGS}").worst() is Severity.ERROR


@pytest.mark.parametrize(
    "error", ["`RuntimeError: pair.cc:598`", '"ERROR:launch:Rank 0 crashed with exit code -11"']
)
def test_an_error_that_somebody_quotes_in_a_sentence_is_what_it_is_about(error):
    quoted = f"The {error} seems to be the cause of all that, as far as we see."
    assert explain(f"{quoted}\n\nThe log:\nloading 4 files\n").worst() is Severity.ERROR
    told = f"WARNING: the store answered {error} and was left out of it\n"
    assert explain(told + TRAINED).worst() is not Severity.ERROR


def test_workers_that_a_signal_ended_with_torchrun_do_not_go_on():
    assert explain("SignalException: Process 7 got signal: 1\nthat is what I see\n").worst() is Severity.ERROR


@pytest.mark.parametrize(
    ("test", "worst"),
    [
        (
            "____ TestAll.test_sum[2] ____\n\n    def test_sum(n):\n        x = 0.5\n>       assert x == n\n",
            Severity.ERROR,
        ),
        ("> assert x == n\nx = 0.5\n", None),
    ],
)
def test_the_line_that_pytest_marks_failed(test, worst):
    assert explain(test).worst() is worst


def test_what_unittest_says_of_a_test_is_no_sign_of_life():
    assert explain(f"test_sum (__main__.T) ... Process 2:\n{RAISED}FAIL\n").worst() is Severity.ERROR


def test_what_an_operator_was_given_is_part_of_caffe2_s_error():
    error = "[E net.cc:188] Exception from operator chain starting at '': bad batch"
    assert explain(f'{error}\ninput: "a" output: "b" arg {{ i: 1 }}\n').worst() is Severity.ERROR


SETUP = "+-----+\n| GPU  Name  | Bus-Id |\n|   0  Tesla T4   On | 00000000:00:04.0 Off | 0 |\n"


@pytest.mark.parametrize("marks", [("```\n", "```\n"), ("```\n", "")])
def test_what_somebody_leads_up_to_is_no_output_below_what_failed(marks):
    failed = "I see\n\nRuntimeError: no link to the other node\n\n"
    for words in ("This is my GPU setup:\n", "Here is the full output\n\n"):
        text = f"{failed}{words}{marks[0]}loading 4 files\n{SETUP}{marks[1]}"
        assert explain(text).findings[0].severity is Severity.ERROR
    assert explain(f"{failed}loading 4 files\n").worst() is not Severity.ERROR


def test_the_agent_that_waits_for_those_of_other_nodes_is_no_cause():
    log = (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 0 (pid: 26) of binary: python\n"
        "ERROR:torch.distributed.elastic.agent.server.api:Error waiting on exit barrier. Elapsed: 309.2 seconds\n"
        + RAISED.replace("KeyError: 'mask'", "RuntimeError: Socket Timeout")
    )
    assert explain(log).findings[0].id == "child-segfault"


def test_a_stack_of_glogs_alone_is_of_a_crash():
    row = (
        "2021-06-11 00:34:33 10.0.0.13 [3]     @     0x7f3396f38b4c       1072  xla::service::Rendezvous()\n"
    )
    assert explain(row * 2).worst() is Severity.ERROR
    assert explain(row + TRAINED).worst() is None


def test_a_cell_of_a_notebook_reports_no_error_its_output_does():
    cell = '```python\nprint("RuntimeError: Found no NVIDIA driver on your system.")\nfit()\n```\n\n'
    good = "".join(f"    epoch {n} loss 0.{9 - n}\n" for n in range(4))
    assert explain(cell + good).worst() in (None, Severity.NOTE)
    said = "    RuntimeError: Found no NVIDIA driver on your system.\n"
    assert explain("```python\nfit()\n```\n\n" + said).worst() is Severity.ERROR
