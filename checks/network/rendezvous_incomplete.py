"""Fewer processes came to the rendezvous than it waits for.

## What happens

Rank 0 gives up before training begins: "Timed out after 1801 seconds waiting for clients. 1/2 clients joined", older
"store based barrier … (world_size=8, worker_count=1)", or torchrun ends with `RendezvousTimeoutError`.

## Why

- Another node was not started, is still in a queue, or was started later than the time-out allows.
- WORLD_SIZE or `--nnodes` is larger than what was started: WORLD_SIZE counts processes, `--nnodes` nodes.
- The nodes do not look for each other at one place: `--rdzv-id`, `--rdzv-endpoint` or MASTER_PORT differ.
- Two nodes have the same node rank, or Slurm started torchrun on one node alone (no `srun` in front of it).
- A rank crashed as it started; its own output says of what, and that is the cause.
- The other side cannot connect: see `rendezvous-unreachable`.

## How to tell

The message counts: 1/2 means that only this process is there. Compare with nodes times processes per node. On each node
`pgrep -af torchrun` shows the arguments; they must be equal but for the node rank.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): multi-node launches
- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): `world_size`, `rank` and `timeout`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import A_FRAME

# What Lightning prints after the last of them came.
THERE = r"srun: [Ww]arning: can't|All (?:distributed|DDP) processes registered|NCCL"
# A key that torch makes: a rank's or a group's number, or its own words. A script's own key tells of its own protocol.
KEY = r"(?P<key>(?:[^\s,]*(?:default_pg|torch|rendezvous|store_based|worker|init/|MASTER|nccl|gloo|cuda|cpu)|[\w/.-]*\d(?![\w/]))[^\s,]{0,120})"
MEMBER = re.compile(r"GLOBAL_RANK: \d+, MEMBER: (\d+)/")

SPAWNED = "terminated with the following error:"
"""What mp.spawn says of a process that raised."""
SPAWN = Fix(
    "mp.spawn starts nprocs processes, on this node alone: world_size is their number, times the number of nodes",
    "mp.spawn(worker, args=(nprocs,), nprocs=nprocs)  # in worker: init_process_group(..., world_size=nprocs)",
    Kind.EDIT,
)
LONGER = Fix(
    "Of a group that the script makes: let it wait longer",
    'dist.init_process_group("nccl", timeout=datetime.timedelta(hours=1))',
    Kind.EDIT,
)
JAX = Fix(
    "Start all processes, with one address that they reach, and let the first ones wait longer",
    'jax.distributed.initialize("NODE:1234", num_processes=N, process_id=RANK, initialization_timeout=1800)',
    Kind.EDIT,
    source="https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html",
)

check = Check(
    severity=Severity.ERROR,
    follows=[
        "rendezvous-unreachable",
        "rendezvous-no-host",
        "hostname-resolution",
        "duplicate-hostname",
        "port-in-use",
        "local-rank-as-rank",
    ],
    symptoms=[
        (
            r"Timed out after (?P<seconds>\d+) seconds waiting for (?:clients|workers)"
            r"(?:\. (?P<joined>\d+)/(?P<expected>\d+) )?"
        ),
        # until 1.12, and where the store is a file; other keys are rank-desync
        (
            r"Timed out initializing process group in store based barrier on rank:? \d+, for key: "
            r"store_based_barrier_key:(?:[01]|default_pg) \(world_size=(?P<expected>\d+), "
            r"(?:worker_count|num_workers_joined)=(?P<joined>\d+)"
        ),
        # said every ten seconds while a rank waits
        (
            r"Waiting in store based barrier to initialize process group for rank: \d+, .{0,80}"
            r"\(world_size=(?P<expected>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)"
        ),
        r"(?<!raise )(?<!except )\bRendezvous(?:Timeout|Closed)Error\b",
        r"\"message\": \"Rendezvous(?:Timeout|Closed)Error",
        # a key that another rank should have written
        rf"(?<!got error: )\b[Ww]ait timeout after (?P<ms>\d+) ?ms, keys: {KEY}",
        rf"(?<!got error: )\bTimeout waiting for key: {KEY} after (?P<ms>\d+) ms",
        rf"\bWait timeout for name\(s\): {KEY}",  # gloo
        r"Error: timed out waiting for all (?P<all>\d+) members to join",  # elastic.utils.distributed
        Symptom(
            r"(?:RuntimeError|DistStoreError|DistNetworkError): Socket Timeout",
            near=r"rendezvous|init_process_group|elastic/utils/store\.py|launch_agent",
            unless=r"exit.?barrier",
        ),
        # the line alone
        Symptom(
            r"(?:RuntimeError|DistStoreError|DistNetworkError): Socket Timeout$",
            unless=rf"{A_FRAME}|exit.?barrier",
        ),
        r"Timed out waiting for .{1,80}Please check connectivity between servers",  # Horovod
        # JAX's service: a barrier of its own in front of everything else
        r"Barrier timed out\. (?:Barrier_id|Id): (?P<jax>PjRT_Client_Connect|\[Init\]Wait_for_all_tasks_to_register)",
        r"(?P<jax>cluster registration failed)\. This may be due to",
        Symptom(
            r"CoordinationService/(?P<jax>RegisterTask)\b",
            near=r"DEADLINE_EXCEEDED|Deadline Exceeded",
        ),
        # Lightning counts who came, and says when all are there
        Symptom(
            r"[Ii]nitializing (?:distributed|ddp): GLOBAL_RANK: \d+, MEMBER: (?P<member>\d+)/(?P<members>\d+)\s*$",
            unless=THERE,
            last=True,
        ),
        r"(?P<alone>torchrun had started no rank, and waited for other nodes)",  # gpudoctor run
        # torchrun and torch's store, where the log ends while they wait
        Symptom(r"(?P<waits>Rendezvous'ing worker group)$", last=True),
        Symptom(
            r"(?P<waits>Added key: store_based_barrier_key:\S+ to store for rank: \d+)$|"
            r"(?P<store>Waiting in store based barrier) to initialize process group for rank: \d+, .{0,80}"
            r"\(world_size=(?P<expected>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)",
            unless=r"Completed store-based barrier",
            last=True,
        ),
    ],
    fixes=[
        Fix(
            "Start the same command on every node, within the time-out",
            (
                "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB "
                "--rdzv-endpoint=NODE:29500 train.py"
            ),
        ),
        Fix(
            "Under Slurm start one torchrun on each node",
            "srun --ntasks-per-node=1 torchrun --nnodes=$SLURM_NNODES --nproc-per-node=N --rdzv-backend=c10d "
            "--rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1):29500 train.py",
        ),
        Fix(
            "On one machine wait for nobody else",
            "torchrun --standalone --nproc-per-node=N train.py",
            proof="torchrun --standalone",
        ),
        Fix(
            "Where nodes start late, let the others wait longer: for the first node's store (60 seconds unless it is said) "
            "and for all nodes to come (600)",
            "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 "
            "--rdzv-conf=read_timeout=1800,join_timeout=1800 train.py",
        ),
        LONGER,
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say how many came; more than expected is a store that two jobs share."""
    groups = sighting.groups
    if "members" in groups:
        yield from missing_members(groups, sighting.around)
        return
    if "jax" in groups:
        yield check.found(
            "not every process came to JAX's coordination service in time, or it cannot be reached",
            fixes=[JAX],
        )
        return
    if "alone" in groups:
        yield check.found(
            f"{groups['alone']}, until it was ended: not all of them came, or not to this place"
        )
        return
    if "waits" in groups:
        yield check.found("the log ends while this process waits for the others to come to the rendezvous")
        return
    if "joined" in groups and int(groups["joined"]) > int(groups["expected"]):
        return
    said = "Waiting in store" in sighting.line and "store" not in groups
    if said and sighting.around.count("Waiting in store based barrier") < 3:
        return
    if "joined" in groups:
        after = f" within {groups['seconds']} s" if "seconds" in groups else ""
        message = f"{groups['joined']} of {groups['expected']} processes came{after}: the others are missing"
    elif "key" in groups:
        waited = f" for {groups['ms']} ms" if "ms" in groups else ""
        message = (
            f"a rank waited{waited} for {groups['key']}, which another rank should have written and did not"
        )
    elif "RendezvousClosed" in sighting.line:
        message = "the rendezvous had been closed when this node came to it: another node's launcher had ended, and its output says why"
    elif "all" in groups:
        message = f"not all of the {groups['all']} processes came to the store before its time was over"
    else:
        message = "not all nodes came to the rendezvous before its time was over"
    by_spawn = "multiprocessing/spawn.py" in sighting.around or SPAWNED in sighting.around
    yield check.found(message, fixes=[SPAWN, LONGER] if by_spawn else None)


def missing_members(groups: dict[str, str], around: str) -> Iterator[Finding]:
    """Report Lightning's count where the log ends with it and not all of the members are in it."""
    here = {int(number) for number in MEMBER.findall(around)}
    if 1 in here and len(here) < int(
        groups["members"]
    ):  # else the beginning is cut off, and others may stand there
        yield check.found(
            f"{len(here)} of {groups['members']} processes have come, and the log ends while they wait for the others"
        )
