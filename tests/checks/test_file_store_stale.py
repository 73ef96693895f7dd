"""file-store-stale: the store still holds an earlier run."""

GONE = (
    "the store names a process at 127.0.0.1 that is gone: its entry is mostly an earlier run's, as in a file that was left "
    "behind"
)
REFUSED = (
    "[E1122 03:56:09 ProcessGroupGloo.cpp:69] Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out "
    "connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:404$1"
)
NONE = "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]"
NEVER_CAME = (
    "a process that is in the store never came: mostly it is an earlier run's, as in a file that was left behind; else that "
    "rank ended meanwhile, or has no way here"
)
EXAMPLES = {
    NONE: NEVER_CAME,
    f'    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=2)\n{NONE}': NEVER_CAME,
    (
        "[gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect, willRetry=0, retry=4, retryLimit=3, rank=1, size=2, "
        "local=[127.0.0.1]:722, remote=[127.0.0.1]:404$1, error=SO_ERROR: Connection refused, remote=[127.0.0.1]:404$1"
    ): GONE,
    REFUSED: GONE,
    (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 5, in worker\n'
        '    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=2)\n'
        f"RuntimeError: {REFUSED[30:]}"
    ): GONE,
    (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for key: "
        "store_based_barrier_key:1 (world_size=2, worker_count=4, timeout=0:30:00)"
    ): "4 processes came to a store for 2: an earlier run's entries are still in it, or two jobs share it",
}
NOT_THIS = [
    f"torchrun --nproc-per-node=2 train.py\n{NONE}",
    f"torchrun --nproc-per-node=2 train.py\n{REFUSED}",
    # torchrun had started the ranks again: no file was left behind
    f"failed (exitcode: 1) local_rank: 0 (pid: 812) of binary: /usr/bin/python\n{REFUSED}",
    (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for key: "
        "store_based_barrier_key:1 (world_size=4, worker_count=2, timeout=0:30:00)"
    ),
    (
        "[gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect, willRetry=1, retry=1, retryLimit=3, rank=1, size=2, "
        "local=[127.0.0.1]:722, remote=[127.0.0.1]:404, error=SO_ERROR: Connection refused, remote=[127.0.0.1]:404"
    ),
]
