"""Logs that somebody cut off in the middle, or quoted between his own words: what is left still tells the cause."""

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

CUT_NOTEBOOK = """\
{
  "name": "UnpicklingError",
  "message": "invalid load key, 'h'.",
  "stack": "---------------------------------------------------------------------------
UnpicklingError                           Traceback (most recent call last)
Cell In[6], line 2
      1 net = Net()
----> 2 net.load_state_dict(torch.load('net.pt'))
"""
TICKS = """\
It ends like this:

`Traceback (most recent call last):
  File "fit.py", line 31, in <module>
    fit(options)
TypeError: fit() missing 1 required positional argument: 'loader'`

my command: `python fit.py --epochs=300 --lr=0.01 --size 640`
"""
SERVED = """\
!!! Exception during processing !!! 'Flux' object has no attribute 'capacity'
Traceback (most recent call last):
  File "/srv/ui/execution.py", line 327, in execute
    output = node(inputs)
  File "/srv/ui/nodes/flux.py", line 12, in node
    return inputs.capacity
AttributeError: 'Flux' object has no attribute 'capacity'

Prompt executed in 3.41 seconds
"""
RESTARTING = """\
Epoch 1 [210/900] loss 0.412
ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /env/bin/python
INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will restart worker group
INFO:torch.distributed.elastic.agent.server.api:[default] Stopping worker group
INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous'ing worker group
INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:
  restart_count=1
  master_addr=127.0.0.1
  master_port=29500
  group_rank=0
  local_ranks=[0, 1, 2]
INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group
"""
HOOKS = """\
RuntimeError: CUDA error: no kernel image is available for execution on the device
[06/13 22:42:18 hooks]: Total training time: 0:00:00 (0:00:00 on hooks)
[06/13 22:42:18 events]:  iter: 0    lr: N/A  max_mem: 368M
Traceback (most recent call last):
  File "fit.py", line 73, in <module>
    launch(
  File "/env/lib/python3.11/site-packages/engine/launch.py", line 82, in launch
    main(*args)
"""
ASKED = """\
My job on two nodes failed and I do not know why, please help me with it.

subprocess.CalledProcessError: Command 'python -m torch.distributed.launch --nproc_per_node 4 fit.py' returned non-zero exit status 1.
"""
COLLAPSED = (
  'fit: Traceback (most recent call last):fit:   File "/env/bin/fit", line 33, in <module>fit:     main()'
  'fit:   File "/srv/fit/cli.py", line 12, in mainfit:     run(options)'
  'fit:   File "/srv/fit/run.py", line 40, in runfit:     join()'
)  # fmt: skip
BOX = """\
│    811 │   │   if failed:                                                         │
│ ❱  812 │   │   │   raise RuntimeError('DataLoader worker (pid(s) {}) exited unexpectedly'.f │
│    813 │   │   if isinstance(e, queue.Empty):                                     │
│    814 │   │   │   return (False, None)                                           │
"""

SOFTLY = """\
RuntimeError: Expected all tensors to be on the same\x20
device, but found at least two devices, cuda:0 and\x20
cpu! (when checking argument for argument index in\x20
method wrapper_CUDA__index_select)
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (CUT_NOTEBOOK, "checkpoint-corrupt"),
        (TICKS, "unrecognised-error"),
        (SERVED, "unrecognised-error"),
        (RESTARTING, "host-oom-killed"),
        (HOOKS, "gpu-arch-unsupported"),
        (ASKED, "child-failed"),
        (COLLAPSED, "unrecognised-error"),
        (BOX, "dataloader-worker-killed"),
    ],
)
def test_the_cause_shows(text, cause):
    first = explain(text).findings[0]
    assert (first.id, first.severity) == (cause, Severity.ERROR)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("RuntimeError：CUDA error：out of memory\n", "cuda-oom"),
        ("RuntimeError:Address already in use\n", "port-in-use"),
        (
            "RuntimeError: CUDA error: CUBLAS\\_STATUS\\_NOT\\_INITIALIZED when calling `f(x)`\n",
            "cublas-failure",
        ),
        ("RuntimeError: Expected all tensors to be on the same dev\n", "device-mismatch"),
        (
            "It stops with RuntimeError: CUDA error: device-side assert trigg...\nWhat can I do?\n",
            "device-side-assert",
        ),
        (SOFTLY, "device-mismatch"),
        ("`x.py:3: run()\nModuleNotFoundError: No module named 'einops'`\n", "module-missing"),
        ("IndexError: tuple index out of range\n", "unrecognised-error"),
        ("AttributeError: 'Net' object has no a\n", "unrecognised-error"),
    ],
)
def test_text_that_people_retyped_wrapped_or_cut_short_is_read(text, id):
    assert [finding.id for finding in explain(text).findings][:1] == [id]


def test_a_line_that_ends_early_is_no_error_where_two_checks_begin_so():
    assert [f.id for f in explain("RuntimeError: CUDA error: \n").findings][:1] == ["unrecognised-error"]


def test_who_takes_a_warning_for_an_error_has_no_failure():
    text = (
        'Here the error comes: warnings.warn("Detected call of it before the other one. "\nHow to solve it\n'
    )
    assert not explain(text).findings


def test_a_job_that_slurm_kills_for_its_memory_may_print_for_a_moment():
    text = (
        "step 10 loss 2.1\nstep 11 loss 2.0\n"
        "slurmstepd: error: Job 41 exceeded memory limit (626359956 > 512000000), being killed\n"
        "slurmstepd: error: *** JOB 41 ON node7 CANCELLED AT 2026-06-10T17:11:35 ***\nstep 12 loss 1.9\n"
    )
    first = explain(text).findings[0]
    assert (first.id, first.severity) == ("host-oom-killed", Severity.ERROR)
