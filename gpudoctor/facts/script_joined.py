"""The calls of a script for which every rank has to come: collectives, and what contains them."""

import re

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_buffers import holds_buffers
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_values import Place, Thing, Value

CONSTRUCTED = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",  # compares and broadcasts parameters
        "torch.distributed.checkpoint.save",
        "torch.distributed.checkpoint.load",
        "torch.distributed.checkpoint.async_save",
        "torch.distributed.checkpoint.state_dict_saver.save",
        "torch.distributed.checkpoint.state_dict_loader.load",
        "torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict",
        "torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict",
        "torch.distributed.optim.ZeroRedundancyOptimizer.step",
        "torch.distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict",
    }
)
"""What else contains collectives (torch's documentation of each, and its source)."""
OF_ACCELERATE = frozenset(
    f"accelerate.Accelerator.{name}"
    for name in "wait_for_everyone gather gather_for_metrics reduce pad_across_processes".split()
)
"""Methods of an Accelerator for which every rank has to come (accelerate's documentation of each)."""
OF_LIGHTNING = (
    "trainer.save_checkpoint",
    "strategy.barrier",
    "self.all_gather",
    "fabric.all_gather",
    "fabric.all_reduce",
    "fabric.barrier",
    "fabric.save",
)
"""How Lightning's calls end for which every rank has to come: save_checkpoint ends with a barrier."""
OF_DEEPSPEED = frozenset(
    f"deepspeed.DeepSpeedEngine.{name}" for name in "save_checkpoint load_checkpoint save_16bit_model".split()
)
"""Methods of a DeepSpeedEngine for which every rank has to come (deepspeed's documentation of checkpointing)."""
OF_TRANSFORMERS = re.compile(r"(?:transformers|trl)\.\w*Trainer\.(?:train|evaluate|predict)")
"""Methods of a Trainer for which every rank has to come: evaluation gathers the predictions of all (its source)."""
STATES = "torch.distributed.checkpoint.state_dict."
"""Where the functions are that get a whole state dict from its shards."""
OF_FSDP = frozenset({"__call__", "forward", "state_dict", "clip_grad_norm_", "load_state_dict"})
"""Methods of a FullyShardedDataParallel that gather or reduce its shards."""
RUNNERS = frozenset(
    "torchinfo.summary torchsummary.summary thop.profile ptflops.get_model_complexity_info torch.jit.trace "
    "torch.onnx.export".split()
)
"""Functions that call the model that they are given, to count its operations or to trace it; as add_graph draws it."""
WITHOUT_OTHERS = ("group", "process_group", "pg", "no_dist")
"""Arguments by which a call may be one of some ranks, or of one."""


def joined(script: Script) -> list[Call]:
    """Return the calls for which every rank has to come: collectives of all ranks, and what contains them."""
    if "joined" not in script.selected:
        script.selected["joined"] = _joined(script)
    return script.selected["joined"]


def _joined(script: Script) -> list[Call]:
    shards = sharded(script)
    forwards = _forwards(script, shards)
    buffered = frozenset(thing.number for thing in script.of_kind("ddp") if _with_buffers(script, thing))
    return [
        call
        for call in script.calls
        if _waits(script, call, forwards, shards, buffered)
        and not call.starred
        and not _never(call)
        and not any(call.given(name) and not call.value(name).is_none for name in WITHOUT_OTHERS)
    ]


def _never(call: Call) -> bool:
    """Return whether a call stands where a test is known not to hold, by more than a default of what nobody calls."""
    told = call.reached or len(call.stack) > 1
    return told and any(condition.never for condition in call.conditions)


def _waits(
    script: Script,
    call: Call,
    forwards: dict[Place, list[Call | None]],
    shards: frozenset[int],
    buffered: frozenset[int],
) -> bool:
    """Return whether a call ends when the other ranks make it too."""
    if call.collective or call.name in CONSTRUCTED or call.name in OF_ACCELERATE:
        return True
    if call.name.startswith(STATES) and call.method.startswith("get_"):
        return _whole_state(script, call, shards)
    if call.method == "backward":
        around = {condition.place for condition in call.conditions} | {loop.place for loop in call.loops}
        makers = [made for place in around for made in forwards.get(place, ())]
        return any(made is None or not call.excluded(made) for made in makers)
    if call.method == "full_tensor" or call.name in OF_DEEPSPEED or OF_TRANSFORMERS.fullmatch(call.name):
        return True
    if "lightning" in script.frameworks and call.text.endswith(OF_LIGHTNING):
        return True
    if "train" in call.method.lower() and _trains_elsewhere(script, call):
        return True
    if call.method in OF_FSDP and script.thing(call.receiver, "fsdp"):
        return True
    if call.method in ("__call__", "forward") and call.receiver.things and call.receiver.thing in shards:
        return True
    model = passed_through(call)
    return model is not None and bool(buffered.intersection(model.things))


def _trains_elsewhere(script: Script, call: Call) -> bool:
    """Return whether a function that was not followed trains a wrapped model: it is given that and an optimizer."""
    if "." not in call.name.strip(".") or not call.loops or call.name.startswith("torch."):
        return False
    given = [argument.value for argument in call.arguments.values()]
    kinds = {script.things[value.thing].kind for value in given if len(value.things) == 1}
    return "optimizer" in kinds and bool({"ddp", "fsdp"} & kinds)


def _whole_state(script: Script, call: Call, shards: frozenset[int]) -> bool:
    """Return whether a state dict is put together from the shards of all ranks."""
    options = call.value("options")
    made = script.calls[options.made] if 0 <= options.made < len(script.calls) else None
    whole = made is not None and made.value("full_state_dict").literal is True
    return whole and (bool(shards) or any(True for _ in script.of_kind("fsdp")))


def sharded(script: Script) -> frozenset[int]:
    """Return the models that fully_shard took, by their numbers; their forward and backward gather the shards."""
    calls = script.named("torch.distributed.fsdp.fully_shard")
    return frozenset(number for call in calls for number in call.value("module").things)


def _forwards(script: Script, shards: frozenset[int]) -> dict[Place, list[Call | None]]:
    """Return the tests and loops in which a wrapped, or a sharded, model is called; and what made the wrapper."""
    found: dict[Place, list[Call | None]] = {}
    for call in script.calls:
        if call.method not in ("__call__", "forward"):
            continue
        wrapper = script.thing(call.receiver, "ddp", "fsdp", "prepared")
        if wrapper is not None or call.receiver.thing in shards:
            made = script.made_by(wrapper) if wrapper is not None else None
            if made is not None and _of_group(made):
                continue
            for place in (*(c.place for c in call.rank_conditions), *(loop.place for loop in call.loops)):
                known = found.setdefault(place, [])
                if made not in known:
                    known.append(made)
    return found


def _with_buffers(script: Script, wrapper: Thing) -> bool:
    """Return whether a DistributedDataParallel surely broadcasts buffers before a forward pass."""
    return _broadcasts(script, wrapper) and holds_buffers(script, wrapper) is True


def _broadcasts(script: Script, wrapper: Thing) -> bool:
    """Return whether a DistributedDataParallel broadcasts the buffers that its model has, if any."""
    made = script.made_by(wrapper)
    unlike = made is not None and (made.given("broadcast_buffers") or _of_group(made))
    return not wrapper.type.startswith("apex.") and not unlike


def _of_group(made: Call) -> bool:
    """Return whether a wrapper is that of a group of its own, which the other ranks have no part in."""
    given = made.arguments.get("process_group")
    return given is not None and not given.value.is_none and not given.text.endswith("WORLD")


def passed_through(call: Call) -> Value | None:
    """Return the model whose forward a call runs, ``None`` for a call that runs none."""
    if call.method in ("__call__", "forward"):
        return call.receiver
    if call.method != "add_graph" and call.name not in RUNNERS:
        return None
    return next((argument.value for argument in call.arguments.values() if argument.value.things), None)


def forwards_of_unknown(script: Script) -> list[Call]:
    """Return the forward passes of a DistributedDataParallel of which nobody knows here whether it has buffers."""
    found = []
    known: dict[int, bool] = {}
    for call in script.calls:
        model = passed_through(call)
        wrapper = script.thing(model, "ddp") if model is not None else None
        if model is None or wrapper is None or model.things != (wrapper.number,):
            continue
        if wrapper.number not in known:
            known[wrapper.number] = _broadcasts(script, wrapper) and holds_buffers(script, wrapper) is None
        if known[wrapper.number]:
            found.append(call)
    return found


__all__ = ["forwards_of_unknown", "joined", "passed_through"]
