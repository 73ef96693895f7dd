"""Every rank works on GPU 0.

## What happens

GPU 0 runs out of memory while the others are idle, or NCCL refuses: "Duplicate GPU detected". With DDP's wrapper on
`cuda` without a number nothing fails at first, and N ranks share one GPU. FSDP compares: "Inconsistent compute device and
`device_id` on rank 3: cuda:0 vs cuda:3".

## Why

`model.cuda()` and `device="cuda"` mean the current device, and that is 0 in each process until it is set. torchrun sets
LOCAL_RANK and nothing else: each rank must choose its own GPU. A checkpoint that is loaded without `map_location` puts
a context and a copy on GPU 0 from every rank, too.

## How to tell

`nvidia-smi` shows one process for each rank on GPU 0 and none on the others. Or it shows all of them on GPU 0 and each on
its own as well: then it is the checkpoint.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): LOCAL_RANK
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): map_location
"""

import itertools
import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity
from gpudoctor.facts import UNKNOWN, Call, Gpus, Known, Launch, Processes, Script, Thing, Value

SET = Fix(
    "Choose the rank's own GPU, before anything else of CUDA",
    'local_rank = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(local_rank)',
    Kind.EDIT,
    proof="torch.cuda.set_device(local_rank)",
)
LOAD = Fix(
    "Load checkpoints onto the CPU, or onto the rank's own GPU",
    'state = torch.load("model.pt", map_location="cpu", weights_only=True)',
    Kind.EDIT,
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the model is put on its GPU by index; an error for a script that puts every rank on one GPU",
    symptoms=[
        # FSDP, which got the rank's own GPU as device_id and a model that lies on another one
        r"Inconsistent compute device and `?device_id`? on rank (?P<rank>[1-9]\d*): cuda:0 vs cuda:[1-9]",
    ],
    message="the model of rank <rank> lies on GPU 0, and not on the rank's own",
    fixes=[SET, LOAD],
)


@check.environment
def environment(gpus: Gpus, processes: Processes, launch: Launch | None) -> Iterator[Finding]:
    """Several ranks of one launch hold GPU 0, and no other GPU has a rank of its own."""
    if len(gpus.devices) < 2:
        return
    ranks = {p.pid: p for p in processes.ranks if p.local_rank is not None or p.rank is not None}
    if len(ranks) < 2:
        return
    if any(device.processes is None for device in gpus.devices):
        raise CannotTell("NVML does not say which processes hold which GPU")
    held = {d.index: {q.pid for q in d.processes or []} & ranks.keys() for d in gpus.devices}
    first = held[gpus.devices[0].index]
    others = set().union(*(pids for index, pids in held.items() if index != gpus.devices[0].index))
    different = {ranks[pid].local_rank or ranks[pid].rank for pid in first}
    if len(different) < 2 or not others <= first:
        return
    numbers = ", ".join(sorted(n for n in different if n is not None))
    index = gpus.devices[0].index
    if others:
        message = f"ranks {numbers} hold memory of GPU {index} besides their own: a checkpoint was loaded there by all"
        fixes = [LOAD, SET]
    else:
        message = f"ranks {numbers} all work on GPU {index}, and the other {len(gpus.devices) - 1} have none: none chose its own"
        fixes = [SET, LOAD]
    evidence = [Evidence(f"GPU {index}: {ranks[pid].words}") for pid in sorted(first)[:8]]
    yield check.found(message, evidence=evidence, fixes=fixes)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A script whose ranks all put their model on the current GPU, or on GPU 0, and none chooses its own."""
    yield from before_deepspeed(script)
    yield from without_a_group(script)
    if not script.distributed or script.frameworks:
        return
    spawned = by_option(script)
    if spawned is not None:
        yield spawned
        return
    wrapping = [made for thing in script.of_kind("ddp", "fsdp") if (made := script.made_by(thing))]
    if any(_binds(c) and not (wrapping and all(_other_branch(c, w) for w in wrapping)) for c in script.calls):
        return
    if script.process_group is None and any(_sets_up(call) for call in script.calls):
        return
    found = (
        written_out(script, wrapping) or model_on_one(script) or averaged_on_one(script) or on_current(script)
    )
    if found is not None:
        yield found


def before_deepspeed(script: Script) -> Iterator[Finding]:
    """Report a model that is on a GPU before DeepSpeed's engine chooses the rank's one (runtime/engine.py of 0.17.6)."""
    for engine in script.named("deepspeed.initialize"):
        before = script.calls[: engine.number]
        if any(_binds(c) or (_sets_up(c) and not c.name.startswith("deepspeed.")) for c in before):
            return
        for call in before:
            model = script.thing(call.receiver, "model", "object")
            if model is not None and engine.takes(model) and not call.rank_conditions and _to_cuda(call):
                yield check.found(
                    f"every rank puts the model on {_where(call)} here: deepspeed.initialize chooses the rank's GPU, and that "
                    f"is in line {engine.place}",
                    severity=Severity.WARNING,
                    location=call.place,
                    fixes=[SET],
                )
                return


def without_a_group(script: Script) -> Iterator[Finding]:
    """Report a model that each of several processes, one for each GPU and in no group, puts on the current GPU."""
    if script.process_group is not None or script.frameworks:
        return
    spawns = script.named("torch.multiprocessing.spawn")
    spawn = next((c for c in spawns if c.reached and c.value("nprocs").known is Known.DEVICE_COUNT), None)
    if spawn is None or any(_binds(c) or _sets_up(c) or (c.spawned and _may_bind(c)) for c in script.calls):
        return
    for call in script.calls:
        model = script.thing(call.receiver, "model", "object") if call.spawned and call.reached else None
        if model is not None and not call.rank_conditions and _to_cuda(call):
            yield check.found(
                f"each of the processes that line {spawn.place} starts puts the model on {_where(call)}, and none chooses a GPU "
                f"of its own: all of them share GPU {_number(call)}",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[SET],
            )
            return


def _may_bind(call: Call) -> bool:
    """Return whether a call puts something on this process's GPU, or is told its number and not seen."""
    if _own(call):
        return True
    of_torch = call.name.startswith("torch.") or call.method in ("print", "format", "__set__", "str")
    return not of_torch and any(argument.value.by_rank for argument in call.arguments.values())


def by_option(script: Script) -> Finding | None:
    """Find a GPU that a spawned process chooses by an option of the command line, which is the same in all of them."""
    if not any("local" in str(a.value.literal) and "rank" in str(a.value.literal)
               for c in script.methods("add_argument") for a in c.arguments.values()):  # fmt: skip
        return None
    if any(c.text.endswith(".local_rank") for c in script.methods("__set__")):
        return None
    for call in script.named("torch.cuda.set_device"):
        device = call.arguments.get("device")
        if device is None or not call.spawned or device.value.known is not Known.LOCAL_RANK:
            continue
        if not device.text.endswith(".local_rank") or device.value.text != "local_rank":
            continue
        holder = device.text.rpartition(".")[0]
        inside = (c for c in script.calls[: call.number] if c.spawned and not c.name.startswith("torch."))
        if not any(
            a.text == holder for c in inside for a in c.arguments.values()
        ):  # who may give it its value
            return check.found(
                f"{device.text} is an option of the command line, and mp.spawn gives none to its processes: every one of "
                "them takes the same GPU",
                severity=Severity.ERROR,
                location=call.place,
                fixes=[SPAWNED],
            )
    return None


def written_out(script: Script, wrapping: list[Call]) -> Finding | None:
    """Find a GPU that is chosen by a number which is the same on every rank."""
    chosen = [
        c for c in script.named("torch.cuda.set_device") if not any(_other_branch(c, w) for w in wrapping)
    ]
    first = next((c for c in chosen if _fixed(c)), None)
    if first is None or script.process_group is None:
        return None
    return check.found(
        f"every rank takes the GPU {first.arguments['device'].text}, which is written out: all ranks share it, and NCCL "
        "refuses two ranks on one GPU",
        severity=Severity.ERROR,
        location=first.place,
        fixes=[SET],
    )


def model_on_one(script: Script) -> Finding | None:
    """Find a model that every rank moves to one GPU, before it is wrapped or with its wrapper."""
    for wrapper in script.of_kind("ddp", "fsdp"):
        made = script.made_by(wrapper)
        if script.process_group is None and (made is None or not made.reached):
            continue  # a class of a library: who uses it may have chosen the GPU
        if made is not None and made.given("process_group") and not made.reached:
            continue  # a group of somebody's own making
        if made is not None and made.contradictory:
            continue  # of a function that is called for one GPU as well
        last = _last_move(script, wrapper)
        if last is not None and _to_cuda(last):
            return check.found(
                f"every rank puts the model on {_where(last)}, and none chooses a GPU of its own: all ranks share "
                f"GPU {_number(last)}, and NCCL refuses two ranks on one GPU",
                severity=Severity.ERROR,
                location=last.place,
                fixes=[SET],
            )
    return None


def averaged_on_one(script: Script) -> Finding | None:
    """Find a model that every rank moves to one GPU, where the script itself sums its gradients."""
    if next(script.of_kind("ddp", "fsdp", "dp"), None) is not None or script.process_group is None:
        return None
    summed = script.named("torch.distributed.all_reduce")
    if not any("grad" in a.text for call in summed for a in call.arguments.values() if call.reached):
        return None
    models = {n for c in script.methods("__call__", "model", "object") for n in c.receiver.things}
    for call in script.calls:
        if models & {*call.receiver.things} and call.reached and not call.rank_conditions and _to_cuda(call):
            return check.found(
                f"every rank puts the model on {_where(call)}, and none chooses a GPU of its own: all ranks share GPU {_number(call)}",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[SET],
            )
    return None


def on_current(script: Script) -> Finding | None:
    """Find what is about the current GPU below a process group of NCCL, or what leaves that one GPU 0."""
    group = script.process_group
    if group is None or group.value("world_size") == ONE or not group.reached:
        return None  # in a library another file may choose the GPU
    if not any(v.literal == "nccl" for v in group.value("backend").possible()):
        return None
    indexed = next((c for c in script.calls if _own(c)), None)
    current = next((c for c in script.calls[group.number :] if _on_current(c)), None)
    if current is not None and not any(_sets_up(c) for c in script.calls):
        rest = "none chooses its own"
        if indexed is not None:
            rest = f"{indexed.text} in line {indexed.place} means another"
        return check.found(
            f"{current.text}({_named(current)}) is about the current GPU, which is GPU 0 on every rank: {rest}",
            severity=Severity.ERROR if indexed is None and current.reached else Severity.WARNING,
            location=current.place,
            fixes=[SET],
        )
    if indexed is None or not indexed.receiver.things:
        return None
    return check.found(
        f"{indexed.text}({_where(indexed)}) puts this on the rank's GPU, and the current GPU stays GPU 0 on every rank: "
        "what names no index goes there, a barrier too",
        severity=Severity.NOTE,
        location=indexed.place,
        fixes=[SET],
    )


SPAWNED = Fix(
    "Take the number that mp.spawn hands to each process first",
    "def worker(rank, args):\n    torch.cuda.set_device(rank)",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses",
)
ONE = Value(Known.LITERAL, 1)


def _other_branch(call: Call, wrapping: Call) -> bool:
    """Return whether a call stands on the other branch of a test for the launcher that a model is wrapped under."""
    opposite = {
        (c.place, not c.negated) for c in wrapping.conditions if "gpu" not in c.text and "None" not in c.text
    }
    return any((c.place, c.negated) in opposite for c in call.conditions)


def _last_move(script: Script, wrapper: Thing) -> Call | None:
    """Return the call that puts a wrapped model on its device, ``None`` where none is seen."""
    group, made = script.process_group, script.made_by(wrapper)
    if made is not None and group is not None and wrapper.inner < 0:
        # a model of which nothing is known but where it was put: instantiate(cfg).to(device)
        places = [value.made for value in made.value("module").possible() if value.made >= 0]
        before = [call for place in places for call in script.calls[place : place + 1]]
        before += _in_place(script, made)
    else:
        model = script.innermost(wrapper)
        calls = script.calls if made is None else script.calls[: made.number]
        before = [c for c in calls if model.number in c.receiver.things]
    moves = [c for c in before if c.method in ("cuda", "to")]
    if not moves and group is not None and wrapper.inner >= 0 and not group.starred:
        # DistributedDataParallel(model).cuda(): on the CPU until here
        later = (
            c for c in script.calls if wrapper.number in c.receiver.things and c.method in ("cuda", "to")
        )
        either = {wrapper.number, wrapper.inner}  # wrapped or not, as a test of the script's own says
        moves = [c for c in itertools.islice(later, 1) if either.issuperset(c.receiver.things)]
    return moves[-1] if moves else None


def _in_place(script: Script, wrapping: Call) -> list[Call]:
    """Return where what is wrapped, and of which nothing is known, is put onto a device under its name: ``model.to(device)``."""
    given = wrapping.arguments.get("module")
    if given is None or given.value.known is not Known.UNKNOWN or not wrapping.reached:
        return []
    return [
        call
        for call in script.calls[: wrapping.number]
        if call.text in (f"{given.text}.to", f"{given.text}.cuda")
        and call.scope == wrapping.scope
        and not call.used
        if {*call.conditions} <= {*wrapping.conditions}
    ]


def _on_current(call: Call) -> bool:
    """Return whether a call surely means the current GPU: it names none."""
    if call.name == "torch.cuda.synchronize":
        return not call.arguments and not call.starred
    if call.name == "torch.load":
        return call.reached and not call.rank_conditions and _current(call.value("map_location"))
    return call.method == "cuda" and not call.given("device") and not call.rank_conditions


def _current(device: Value) -> bool:
    """Return whether a device is the current GPU: ``"cuda"``, without a number."""
    return device.cuda and device.index is None and not device.is_rank


def _fixed(call: Call) -> bool:
    """Return whether a GPU is chosen by a number that is the same on every rank."""
    index = call.value("device").index
    fixed = index is not None and index.is_literal and type(index.literal) is int
    tests = [c for c in call.conditions if c.kind != "main" and "is_available" not in c.text]
    return fixed and call.reached and not tests


def _sets_up(call: Call) -> bool:
    """Return whether a call may make the process group and choose the GPU, where that is not seen."""
    name = call.name.lower()
    return any(
        word in name for word in ("init_dist", "dist_init", "setup", "initialize", "launch")
    ) and not name.startswith("torch.")


CHOOSING = re.compile(r"\.(?:set|init|setup|select|choose|bind)_\w*(?:device|gpu|cuda)\w*$")


def _binds(call: Call) -> bool:
    """Return whether a call may give a rank a GPU of its own."""
    if call.name in ("torch.cuda.set_device", "torch.cuda.device", "torch.accelerator.set_device_index"):
        given = call.value("device")
        return not (given.index is not None and given.index.literal == 0)
    if CHOOSING.search(call.name) and not call.name.startswith("torch."):
        return True  # a function that is not seen here
    if call.name == "os.environ.__setitem__" and call.value("key").literal == "CUDA_VISIBLE_DEVICES":
        return True
    if call.name == "torch.distributed.init_process_group" and call.given("device_id"):
        return True
    return call.name == "torch.accelerator.device_index" and call.used


def _to_cuda(call: Call) -> bool:
    """Return whether a module goes to the current GPU, or to one whose number is the same on every rank."""
    if call.method == "cuda":
        device = call.value("device")
        return not call.given("device") or (device.is_literal and type(device.literal) is int)
    if call.method != "to":
        return False
    gpus = [value for value in call.value("device").possible() if value.cuda]
    return bool(gpus) and all(value.index is None or type(value.index.literal) is int for value in gpus)


def _number(call: Call) -> int:
    """Return the number of the GPU to which a module goes on every rank."""
    indices = [value.index for value in call.value("device").possible() if value.cuda]
    return next((index.literal for index in indices if index is not None), 0)


def _own(call: Call) -> bool:
    """Return whether something goes to a GPU that depends on the rank."""
    value = call.value("device") if call.method != "set_device" else UNKNOWN
    index = value.index
    return index is not None and index.by_rank


def _named(call: Call) -> str:
    """Return the device that a call names, nothing where it names none."""
    loads = call.name == "torch.load"
    return f"map_location={call.arguments['map_location'].text}" if loads else ""


def _where(call: Call) -> str:
    given = call.arguments.get("device")
    return f"{given.text}" if given is not None else "the current GPU"
