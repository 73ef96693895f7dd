"""Local rank 0 saves: with several nodes that is one process on each.

## What happens

Nothing on one node. On several, one process of each node writes the same file on the shared file system, at the same
time, and the file may be cut off (`checkpoint-corrupt`).

## Why

`LOCAL_RANK` counts the processes of a node. Each node has one with 0; of `RANK` there is one 0 in the whole job.

## How to tell

Print `RANK`, `LOCAL_RANK` and the host beside the call. Saving by local rank is right where the path is on a disk of
the node's own.
Or have the script check it: sum up who writes: `assert count == 1, f"one rank of each of {count} nodes wrote the same checkpoint"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `RANK` and `LOCAL_RANK`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Condition, Known, Script, meets_here, of_several, same_for_all

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"one rank of each of (?P<nodes>\d+) nodes wrote the same checkpoint"],
    message="a rank of each of <nodes> nodes wrote the same checkpoint: local rank 0 is one process on each node",
    otherwise="a warning in a script that is made for several nodes",
    fixes=[
        Fix(
            "Ask for the rank in the whole job",
            'if dist.get_rank() == 0:\n    torch.save(model.module.state_dict(), "model.pt")',
            Kind.EDIT,
            proof="if dist.get_rank() == 0:",
        )
    ],
)
NODES = ("SLURM_NODEID", "GROUP_RANK", "NODE_RANK", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A torch.save under a test for local rank 0, and under none for the rank, to a path that is the same for all."""
    group = script.process_group
    if group is not None and group.value("rank").known is Known.LOCAL_RANK:
        return  # one node: the local rank is the rank
    nodes = any(value in NODES for call in script.calls for value in variables(call))
    # rank = node * gpus + local_rank: what mp.spawn counts is the local rank of a node then
    computed = group is not None and group.value("rank").text == "computed"
    apart = computed and group is not None and not meets_here(script, group)
    said = set()
    for call in [*script.named("torch.save"), *script.methods("save_pretrained")]:
        conditions = call.rank_conditions
        path = (
            next(iter(call.arguments.values()), None)
            if call.method == "save_pretrained"
            else call.arguments.get("f")
        )
        if (
            path is None
            or not conditions
            or conditions[-1].place in said
            or not all(by_local_rank(c, computed=computed) for c in conditions)
        ):
            continue
        if of_several(script, call) and same_for_all(script, path.value, path.text):
            said.add(conditions[-1].place)
            yield check.found(
                f"`{conditions[-1].text}` holds on one process of each node, and all of them save to {path.text}",
                severity=Severity.WARNING if nodes or apart else Severity.NOTE,
                location=call.place,
            )


def by_local_rank(condition: Condition, *, computed: bool = False) -> bool:
    """Return whether a test asks for local rank 0, as a launcher counts it."""
    asked = condition.value.items[0] if condition.value.items else condition.value
    own = asked.known is Known.LOCAL_RANK and asked.text not in (
        ("%", "current_device") if computed else ("spawn", "%", "current_device")
    )
    return own and condition.rank == 0


def variables(call: Call) -> Iterator[object]:
    """Yield the environment variables that a call reads."""
    if call.name in ("os.environ.__getitem__", "os.environ.get", "os.getenv"):
        yield call.value("key").literal
