"""The wrapper around the model does not pass on the model's attributes.

## What happens

"'DataParallel' object has no attribute 'config'", after wrapping, for a method, a layer or a setting that the model
itself has. The same with DistributedDataParallel, FullyShardedDataParallel, a DeepSpeed engine or `torch.compile`.
The other way round: "'ResNet' object has no attribute 'module'", where the code expects a wrapper and there is none.

## Why

DataParallel and its relatives pass on `forward` and what every `nn.Module` has, and nothing else. The model is inside,
at `.module`. Code that was written for one GPU asks the wrapper; code that was written for several asks the bare model
for `.module` when it runs on one.

## How to tell

`print(type(model), type(getattr(model, "module", model)))` shows the wrapper and what is inside. With Hugging Face's
Trainer a DataParallel that nobody wrote comes from several visible GPUs under plain `python`.

A method that computes with parameters should be called through `forward`: what goes around the wrapper goes around
DistributedDataParallel's gradient averaging too.

`gpudoctor lint train.py` finds names that are asked of the wrapper and are not its own.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): the model is its `.module`
- [diffusers#8477](https://github.com/huggingface/diffusers/issues/8477): `unwrap_model` of accelerate
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import TELLS_WRAPPED, Call, Condition, Known, Script

WRAPPER = (
    r"\w*DataParallel(?!Plugin|Kwargs|Config)\w*|FullyShardedDataParallel|OptimizedModule|DeepSpeedEngine|PipelineEngine|DDP|FSDP|"
    r"_FabricModule|_LightningModuleWrapperBase"
)
# Names of the wrappers' own: another version of torch is missing them.
OWN = r"_sync_|_former_parameters|_module_copies|_ddp_|_set_|_rebuild_|_fsdp_|require_|ddp_|reducer'|no_sync'|module'"
NOT_A_MODEL = r"NoneType|DataFrame|Tensor|Namespace|Parameter"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in a script where the number of GPUs or processes decides",
    symptoms=[
        rf"(?<!\w)'?(?P<wrapper>{WRAPPER})'? object has no attribute '(?!{OWN})(?P<name>\w+)'",
        rf"'(?!(?:{NOT_A_MODEL}|{WRAPPER})')(?P<bare>[A-Z]\w+)' object has no attribute 'module'(?!\w)",
    ],
    message="[<wrapper> does not pass on <name>: ask the model inside, at .module][<bare> is not wrapped, so it has no .module]",
    fixes=[
        Fix(
            "Ask the model inside for <name>; it works with and without the wrapper",
            'getattr(model, "module", model).<name>',
            Kind.EDIT,
            proof='getattr(model, "module", model).',
        ),
        Fix(
            "Keep a name for the model before it is wrapped, and use that one for all but forward",
            "bare = model\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix("With accelerate", "accelerator.unwrap_model(model)", Kind.EDIT),
        Fix(
            "Where several GPUs are not wanted at all, show the program one",
            "CUDA_VISIBLE_DEVICES=0 python train.py",
        ),
    ],
)
UNWRAPPED = Fix(
    "Ask the model inside, wrapped or not",
    'getattr(model, "module", model)',
    Kind.EDIT,
    proof='getattr(model, "module", model)',
)
PREPARED = Fix(
    "Ask the model inside",
    "accelerator.unwrap_model(model)",
    Kind.EDIT,
    source="https://huggingface.co/docs/accelerate/package_reference/accelerator",
)
# dir() of both wrappers, and what their constructors set, in torch 2.15
PASSED = frozenset(
    "T_destination add_module apply bfloat16 broadcast_buffers buffers call_super_init children compile cpu cuda double "
    "dump_patches eval extra_repr finalize_backward float forward gather get_buffer get_extra_state get_parameter "
    "get_submodule half ipu join join_device join_hook join_process_group load_state_dict module modules mtia named_buffers "
    "named_children named_modules named_parameters no_sync parallel_apply parameters register_backward_hook register_buffer "
    "register_comm_hook register_forward_hook register_forward_pre_hook register_full_backward_hook "
    "register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module "
    "register_parameter register_state_dict_post_hook register_state_dict_pre_hook replicate "
    "require_manual_backward_finalization requires_grad_ scatter set_extra_state set_submodule share_memory "
    "should_finalize_after_backward state_dict to to_empty to_kwargs train training type will_sync_module_buffers xpu "
    "zero_grad batched_grad_copy broadcast_bucket_size bucket_bytes_cap bucket_bytes_cap_default bucket_bytes_cap_list "
    "buffer_hook device device_ids device_mesh device_type dim find_unused_parameters forward_sync_buffers "
    "gradient_as_bucket_view is_multi_device_module lazy_bucket_allocation logger mixed_precision modules_buffers "
    "named_module_buffers output_device parameters_to_ignore process_group reducer require_backward_grad_sync "
    "require_forward_param_sync skip_all_reduce_unused_params static_graph use_side_stream_for_tensor_copies src_device_obj "
    "hook_".split()
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """An attribute or method that is asked of the wrapper and is the model's; or .module of a model that nobody wraps."""
    yield from _bare(script)
    yield from _of_several_gpus(script)
    yield from _of_prepared(script)
    yield from _of_one_gpu(script)
    given = {
        call.name.split(".")[-2]
        for call in script.methods("__set__")
        if script.thing(call.receiver, "dp", "ddp")
    }
    said = set()
    for call in script.calls if any(True for _ in script.of_kind("dp", "ddp")) else ():
        if call.receiver.known is not Known.THING or "try" in call.contexts:
            continue
        wrapper = script.thing(call.receiver, "dp", "ddp")
        front, _, last = call.name.rpartition(".")
        name = front.rpartition(".")[2] if last == "__get__" else last
        if (
            wrapper is None
            or not wrapper.type.startswith("torch.")
            or name in PASSED
            or name.startswith("_")
            or not name.isidentifier()
            or any(condition.impossible for condition in call.conditions)
        ):
            continue
        made = script.made_by(wrapper)
        if made is not None and not _afterwards(script, made, call):
            continue
        text = call.text if call.text.endswith(f".{name}") else ""
        if not text or name in given or (text, call.scope) in said or "hasattr" in str(call.conditions):
            continue
        said.add((text, call.scope))
        kind = wrapper.type.rpartition(".")[2]
        wrapped = text.removesuffix(f".{name}")
        yield check.found(
            f"`{text}` asks {kind} (line {wrapper.place}) for what only the model inside has: it does not pass {name} on",
            location=call.place,
            fixes=[Fix("Ask the model inside", f"{wrapped}.module.{name}", Kind.EDIT)],
        )


def _afterwards(script: Script, made: Call, call: Call) -> bool:
    """Return whether something surely happens after a model is wrapped; of methods that nobody calls the order is not known."""
    if made.reached and call.reached:
        return True
    if made.scope == call.scope or made.stack[:1] == call.stack[:1]:
        return True
    first = made.stack[:1]
    return any(c.scope.endswith(".__init__") and c.stack[:1] == first for c in script.calls)


def _bare(script: Script) -> Iterator[Finding]:
    """Report the .module of a model that no wrapper holds: an object of the script's own class that has no such part."""
    if script.frameworks or next(script.of_kind("ddp", "dp", "fsdp", "prepared"), None) is not None:
        return
    plain = {
        item.name
        for item in script.classes
        if not item.dynamic and all(a.name != "module" for a in item.attributes)
    }
    for call in script.calls:
        thing = script.thing(call.receiver, "model") if call.name.endswith(".module.__get__") else None
        if (
            thing is None
            or call.receiver.known is not Known.THING
            or "try" in call.contexts
            or not call.reached
        ):
            continue
        if (
            thing.type in plain
            and not thing.escapes
            and not any(c.kind == "if" and not c.by_rank for c in call.conditions)
        ):
            yield check.found(
                f"`{call.text}`: {thing.type.rpartition('::')[2]} has no module, and no wrapper that has one is around it (line {thing.place})",
                location=call.place,
                fixes=[UNWRAPPED],
            )
            return


def _of_one_gpu(script: Script) -> Iterator[Finding]:
    """Report the .module of a model that is wrapped where there are several GPUs alone."""
    for call in script.named("<bare>.module.__get__"):
        wrapper = script.thing(call.receiver, "dp", "ddp")
        made = script.made_by(wrapper) if wrapper is not None else None
        if wrapper is None or made is None or "try" in call.contexts:
            continue
        option = None if _by_device_count(made) else _by_option(made)
        if option is None and not _by_device_count(made):
            continue
        if call.reached == made.reached and not _tells(call, made):
            bare = (
                "with one GPU nothing wraps the model"
                if option is None
                else f"without {option} nothing wraps the model"
            )
            asks = "asks for several" if option is None else "asks for it"
            yield check.found(
                f"`{call.text}`: {bare} (line {wrapper.place} {asks}), and it has no module",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[UNWRAPPED],
            )
            return


def _of_prepared(script: Script) -> Iterator[Finding]:
    """Report what is asked of a model that accelerate wraps where there are several processes, and is the model's own."""
    used = {n for c in script.calls if _only_of_modules(c) for n in c.receiver.things}
    given = {c.name.split(".")[-2] for c in script.calls if c.method == "__set__" and c.receiver.things}
    said = set()
    for call in script.calls:
        wrapper = script.thing(call.receiver, "prepared") if call.receiver.known is Known.THING else None
        if wrapper is None or not wrapper.type.startswith("accelerate."):
            continue
        if not {wrapper.number, wrapper.inner} & used:
            continue
        asked = call.name.removesuffix(".__get__").rpartition(".")[2]
        passed = (
            asked in PASSED or asked in given or asked.startswith("_") or not call.text.endswith(f".{asked}")
        )
        if (
            not passed
            and asked not in said
            and "try" not in call.contexts
            and not any(_tells_wrapped(c) for c in call.conditions)
        ):
            said.add(asked)
            yield check.found(
                f"`{call.text}` asks what accelerator.prepare returned (line {wrapper.place}): with several processes that "
                f"is a DistributedDataParallel, which does not pass {asked} on",
                severity=Severity.WARNING,
                location=call.place,
                fixes=[PREPARED],
            )


def _only_of_modules(call: Call) -> bool:
    """Return whether a call is one of a module's: an optimizer without a schedule has modes to train and to evaluate, too."""
    if call.method in ("eval", "train"):
        return "model" in call.text.lower()
    return call.method in ("__call__", "parameters", "named_parameters")


def _tells_wrapped(condition: Condition) -> bool:
    return condition.kind == "except" or any(
        word in condition.text.lower() for word in ("isinstance", "hasattr", "num_processes", "distributed")
    )


TELLING = (*TELLS_WRAPPED, "cuda", "rank")
"""What a test names that may tell a wrapped model from a bare one."""


def _of_several_gpus(script: Script) -> Iterator[Finding]:
    """Report what is asked of a model that is wrapped under a condition alone, and is the model's own."""
    if any(_unwraps(call) for call in script.calls):
        return  # what is called here may be the model inside
    classes = {item.name: item for item in script.classes}
    for call in script.calls:
        if call.receiver.known is not Known.CHOICE or "try" in call.contexts:
            continue
        if any(condition.impossible for condition in call.conditions):
            continue
        wrapper = script.thing(call.receiver, "dp", "ddp")
        made = script.made_by(wrapper) if wrapper is not None else None
        if wrapper is None or made is None or not wrapper.type.startswith("torch."):
            continue
        item = classes.get(script.innermost(wrapper).type)
        name = call.name.removesuffix(".__get__").rpartition(".")[2]
        if item is not None:
            own = name in item.methods or any(a.name == name for a in item.attributes)
        else:  # a class of another file: what is called without any test is called with two GPUs, too
            plain = _by_device_count(made) or _without_options(made)
            own = call.reached and plain and not call.name.endswith(".__get__")
        own = own and name not in PASSED and not name.startswith("_") and call.text.endswith(f".{name}")
        known = (made.reached and call.reached) or made.stack[:1] == call.stack[:1]
        if own and known and not _tells(call, made):
            yield check.found(
                f"`{call.text}` asks the model, which is wrapped in {wrapper.type.rpartition('.')[2]} in line {wrapper.place} "
                f"where that branch is taken: the wrapper does not pass {name} on",
                severity=Severity.WARNING if item is None and not _by_device_count(made) else None,
                location=call.place,
                fixes=[UNWRAPPED],
            )
            return


def _by_device_count(made: Call) -> bool:
    """Return whether a model is wrapped where there are several GPUs, and nothing else decides it."""
    tests = [condition for condition in made.conditions if condition.kind == "if"]
    tests = [test for test in tests if test.negated or not test.text.endswith("cuda.is_available()")]
    if len(tests) != 1 or tests[0].negated:
        return False
    counted = any(item.known is Known.DEVICE_COUNT for item in tests[0].value.items)
    return "device_count() > 1" in tests[0].text or (counted and tests[0].value.text == "Gt")


def _without_options(made: Call) -> bool:
    """Return whether a model is wrapped where none of the options is given that choose another way: in the last ``else``."""
    tests = [condition for condition in made.conditions if condition.kind == "if" and not condition.early]
    return bool(tests) and all(test.negated and OPTION.fullmatch(test.text) for test in tests)


OPTION = re.compile(r"(?:args|opts?|cfg|config)\.\w+(?: is not None)?")
"""A test by an option of the command line that is off unless it is given."""


def _by_option(made: Call) -> str | None:
    """Return the option, or the test for several processes, under which a model is wrapped; ``None`` for any other."""
    tests = [condition for condition in made.conditions if condition.kind == "if"]
    if len(tests) != 1 or tests[0].negated or tests[0].early:
        return None
    value = tests[0].value
    either = [item.literal for item in value.possible()] if value.known is Known.CHOICE else []
    if sorted(map(str, either)) == ["False", "True"] and SEVERAL.search(tests[0].text):
        return tests[0].text
    sized = any(item.known is Known.WORLD_SIZE for item in value.items) and value.text == "Gt"
    stored = FLAG.fullmatch(tests[0].text) is not None and SEVERAL.search(tests[0].text.rpartition(".")[2])
    return tests[0].text if sized or stored or value.known is Known.ARGUMENT else None


SEVERAL = re.compile(r"dist|ddp|parallel|multi", re.I)
"""How a flag is called that holds where there are several processes."""
FLAG = re.compile(r"(?:args?|opts?|cfg|config|options|params|hparams|self\.\w+)\.\w+")
"""A setting that is kept with others."""


def _tells(call: Call, made: Call) -> bool:
    """Return whether a call stands under a test that tells a wrapped model from a bare one."""
    tests = {condition.text for condition in made.conditions}
    asked = [c for c in call.conditions if c.kind == "if" and c not in made.conditions]
    texts = [
        RANK.sub("", c.text) if c.by_rank else c.text
        for c in asked
        if not (c.by_rank and ONE.fullmatch(c.text))
    ]
    # where nothing is wrapped, and there is one process: ``if not distributed or rank == 0``
    texts = [text for text in texts if not any(text.startswith(f"not {test} or ") for test in tests)]
    return any(text in tests or any(word in text.lower() for word in TELLING) for text in texts)


RANK = re.compile(r"\b(?:\w+\.)*(?:\w*_)?(?:get_)?rank\b(?:\(\))?", re.I)
"""How a test asks for the rank, which says nothing of a wrapper."""
ONE = re.compile(r"(?:\w+\.)*\w+(?:\(\))?")
"""A test by one name alone: ``is_main_process``."""


def _unwraps(call: Call) -> bool:
    """Return whether a call asks if there is a wrapper, or for the model inside of one."""
    texts = [argument.text for argument in call.arguments.values()]
    return call.name in ("hasattr", "getattr", "isinstance") and any(
        word in text for text in texts for word in ("module", "Parallel", "DDP")
    )
