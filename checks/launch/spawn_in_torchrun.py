"""The script starts its ranks by mp.spawn, and torchrun starts the script.

## What happens

`torchrun --nproc-per-node=2 train.py` on a script that calls `mp.spawn(…, nprocs=2)`: four processes want to be the two
ranks. They wait for each other until the time-out, "The client socket has timed out after 20000ms while trying to connect
to (localhost, 29512)", or two of them want one port: "Address already in use".

## Why

There are two ways to start ranks, and a script is written for one of them:

| | who starts the ranks | the script |
|---|---|---|
| `python train.py` | `mp.spawn` in the script | gets its rank as the first argument, and chooses MASTER_ADDR and MASTER_PORT |
| `torchrun train.py` | torchrun | reads RANK, LOCAL_RANK and WORLD_SIZE, and calls no mp.spawn |

Under torchrun the processes inherit TORCHELASTIC_USE_AGENT_STORE=True, which says that torchrun itself holds the store:
rank 0 opens none, and with a MASTER_PORT of the script's own nobody does.

## How to tell

`grep -nE 'mp.spawn|multiprocessing.spawn' train.py` finds the call; the tracebacks show
`torch/multiprocessing/spawn.py` below torchrun's own summary.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): what it sets
- [Spawn utility](https://docs.pytorch.org/docs/stable/distributed.html#spawn-utility): mp.spawn starts the ranks itself
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Script

# The spawned processes did not find each other; and torchrun stands above them.
# Or they met those of another rank, and lost them again: of its own spawned processes mp.spawn would have named the other.
MEETING = r"_(?:env|tcp)_rendezvous_handler|_create_c10d_store|gloo/transport/\S{1,40}\].{0,80}(?:[Cc]losed|reset) by peer"
TORCHRUN = r"Setting OMP_NUM_THREADS environment variable for each process|elastic[./\\]multiprocessing|distributed[./\\]run\.py|distributed[./\\]launcher|\btorchrun\b|TORCHELASTIC_|closing signal SIG|of binary: "

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"torch\.multiprocessing\.spawn\.Process(?:Raised|Exited)Exception",
            near=rf"\A(?=[\s\S]*?(?:{MEETING}))(?=[\s\S]*?(?:{TORCHRUN}))",
        ),
    ],
    message="mp.spawn starts ranks in a process that torchrun started as a rank already: too many want to be the same",
    fixes=[
        Fix(
            "Start the script as it is written: without torchrun; it may have counted on torchrun's address and port",
            "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python train.py",
            proof="python ",
        ),
        Fix(
            "Or take mp.spawn out, and let torchrun start the ranks",
            'rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])\n'
            'dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")\nmain(local_rank)  # was: mp.spawn(main, …)',
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A script that needs torchrun's variables before it starts processes of its own."""
    spawn = next((c for c in script.named("torch.multiprocessing.spawn") if c.reached and _always(c)), None)
    if spawn is None or any(
        c.name == "os.environ.__setitem__" and c.variable in ("RANK", "LOCAL_RANK") for c in script.calls
    ):
        return
    for call in script.named("os.environ.__getitem__"):
        name = call.variable
        if name in ("RANK", "LOCAL_RANK") and call.reached and not call.spawned and _needs(script, call):
            if call.number < spawn.number:
                yield check.found(
                    f"the script reads {name}, which torchrun sets, and then starts processes itself by mp.spawn: under "
                    "torchrun every rank starts as many again, and without torchrun the variable is missing",
                    location=spawn.place,
                )
                return


def _needs(script: Script, call: Call) -> bool:
    """Return whether the program ends where a variable is missing: nobody catches that, or who does raises again."""
    if any(condition.kind != "main" for condition in call.conditions):
        return False
    caught = (
        out
        for out in script.exits
        if out.kind in ("raise", "exit") and out.scope == call.scope and out.place.line > call.place.line
    )
    return "try" not in call.contexts or any(
        condition.kind == "except" and condition.place.line > call.place.line
        for out in caught
        for condition in out.conditions
    )


def _always(call: Call) -> bool:
    return all(condition.kind == "main" for condition in call.conditions) and "try" not in call.contexts
