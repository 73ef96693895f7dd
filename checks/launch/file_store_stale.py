"""The store that the ranks meet at still holds an earlier run.

## What happens

With `init_method="file:///…"` a second start hangs, or gloo fails with "connectFullMesh failed … Connection refused,
remote=[127.0.0.1]" at an address on which nobody listens, or "… Connect timeout [none]" for one that never comes. Or the count
is too high: "store based barrier … (world_size=2, worker_count=4".

## Why

The ranks write their addresses into the file and read the others' from it. torch removes it when every rank has called
`destroy_process_group()`. After a crash or a kill it stays, and also when a script just ends; the next run then reads the
addresses of processes that are gone.

- The file's name is the same in each run, or two jobs use it at once.
- The file is on a network file system that does not lock (some NFS and Lustre mounts).
- A count that is too high with `tcp://` or MASTER_PORT: two jobs meet at one port.
- Without a file: torchrun started the ranks again (`--max-restarts`), and gloo's new ones read an address of the try before.
  Seen with torch 2.15 on one machine, not at every restart. What ended the first try is the cause.

## How to tell

`ls -l FILE` before a start: there must be no such file. In the script, look for `file://` and for FileStore.

## See also

- [Shared file-system initialization](https://docs.pytorch.org/docs/stable/distributed.html#shared-file-system-initialization): a new or empty file for every run
- [FileStore](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.FileStore): its file and its arguments
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

FILE = r"file://|FileStore|_file_rendezvous_handler"
# With these the ranks met at a port: a peer that refuses has died, or its address is a wrong one.
PORT = (
    r"tcp://|TCPStore|MASTER_ADDR|MASTER_PORT|torchrun|torch[./\\]distributed[./\\](?:run|elastic)|\[c10d\]|"
    # torchrun's own words where it starts ranks again: those may read the addresses of its try before
    r"Sending process \d+ closing signal|failed \(exitcode: -?\d+\) local_rank: "
)
GONE = r"remote=\[(?P<address>127\.0\.0\.1|::1)\]\S{0,10}"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # the last of several attempts, between two ends on this machine: that process is gone
        Symptom(
            rf"failed to connect, willRetry=0,.{{0,120}}local=\[(?:127\.0\.0\.1|::1)\].{{0,20}}{GONE},? error=SO_ERROR: "
            "Connection refused",
            unless=PORT,
        ),
        Symptom(rf"connectFullMesh failed with .{{0,200}}Connection refused, {GONE}", unless=PORT),
        Symptom(rf"connectFullMesh failed with .{{0,200}}Connection refused, {GONE}", near=FILE),
        # it waited for one that is in the store and never came
        Symptom(
            r"connectFullMesh failed with .{0,200}Connect timeout \[none\]",
            unless=rf"{PORT}|[Nn][Cc][Cc][Ll]",
        ),
        Symptom(r"connectFullMesh failed with .{0,200}Connect timeout \[none\]", near=FILE),
        Symptom(
            r"store based barrier.{0,160}\(world_size=(?P<expected>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)",
        ),
    ],
    fixes=[
        Fix("Remove the file before each start", "rm -f FILE"),
        Fix(
            "End the script with this, on every rank: the last one removes the file (not after a crash)",
            "dist.destroy_process_group()",
            Kind.EDIT,
        ),
        Fix(
            "Or give each run a file of its own, here under Slurm: a name that all ranks know and no earlier run had",
            "init_method = f\"file:///shared/FOLDER/store-{os.environ['SLURM_JOB_ID']}\"",
            Kind.EDIT,
        ),
        Fix(
            "Better: need no file, let torchrun bring the ranks together",
            "# torchrun --standalone --nproc-per-node=N train.py\n"
            'dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")',
            Kind.EDIT,
        ),
    ],
    no_reproduction="it does not fail every time: not even where the rank with the stale address comes last",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Someone in the store is gone, or too many came; with as many or fewer than expected it is another failure."""
    groups = sighting.groups
    if "joined" not in groups and "address" not in groups:
        message = (
            "a process that is in the store never came: mostly it is an earlier run's, as in a file that was left behind; else "
            "that rank ended meanwhile, or has no way here"
        )
        yield check.found(message)
    elif "joined" not in groups:
        message = (
            f"the store names a process at {groups['address']} that is gone: its entry is mostly an earlier run's, as in a "
            "file that was left behind"
        )
        yield check.found(message)
    elif int(groups["joined"]) > int(groups["expected"]):
        message = (
            f"{groups['joined']} processes came to a store for {groups['expected']}: an earlier run's entries are still in "
            "it, or two jobs share it"
        )
        yield check.found(message)
