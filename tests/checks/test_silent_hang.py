"""silent-hang: seen in dumps of processes that stand still."""

import pytest

from gpudoctor.facts import Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("silent-hang")

LATE = """Process 31434: python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 31434 (idle): "MainThread"
    load_batch (train.py:5)
    train (train.py:10)
    <module> (train.py:13)
"""
REDUCING = """Process 31438: python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 31438 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:4181)
    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)
    train (train.py:11)
    <module> (train.py:13)
"""
BACKWARD = """Process 31437: python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 31437 (active+gil): "MainThread"
    _engine_run_backward (torch/autograd/graph.py:1113)
    backward (torch/autograd/__init__.py:395)
    Tensor.backward (torch/_tensor.py:623)
    train (/home/me/train.py:11)
    <module> (/home/me/train.py:13)
Thread 31501 (idle): "Thread-1 (_pin_memory_loop)"
    select (selectors.py:415)
    wait (multiprocessing/connection.py:948)
    run (threading.py:982)
    _bootstrap (threading.py:1002)
"""
SYNCHRONISING = """Thread 0x7F2B5E43A740 (idle): "MainThread"
    synchronize (torch/cuda/__init__.py:783)
    main (train.py:88)
    <module> (train.py:120)
"""
TIMER = """Timeout (0:30:00)!
Thread 0x00007fe4d7dbab80 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4181 in all_reduce
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/home/me/train.py", line 6 in <module>
"""
MODULE = """Thread 0x7F81445A8440 (active): "MainThread"
    destroy_process_group (torch/distributed/distributed_c10d.py:2184)
    <module> (trainer/train.py:554)
    _run_code (runpy.py:86)
    _run_module_as_main (runpy.py:196)
"""
SPAWNED = """Thread 4712 (idle): "MainThread"
    barrier (torch/distributed/distributed_c10d.py:6614)
    wrapper (torch/distributed/c10d_logger.py:83)
    worker (train.py:20)
    _wrap (torch/multiprocessing/spawn.py:90)
    run (multiprocessing/process.py:108)
    spawn_main (multiprocessing/spawn.py:122)
    <module> (<string>:1)
"""
RANKS = """rank 1 stands here (most recent call first):
    wait_for_disk (ddp.py:611)
    main (ddp.py:630)
    <module> (ddp.py:650)
ranks 0,2-7 stand here (most recent call first):
    all_reduce (torch/distributed/distributed_c10d.py:4181)
    wrapper (torch/distributed/c10d_logger.py:83)
    main (ddp.py:634)
    <module> (ddp.py:650)
"""
SETUP = (
    "the log ends in NCCL's setup: where nothing came for minutes, the ranks were not connected; "
    "else it was only cut off there"
)
BEGUN = "the log ends where the ranks wait for each other"
PERSON = "somebody says that it stands still, and no error shows"
EXAMPLES = {
    "INFO 03-01 10:11:12 ray_utils.py:212] Waiting for creating a placement group of specs for 70 seconds. specs=[{'GPU': 1.0}]": (
        "the log ends while it waits for GPUs that Ray has not free"
    ),
    "I run it in a pod with shm=8Gi, and both of the ranks start up. It stuck at the first batch. Any ideas?": (
        "somebody says that it stands still, and no error shows"
    ),
    "E xla/service/rendezvous.cc:38] This thread has been waiting for `clique for rank 3` for 10 seconds and may be stuck. Expected 8 threads to join the rendezvous, but not all": (
        "XLA waits where its devices meet, and not all of them come"
    ),
    RANKS: (
        "ranks 0,2-7 wait in all_reduce (ddp.py:634), rank 1 stands in wait_for_disk (ddp.py:611): "
        "find out what keeps that one from coming"
    ),
    MODULE + SPAWNED: (
        "process 0x7F81445A8440 waits in destroy_process_group (train.py:554), process 4712 waits in barrier (train.py:20): "
        "the ranks take different ways"
    ),
    LATE + REDUCING: (
        "process 31438 waits in all_reduce (train.py:11), process 31434 stands in load_batch (train.py:5): "
        "find out what keeps that one from coming"
    ),
    REDUCING + BACKWARD: (
        "process 31438 waits in all_reduce (train.py:11), process 31437 waits in backward (train.py:11): "
        "the ranks take different ways"
    ),
    REDUCING + REDUCING.replace("31438", "31439"): (
        "process 31438 waits in all_reduce (train.py:11), process 31439 waits in all_reduce (train.py:11): "
        "all that are shown wait, for one that is not shown or for the network"
    ),
    SYNCHRONISING: (
        "process 0x7F2B5E43A740 waits in synchronize (train.py:88), and another rank does not come: "
        "look where that one is"
    ),
    TIMER: (
        "a process waits in all_reduce (train.py:6), and another rank does not come: look where that one is"
    ),
    TIMER[: TIMER.index("  File")] + '  File "/home/me/train.py", line 5 in <module>\n': (
        "a process stands at train.py:5"
    ),
    "n7:41:90 [0] NCCL INFO Bootstrap : Using eno1:10.0.0.7<0>": SETUP,
    "n7:41:90 [0] NCCL INFO Channel 00/02 :    0   1": SETUP,
    "| distributed init (rank 0): env://": BEGUN,
    "[2023-05-01 10:11:12,100] [INFO] [comm.py:594:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl": BEGUN,
    "rank 0: initializing process group": BEGUN,
    "rank 3 is here, waiting for the other ranks": BEGUN,
    "  0%|          | 0/1250 [00:00<?, ?it/s]": "the log ends before the first step: the bar stands at 0 %",
    '  File "fit.py", line 9, in main\n    dist.barrier()\n^CKeyboardInterrupt': (
        "it was ended by Ctrl-C while it waited, and had printed no step"
    ),
    '  File "/v/torch/multiprocessing/spawn.py", line 9, in join\n    ready = wait(handles)\n^CKeyboardInterrupt': (
        "it was ended by Ctrl-C while it waited, and had printed no step"
    ),
    "python had printed nothing for 95 s when it was ended": (
        "it had printed nothing for 95 s when it was ended: it may have stood still"
    ),
    "On two nodes the script hangs and I see no error.": PERSON,
    "It is just stuck at init_process_group": PERSON,
    "after loading the model the training gets stuck.": PERSON,
    "stuck here, both GPUs at 100%": PERSON,
    "the bar keeps the same number for ever": PERSON,
    "with `--gpus 0,1` and `--gpus 0,` it hangs at initializing the group": PERSON,
    "The bar on two nodes simply freeze at the first epoch": PERSON,
    "If I use two GPUs, things just hang when the engine is made": PERSON,
    "and then nothing happens": PERSON,
    "# Freezed when more than two cards are used": PERSON,
    "The program stops right at the sanity check, and no error is shown": PERSON,
    "after the data was loaded there is no output on both nodes": PERSON,
    "双机训练跑到第二个 epoch 就卡住了": "somebody says that it stands still, and no error shows",
}
NOT_THIS = [
    "AssertionError: No backend for the CPU; try initializing process group with both",
    "RuntimeError: The order of the nodes has been frozen for the given plan.",
    "n7:41:90 [0] NCCL INFO Channel 00/02 :    0   1\nn7:41:90 [0] NCCL INFO comm 0x5f rank 0 nranks 2 - Init COMPLETE",
    'step 40 loss 0.3\n  File "fit.py", line 9, in main\n    dist.barrier()\nKeyboardInterrupt',
    '  File "/v/torch/multiprocessing/spawn.py", line 9, in join\n    ready = wait(handles)\nKeyboardInterrupt',
    "This can potentially cause a hang if this rank to GPU mapping is incorrect.",
    "with the new driver it is not stuck any more",
    "if there is no output, set NCCL_DEBUG=INFO",
    "the encoder's layers are frozen",
    "the validation loss is stuck at a plateau",
    "eptable, if you experience slowdowns or hanging when DeepSpeed exits, it is reco",
    "0 top1_error 0.90 failures 0 hangs 0",
    " 37%|###7      | 37/100 [00:10<00:17,  3.7it/s]",
    LATE,
    "Timeout (0:30:00)!",
    "torch.distributed.DistStoreError: Timed out after 1800 seconds waiting for clients",
    'Fatal Python error: Aborted\n\nThread 0x00007fe4d7dbab80 (most recent call first):\n  File "/home/me/train.py", line 5 in <module>',
    "ValueError: no entry for the frozen stem in the optimizer's groups",
    "TimeoutError: waiting for all ranks to join took too long",
    "[2026-01-05 08:12:40,220] [WARNING] [kit.watch] Process 77 did not exit and is stuck in a write. Going on.",
    "WARNING kit.watch: the probe that looks for a hang is off, a rank hangs only once it has no frozen layers",
    "/opt/env/lib/python3.11/site-packages/kit/watch.py:8: UserWarning: Stem is frozen, its gradients are dropped",
]


LAUNCH = {"RANK": "1", "WORLD_SIZE": "2"}


@pytest.mark.parametrize(("scope", "rights"), [(1, []), (2, ["sys_admin"]), (3, ["sys_ptrace"])])
def test_a_rank_whose_stack_nobody_could_see_is_told_beforehand(scope, rights):
    facts = {"launch": Launch(variables=LAUNCH), "host": Host(ptrace_scope=scope, capabilities=rights)}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.NOTE
    assert f"ptrace_scope is {scope}" in finding.message
    assert ("SYS_PTRACE" in finding.message) == (scope < 3)
    assert "dump_traceback_later" in finding.fixes[0].command


@pytest.mark.parametrize(
    ("variables", "host"),
    [
        (LAUNCH, Host(ptrace_scope=0, capabilities=[])),
        (LAUNCH, Host(capabilities=[])),  # a kernel without Yama
        (LAUNCH, Host(ptrace_scope=1, capabilities=["sys_ptrace"])),
        (LAUNCH, Host(ptrace_scope=1)),  # not known
        ({}, Host(ptrace_scope=1, capabilities=[])),
        ({"RANK": "0", "WORLD_SIZE": "1"}, Host(ptrace_scope=1, capabilities=[])),
    ],
)
def test_where_py_spy_may_look_or_nothing_is_launched_nothing_is_said(variables, host):
    result, found = examine(
        CHECK, Source.ENVIRONMENT, Snapshot({"launch": Launch(variables=variables), "host": host})
    )
    assert (result.status, list(found)) == (CheckStatus.PASSED, [])
