"""spawn-in-torchrun: mp.spawn below torchrun."""

SPAWN = (
    "W1122 03:56:19 torch/distributed/run.py:982] Setting OMP_NUM_THREADS environment variable for each process to be 1\n"
    "Traceback (most recent call last):\n"
    '  File "train.py", line 7, in <module>\n'
    "    mp.spawn(worker, args=(2,), nprocs=2)\n"
    '  File "/venv/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 220, in join\n'
    "    raise ProcessRaisedException(msg, error_index, failed_process.pid)\n"
    "torch.multiprocessing.spawn.ProcessRaisedException:\n"
    "\n"
    "-- Process 1 terminated with the following error:\n"
    "Traceback (most recent call last):\n"
    '  File "/venv/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 89, in _wrap\n'
    "    fn(i, *args)\n"
)
RENDEZVOUS = (
    '  File "/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py", line 296, in _env_rendezvous_handler\n'
    "    store = _create_c10d_store(\n"
)
CLOSED = "RuntimeError: [/src/gloo/gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:20393: Connection reset by peer."
EXAMPLES = {
    SPAWN + RENDEZVOUS: (
        "mp.spawn starts ranks in a process that torchrun started as a rank already: too many want to be the same"
    ),
}
NOT_THIS = [
    SPAWN + "ZeroDivisionError: division by zero",
    SPAWN.partition("\n")[2] + RENDEZVOUS,
    SPAWN.partition("\n")[2] + CLOSED,
]


def test_what_the_spawned_ranks_could_not_reach_is_a_consequence():
    from gpudoctor import explain

    assert explain(SPAWN + CLOSED).findings[0].id == "spawn-in-torchrun"
    text = f"{SPAWN}{RENDEZVOUS}torch.distributed.DistNetworkError: The client socket has timed out after 20000ms while trying to connect to (localhost, 29512).\n"
    assert [f.id for f in explain(text).findings][:2] == ["spawn-in-torchrun", "rendezvous-unreachable"]


FLAGGED = [
    """
import os
import torch.multiprocessing as mp
from parts import train

try:
    LOCAL_RANK = int(os.environ["LOCAL_RANK"])
except KeyError:
    raise SystemExit("start this with torchrun")

if __name__ == "__main__":
    mp.spawn(train, nprocs=2)  # <-
""",
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": '    print(os.environ["LOCAL_RANK"])\n    world_size = torch.cuda.device_count()',
            "join=True)": "join=True)  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": '    rank = int(os.environ["RANK"])\n    world_size = torch.cuda.device_count()',
            "    mp.spawn(worker, args=(world_size, 5), nprocs=world_size, join=True)": "    torch.multiprocessing.spawn(worker, (world_size, 5), world_size)  # <-",
        },
    ),
]
FINE = [
    """
import os
import torch.multiprocessing as mp
from parts import train

try:
    local_rank = int(os.environ["LOCAL_RANK"])
except KeyError:
    local_rank = 0

if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
""",
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": '    world_size = int(os.environ.get("LOCAL_WORLD_SIZE", 2))'
        },
    ),
    """
import os
import torch.multiprocessing as mp

def run(rank):
    print(rank)

if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        run(int(os.environ["LOCAL_RANK"]))
    else:
        mp.spawn(run, nprocs=2)
""",
]
