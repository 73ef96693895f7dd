"""What the functions and methods of torch and of the standard library return."""

from collections.abc import Callable

from msgspec.structs import replace

from gpudoctor.code.agreement import REDUCING
from gpudoctor.code.arithmetic import filled_in
from gpudoctor.code.dictionaries import entries, entry, made_of
from gpudoctor.code.environment_variables import TEXT, named_value, variable
from gpudoctor.code.known_calls import canonical
from gpudoctor.code.names import FLAG, HOLDS, TOLD, lacks, member
from gpudoctor.code.namespaces import of_parser
from gpudoctor.code.program import Frame, mixed, one_of
from gpudoctor.facts import ALL_OF, EVERY_NTH, LACKS, ONCE, UNKNOWN, WHOLE, WRAPPERS, Argument, Known, Value

SHAPES = frozenset({"shape", "ndim", "dtype", "device", "is_cuda", "requires_grad"})
"""Attributes of a tensor that are the same on every rank."""
SELF = frozenset(
    "to cuda cpu train eval half float double bfloat16 requires_grad_ apply share_memory xpu npu to_empty type "
    "compile register_module".split()
)
"""Methods of a module that return the module."""
MODULES = ("model", "loss", *WRAPPERS)
THROUGH = frozenset(
    "tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.std.tqdm tqdm.autonotebook.tqdm iter list tuple reversed sorted "
    "itertools.islice itertools.cycle rich.progress.track copy.deepcopy copy.copy int str float abs "
    "round set functools.wraps torch.distributed.elastic.multiprocessing.errors.record "
    "apex.parallel.convert_syncbn_model peft.get_peft_model torch.nn.utils.weight_norm torch.nn.utils.spectral_norm "
    "torch.distributed.fsdp.fully_shard torch.distributed.tensor.parallel.parallelize_module".split()
)
"""Functions whose result is their first argument, in another form."""
HARMLESS = (
    THROUGH
    | frozenset(
        "print len isinstance hasattr getattr setattr range enumerate zip next super type id repr format min max sum "
        "any all os.environ.get os.getenv open json.dump json.dumps time.time math.ceil math.floor dict map filter "
        "functools.partial torch.nn.utils.clip_grad_norm_ vars issubclass callable collections.OrderedDict".split()
    )
    | frozenset(f"logging.{level}" for level in ("info", "debug", "warning", "error", "exception"))
)
"""Functions that do nothing with an object that matters here."""
BAR = ".tqdm"
"""How a progress bar's name ends, which other libraries hand on as theirs: ``from datasets import tqdm``."""
CLOCKS = frozenset(
    "time.time time.perf_counter time.monotonic time.process_time datetime.datetime.now".split()
)
OF_ONE = ("numpy.", "statistics.", "math.", "scipy.", "sklearn.")
"""Libraries that know no ranks: their average is one of this rank's numbers."""
PLACES = ("device", "map_location", "device_ids", "output_device")
"""Arguments that say where something is put."""
_LOSSES = ("loss", "cross_entropy")


def result_of(
    frame: Frame, name: str, attribute: str, arguments: dict[str, Argument], receiver: Value
) -> Value:
    """Return what a call comes to whose function is not the script's own."""
    function = _KNOWN.get(name)
    if function is not None:
        return function(frame, arguments)
    first = next(iter(arguments.values()), None)
    if name in THROUGH or (name.endswith(BAR) and first is not None):
        return first.value if first else UNKNOWN
    if name in CLOCKS:
        return Value(from_data=True)
    if attribute == "get_local_rank" and receiver.known is not Known.SYMBOL:
        return Value(
            text=name, by_rank=True
        )  # a DeviceMesh's: along one of its dimensions, not within the node
    if name.endswith(
        (".trange", ".tnrange")
    ):  # whether its bar is shown may differ by rank, its numbers do not
        return _numbers(frame, {key: a for key, a in arguments.items() if key.isdigit()})
    kind = frame.program.kind(receiver)
    # where a tensor is says nothing of its numbers
    by_rank, from_data = mixed([a.value for key, a in arguments.items() if key not in PLACES])
    by_rank, from_data = by_rank or receiver.by_rank, from_data or receiver.from_data
    if kind:
        return _of_method(frame, kind, attribute, arguments, receiver)
    if receiver.known is Known.TENSOR:
        return _of_tensor(attribute, receiver, by_rank=by_rank, from_data=from_data)
    if name.startswith("torch."):
        return _of_torch(name, arguments, by_rank=by_rank, from_data=from_data)
    if attribute in ("item", "detach", "argmax", "mean", "sum") and from_data:
        return Value(by_rank=by_rank, from_data=True)
    if receiver.known is Known.LITERAL and isinstance(receiver.literal, str) and attribute == "format":
        return filled_in(receiver.literal, [argument.value for argument in arguments.values()])
    if attribute in ("values", "items", "copy") and not arguments:
        held = entries(receiver, attribute)
        if held is not None:
            return held
    if attribute == "get" and first is not None and first.value.is_literal:
        held = entry(receiver, first.value.literal)
        if held is not None:
            return held
        return named_value(str(first.value.literal)) or Value(by_rank=by_rank, from_data=from_data)
    items = tuple(argument.value for argument in arguments.values()) if name in ("enumerate", "zip") else ()
    last = name.rpartition(".")[2]
    from_data = from_data and (name.startswith(OF_ONE) or not any(word in last.lower() for word in REDUCING))
    by_name = named_value(last.lower().removeprefix("get_")) or named_value(last)
    if first and by_name is not None and by_name.sole is None:
        by_name = None  # of a group of its own, perhaps; ``is_master(args)`` asks for one thing, whatever it is told
    return by_name or Value(text=name, items=items, by_rank=by_rank, from_data=from_data)


def of_some(argument: Argument) -> bool:
    """Return whether some ranks alone computed what is handed over: on the others it is what it was before."""
    value = argument.value
    plain = not any(option.by_rank or option.known is Known.UNBOUND for option in value.possible())
    numbers = any(type(option.literal) in (bool, int, float) for option in value.possible())
    return value.known is Known.CHOICE and value.by_rank and plain and numbers


def _of_method(
    frame: Frame, kind: str, attribute: str, arguments: dict[str, Argument], receiver: Value
) -> Value:
    if kind in MODULES:
        if attribute in SELF:
            return receiver
        if attribute in ("__call__", "forward"):
            same = _whole(arguments)
            return Value(Known.TENSOR, WHOLE if same else None, from_data=not same)
    if kind == "object":
        if attribute in SELF:
            return receiver
        by_rank, from_data = mixed([argument.value for argument in arguments.values()])
        told = (receiver.thing, TOLD) in frame.program.heap or any(of_some(a) for a in arguments.values())
        if "stop" in attribute and told:
            return FLAG
        stops = "stop" in attribute and (receiver.thing, HOLDS) in frame.program.heap
        if frame.program.things[receiver.thing].type.startswith("torch.distributions."):
            drawn = from_data or (receiver.thing, HOLDS) in frame.program.heap
            return Value(Known.TENSOR, by_rank=by_rank, from_data=drawn)
        if not arguments and (main := named_value(attribute)) is not None and main.sole is not None:
            return main  # ``trainer.is_world_process_zero()``
        return Value(text=attribute, by_rank=by_rank, from_data=from_data or stops)
    if kind == "loader" and attribute == "__call__":
        return receiver
    if kind == "state_dict" and attribute in ("items", "copy"):
        return receiver
    if kind == "generator" and attribute == "manual_seed":
        return receiver
    if kind == "scaler" and attribute == "scale":
        return next(iter(arguments.values())).value if arguments else UNKNOWN
    if kind == "parser":
        return of_parser(frame, attribute, arguments, receiver)
    if kind == "arguments" and attribute in ("get", "pop") and arguments:
        first = next(iter(arguments.values())).value
        return named_value(str(first.literal)) or Value(Known.ARGUMENT, text=str(first.literal))
    return Value(text=attribute)


def _of_tensor(attribute: str, receiver: Value, *, by_rank: bool, from_data: bool) -> Value:
    if attribute in ("item", "tolist", "numpy", "__len__"):
        return Value(by_rank=by_rank, from_data=from_data)
    if attribute in ("size", "dim", "numel", "element_size", "backward"):
        return Value(by_rank=by_rank)
    return Value(Known.TENSOR, receiver.literal, by_rank=by_rank, from_data=from_data)


def _whole(arguments: dict[str, Argument]) -> bool:
    """Return whether all tensors among arguments are the same on every rank, and there is one."""
    tensors = [a.value for a in arguments.values() if a.value.known is Known.TENSOR]
    rest = any(a.value.from_data for a in arguments.values())
    return bool(tensors) and not rest and all(tensor.literal == WHOLE for tensor in tensors)


def _of_torch(name: str, arguments: dict[str, Argument], *, by_rank: bool, from_data: bool) -> Value:
    last = name.rpartition(".")[2]
    same = _whole(arguments)
    if name.startswith("torch.nn.functional."):
        from_data = from_data or (last.endswith(_LOSSES) and not same)
        return Value(Known.TENSOR, WHOLE if same else None, by_rank=by_rank, from_data=from_data)
    if name.count(".") == 1 and last[:1].islower():
        if last.startswith(
            ("is_", "get_", "set_", "manual", "use_", "save", "are_", "no_grad", "enable", "inference")
        ):
            return UNKNOWN
        return Value(Known.TENSOR, WHOLE if same else None, by_rank=by_rank, from_data=from_data)
    if name.startswith(("torch.distributed.", "torch.cuda.", "torch.backends.", "torch.utils.")):
        return Value(text=name)
    return Value(text=name, by_rank=by_rank, from_data=from_data)


def _device(frame: Frame, arguments: dict[str, Argument]) -> Value:
    del frame
    given, index = arguments.get("type"), arguments.get("index")
    if given is None:
        return UNKNOWN
    return device(given.value, index.value if index else None)


def device(value: Value, index: Value | None = None) -> Value:
    """Return the device that a value names, itself where it is one already."""
    if value.known is Known.CHOICE:
        items = tuple(device(item, index) for item in value.items)
        return Value(Known.CHOICE, items=items, by_rank=value.by_rank)
    if value.known is Known.DEVICE:
        return value
    if isinstance(value.literal, str):
        kind, _, number = value.literal.partition(":")
        items = (Value(Known.LITERAL, int(number)),) if number.isdecimal() else ()
        by_rank = index is not None and index.by_rank
        return Value(Known.DEVICE, text=kind, items=(index,) if index is not None else items, by_rank=by_rank)
    if value.is_rank or isinstance(value.literal, int) or value.known in (Known.INDEX, Known.ARGUMENT):
        return Value(Known.DEVICE, text="cuda", items=(value,), by_rank=value.by_rank)
    return Value(Known.DEVICE, items=value.items, by_rank=value.by_rank)


def _variable(frame: Frame, arguments: dict[str, Argument]) -> Value:
    del frame
    key, default = arguments.get("key"), arguments.get("default")
    found = variable(key.value.literal) if key and key.value.is_literal else UNKNOWN
    # what is set is a text, whatever stands in its place where nothing is: ``os.environ.get("RANK", 0)``
    number = default is not None and not isinstance(default.value.literal, (str, int))
    return replace(found, items=()) if number else found


def _number(frame: Frame, arguments: dict[str, Argument]) -> Value:
    """What ``int`` and ``float`` return: the same, as a number."""
    del frame
    first = next(iter(arguments.values()), None)
    if first is None:
        return UNKNOWN
    return replace(first.value, items=()) if first.value.items == (TEXT,) else first.value


def _length(frame: Frame, arguments: dict[str, Argument]) -> Value:
    del frame
    first = next(iter(arguments.values()), None)
    return Value(text="len", items=(first.value,) if first else ())


def _numbers(frame: Frame, arguments: dict[str, Argument]) -> Value:
    """What ``range`` returns: of a rank's own numbers the rank decides."""
    del frame
    by_rank, from_data = mixed([argument.value for argument in arguments.values()])
    values = [argument.value for argument in arguments.values()]
    own = len(values) == 3 and values[0].is_rank and values[2].known is Known.WORLD_SIZE
    own = own and not values[1].is_literal  # of a number that is written out one may know that it fits
    once = len(values) == 1 and values[0].is_literal and values[0].literal == 1 and not values[0].text
    counted = len(values) == 1 and values[0].text == "len" and values[0].known is Known.UNKNOWN
    text = EVERY_NTH if own else ONCE if once else ALL_OF if counted else ""
    step = tuple(value for value in values[2:] if value.known is Known.WORLD_SIZE)
    return Value(Known.INDEX, text=text, items=step, by_rank=by_rank, from_data=from_data)


def _next(frame: Frame, arguments: dict[str, Argument]) -> Value:
    first = next(iter(arguments.values()), None)
    if first is None:
        return UNKNOWN
    return Value(from_data=first.value.from_data or frame.program.kind(first.value) == "loader")


def _attribute(frame: Frame, arguments: dict[str, Argument]) -> Value:
    """What ``getattr`` returns: the wrapper's module where that is asked for, else by the name."""
    values = [argument.value for argument in arguments.values()]
    if len(values) < 2 or not isinstance(values[1].literal, str):
        begins = values[1].text.partition("{}")[0] if len(values) > 1 and "{}" in values[1].text else ""
        found = _beginning(frame, values[0], begins) if begins else None
        return found or (chosen(values[0]) if values else UNKNOWN)
    name = values[1].literal
    if values[0].known is Known.SYMBOL:
        return Value(Known.SYMBOL, text=canonical(f"{values[0].text}.{name}"))
    things = [frame.program.things[number] for number in values[0].things]
    if name == "module" and things:
        inner = things[0].inner if things[0].kind in WRAPPERS else things[0].number
        return Value(Known.THING, thing=inner) if inner >= 0 else Value(text="module")
    held = frame.program.heap.get((values[0].thing, name))
    if (
        held is None
        and len(values) == 3
        and 0 < len(things) == sum(1 for _ in values[0].possible())
        and all(lacks(frame, thing, name) for thing in things)
    ):
        return replace(values[2], text=LACKS)
    return held or named_value(name) or UNKNOWN


def _beginning(frame: Frame, holder: Value, begins: str) -> Value | None:
    """Return what ``getattr(self, "net" + name)`` may be: the attributes, or a module's functions, that begin so."""
    if holder.known is Known.SYMBOL and holder.text.startswith("file:"):
        other = frame.file.module(holder.text[5:])
        names = [name for name in other.names if name.startswith(begins)] if other is not None else []
        found = [member(frame, holder, name) for name in names[:MOST_CHOSEN]]
        found = [value for value in found if value.known is Known.DEFINED]
    else:
        found = [
            value
            for (thing, name), value in frame.program.heap.items()
            if thing == holder.thing >= 0 and name.startswith(begins)
        ]
    return one_of(found[:MOST_CHOSEN]) if found else None


MOST_CHOSEN = 4


def chosen(value: Value) -> Value:
    """Return what an option picks out of a library's module by its name: of torchvision's any one of their kind."""
    module = value.text.removesuffix(".__dict__")
    made = {"torchvision.datasets": "Dataset", "torchvision.models": "Model"}.get(module)
    return Value(Known.SYMBOL, text=f"{module}.{made}") if made and value.known is Known.SYMBOL else UNKNOWN


def _tested(frame: Frame, arguments: dict[str, Argument]) -> Value:
    """What ``bool``, ``min`` and their like return."""
    del frame
    values = [argument.value for argument in arguments.values()]
    by_rank, from_data = mixed(values)
    sole, all_but = (values[0].sole, values[0].all_but) if len(values) == 1 else (None, None)
    return Value(by_rank=by_rank, from_data=from_data, sole=sole, all_but=all_but)


_RANK = Value(Known.RANK, text="get_rank", by_rank=True)


def _rank_in(arguments: dict[str, Argument]) -> Value:
    """What ``torch.distributed.get_rank`` returns: of a group of some ranks another number than the global one."""
    given = arguments.get("group") or arguments.get("0")
    if given is None or given.value.is_none or given.text in ("group", "dist.group.WORLD"):
        return _RANK
    local = "local" in given.text.lower() or "node" in given.text.lower()
    return Value(Known.LOCAL_RANK if local else Known.UNKNOWN, text="get_rank of a group", by_rank=True)


_KNOWN: dict[str, Callable[[Frame, dict[str, Argument]], Value]] = {
    "torch.distributed.get_rank": lambda frame, arguments: _rank_in(arguments),
    "torch.distributed.get_world_size": lambda frame, arguments: Value(
        Known.WORLD_SIZE, text="get_world_size"
    ),
    "torch.distributed.get_node_local_rank": lambda frame, arguments: Value(
        Known.LOCAL_RANK, text="get_node_local_rank", by_rank=True
    ),
    "ignite.distributed.get_rank": lambda frame, arguments: _RANK,
    "ignite.distributed.get_local_rank": lambda frame, arguments: Value(
        Known.LOCAL_RANK, text="get_local_rank", by_rank=True
    ),
    "torch.cuda.device_count": lambda frame, arguments: Value(Known.DEVICE_COUNT),
    "torch.accelerator.device_count": lambda frame, arguments: Value(Known.DEVICE_COUNT),
    "torch.cuda.current_device": lambda frame, arguments: Value(
        Known.LOCAL_RANK, text="current_device", by_rank=True
    ),
    "torch.device": _device,
    "int": _number,
    "float": _number,
    "os.environ.get": _variable,
    "os.getenv": _variable,
    "os.environ.setdefault": _variable,
    "len": _length,
    "range": _numbers,
    "dict": made_of,
    "collections.OrderedDict": made_of,
    "next": _next,
    "getattr": _attribute,
    "dataclasses.field": lambda frame, arguments: (
        arguments["default"].value if "default" in arguments else UNKNOWN
    ),
    "isinstance": lambda frame, arguments: UNKNOWN,
    "hasattr": lambda frame, arguments: UNKNOWN,
    "bool": _tested,
    "min": _tested,
    "max": _tested,
    "socket.gethostname": lambda frame, arguments: Value(text="hostname"),
    "os.getpid": lambda frame, arguments: Value(text="pid"),
    "torch.cuda.is_available": lambda frame, arguments: Value(text="cuda"),
    "torch.distributed.is_initialized": lambda frame, arguments: Value(text="is_initialized"),
    "torch.distributed.is_available": lambda frame, arguments: Value(text="is_available"),
}
