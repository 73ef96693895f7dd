"""Some ranks alone come to a call that all ranks have to make.

## What happens

The job hangs, with the GPUs at 100 %, until the time-out of the process group: 10 minutes with NCCL, 30 with
gloo. Or that call meets the next collective of the other ranks. Then the sizes do not fit; or they do, which is worse: the
numbers of one call are summed into the other.

## Why

A collective ends when every rank of its group has made it, and the calls meet in the order in which each rank makes
them. It never comes to that where:

- it is under `if rank == 0:`, in the branch or in a function that is called there: a validation that reduces its
  loss, a `barrier()` in the function that saves, FSDP's `state_dict()`;
- other ranks have returned before, `if rank != 0: return`;
- a rank leaves the loop, or a pass of it, when its own clock or its own loss says so, or its step raised
  (`except RuntimeError: continue`).

Collectives hide in other calls too: building DistributedDataParallel, `backward()` of what it computed, its forward pass
where the model has BatchNorm, everything that FSDP does, `new_group`, `torch.distributed.checkpoint`.

## How to tell

The flight recorder names the last collective of each rank (`nccl-timeout` says how); `py-spy dump --pid PID` on
two ranks shows where each of them is.

## See also

- [Distributed communication](https://docs.pytorch.org/docs/stable/distributed.html): collective functions
- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): what is called on all ranks
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    Condition,
    Exit,
    Parted,
    Script,
    forwards_of_unknown,
    left_alone,
    parted,
    parted_by_data,
    passed_through,
    returned,
    unequal,
)

EVERYWHERE = Fix(
    "Make the call on every rank, and use its result on one",
    "dist.all_reduce(loss)  # on every rank\nif rank == 0:\n    print(loss.item())",
    Kind.EDIT,
)
DECIDED = Fix(
    "Decide together: leave when any rank wants to",
    "stop = torch.tensor(float(wants_to_stop), device=device)\n"
    "dist.all_reduce(stop, op=dist.ReduceOp.MAX)\nif stop.item():\n    break",
    Kind.EDIT,
)
TOGETHER = Fix(
    "Decide by a number that all ranks share",
    "loss = torch.tensor(mean_loss, device=device)\ndist.all_reduce(loss)\n"
    "if loss.item() / dist.get_world_size() < best:\n    save()",
    Kind.EDIT,
)
SKIPPED = Fix(
    "Take part all the same: after the forward pass, without which DDP does not sum, a loss of 0 from the parameters alone "
    "(loss * 0 is NaN where the loss is); where it is the forward pass that failed, run it on an earlier batch first",
    "loss = sum(p.sum() for p in model.parameters()) * 0.0  # was: continue\nloss.backward()",
    Kind.EDIT,
)
BARE = Fix(
    "Validate on rank 0 with the bare model, which waits for nobody",
    "model.module(x)  # was: model(x)",
    Kind.EDIT,
)
MET = Fix(
    "Meet outside the branch: on every rank",
    "if rank == 0:\n    torch.save(model.module.state_dict(), path)\ndist.barrier()  # on every rank",
    Kind.EDIT,
)
RESUMED = Fix(
    "Read the checkpoint on every rank, so that all go on at the same epoch",
    'state = torch.load(path, map_location="cpu", weights_only=True)  # on every rank\nstart = state["epoch"]',
    Kind.EDIT,
)
GATHERED = Fix(
    "Gather the state on every rank, and write it on one",
    "state = model.state_dict()  # on every rank\nif rank == 0:\n    torch.save(state, path)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where it depends on the data or on a clock whether ranks part, and a note for a forward pass of a "
    "wrapped model of which nobody knows here whether it has buffers",
    fixes=[EVERYWHERE, DECIDED],
    no_reproduction="its error is that of rank-desync, collective-mismatch or nccl-timeout",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A collective that some ranks alone come to, or a loop with collectives that ranks leave each for itself."""
    left = list(left_alone(script))
    exits = {condition.place for _, condition, _ in left}
    found = parted(script)
    for item in found:
        condition, call = item.side.condition, item.call
        both = any(o.side.condition.place == condition.place and o is not item for o in found)
        if both or condition.place in exits:
            continue  # the first is collective-mismatch, the second is said of the exit
        yield alone(script, item)
    places = {item.place for item in found}
    for item in parted(script, forwards_of_unknown(script)):
        if item.place not in places:
            yield check.found(
                f"{item.call.text}() runs{through(item)} {where(item.side.condition)} (line {item.side.condition.place}): if "
                f"the model has buffers, as BatchNorm has, this forward pass broadcasts them, and {item.side.said()} take part",
                severity=Severity.NOTE,
                location=item.place,
                fixes=[BARE],
            )
    for call, condition in () if left else parted_by_data(script):
        yield check.found(
            f"{call.text}() is called only where {holds(condition)} (line {condition.place}), which each rank's own "
            "data decides: a rank that comes here waits for the ranks that do not",
            severity=Severity.WARNING,
            location=call.place,
            fixes=[TOGETHER],
        )
    for way, condition, call in returned(script):
        yield check.found(
            f"a rank returns here, under `if {condition.text}` and where {holds(way.conditions[-1])}: the others go on "
            f"and wait for it in {call.text}() (line {call.place})",
            severity=Severity.WARNING,
            location=way.place,
            fixes=[DECIDED],
        )
    for way, condition, call in left:
        yield leaving(way, condition, call.text)
    for place, loop, call in unequal(script):
        yield check.found(
            f"some ranks alone change a bound of this {loop}: the ranks do not go round the loop equally often, and who goes "
            f"on waits for the others in {call.text}()",
            location=place,
            fixes=[RESUMED],
        )


def alone(script: Script, item: Parted) -> Finding:
    """Report a call that some ranks alone come to."""
    call, condition = item.call, item.side.condition
    waits, fixes = "call it: whoever does waits for the rest until the time-out", [EVERYWHERE]
    model = passed_through(call)
    if model is not None and script.thing(model, "ddp"):
        waits = "call it: its broadcast of the buffers meets whatever the others do next, or nothing"
        fixes = [BARE]
    elif call.method in ("barrier", "monitored_barrier", "wait_for_everyone"):
        fixes = [MET]
    elif call.method in ("state_dict", "optim_state_dict", "full_optim_state_dict"):
        fixes = [GATHERED]
    return check.found(
        f"{call.text}() is called{through(item)} {where(condition)} (line {condition.place}) and {item.side.said()} {waits}",
        location=item.place,
        fixes=fixes,
    )


def through(item: Parted) -> str:
    """Return by which function a call is reached, where it does not stand in the branch itself."""
    return "" if item.place == item.call.place else f", through {item.text}(),"


def where(condition: Condition) -> str:
    """Return under what a call stands."""
    if condition.early:
        return f"after ranks left at `if {condition.text}`"
    return f"where {holds(condition)}" if condition.negated else f"under `if {condition.text}`"


def holds(condition: Condition) -> str:
    """Return how a test comes out, in words."""
    return f"`{condition.text}` {'does not hold' if condition.negated else 'holds'}"


def leaving(way: Exit, condition: Condition, called: str) -> Finding:
    """Report an exit that ranks take at different times."""
    by = "its rank" if condition.by_rank else "its own clock or data"
    does = "skips the rest of a pass of this loop" if way.kind == "continue" else "leaves this loop"
    if condition.kind == "except":
        return check.found(
            f"a rank whose step raises skips it (`{condition.text}`), and the ranks whose step does not raise wait for it in "
            f"{called}()",
            severity=Severity.WARNING,
            location=way.place,
            fixes=[DECIDED],
        )
    return check.found(
        f"a rank {does} when {holds(condition)}, which {by} decides: the others wait for it in {called}()",
        severity=Severity.ERROR if condition.by_rank else Severity.WARNING,
        location=way.place,
        fixes=[SKIPPED] if way.kind == "continue" else [DECIDED],
    )
