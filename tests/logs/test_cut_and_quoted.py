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
