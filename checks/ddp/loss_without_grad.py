"""backward() was called on a loss that no parameter leads to.

## What happens

"element 0 of tensors does not require grad and does not have a grad_fn", "One of the differentiated Tensors does not
require grad", or, where the loss is no tensor at all, "'float' object has no attribute 'backward'".

## Why

The chain from the parameters to the loss is broken, or was never recorded:

- Everything is frozen, or what is trained has no part in the loss. An adapter that was loaded for inference is frozen.
- Reentrant activation checkpointing behind a frozen embedding, as with LoRA: no input of the checkpointed blocks
  requires a gradient. torch then also warns "None of the inputs have requires_grad=True".
- The forward pass ran under `torch.no_grad()` or `inference_mode()`.
- `.item()`, `.detach()`, `.numpy()`, `argmax` or a comparison is between the output and the loss.
- A model of transformers returned no loss, because it was given no labels: "'NoneType' object has no attribute
  'backward'" for `outputs.loss`. Or the loss is one of several things that a model returned: "'tuple' object has no
  attribute 'backward'".

## How to tell

Walk back from the loss: `print(loss.requires_grad, output.requires_grad)`. If the output of the model has none, look at
`[n for n, p in model.named_parameters() if p.requires_grad]` and `torch.is_grad_enabled()`; if it has, the chain breaks
between the output and the loss.

## See also

- [Locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation): requires_grad, no_grad, inference mode
- [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html): `use_reentrant`
- [open-unlearning#178](https://github.com/locuslab/open-unlearning/issues/178): LoRA layers that learn nothing under checkpointing without `enable_input_require_grads()`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import FACTORIES, NO_GRADIENTS, Call, Condition, Known, Script, Value

NO_INPUT = "None of the inputs have requires_grad=True"
"""What reentrant checkpointing warned of before."""
REENTRANT = Fix(
    "Checkpoint in the form that needs no such input (transformers: gradient_checkpointing_kwargs)",
    "x = checkpoint(self.block, x, use_reentrant=False)",
    Kind.EDIT,
)
INPUTS = Fix(
    "transformers and PEFT: let the embedding's output require a gradient",
    "model.enable_input_require_grads()",
    Kind.EDIT,
)
TRAINABLE = Fix(
    "See what is trained, and unfreeze it before DDP wraps the model",
    "print([n for n, p in model.named_parameters() if p.requires_grad])\nmodel.head.requires_grad_(True)",
    Kind.EDIT,
    proof="model.head.requires_grad_(True)",
)
RECORDED = Fix(
    "Take output and loss out of the block of no_grad or inference_mode (`torch.enable_grad()` inside does not help against "
    "inference_mode)",
    "loss = criterion(model(x), y)  # not under torch.no_grad() or torch.inference_mode()\nloss.backward()",
    Kind.EDIT,
)
TENSOR = Fix(
    "Keep the loss a tensor; take the number for the log alone",
    "loss = criterion(model(x), y)\nloss.backward()\ntotal += loss.item()",
    Kind.EDIT,
)
PART = Fix(
    "Take the loss out of what the model returned",
    'outputs = model(**batch)\nloss = outputs["loss"] if isinstance(outputs, dict) else outputs[0]\nloss.backward()',
    Kind.EDIT,
)
LABELS = Fix(
    "transformers: the model computes a loss only if it is given labels",
    'loss = model(**batch, labels=batch["input_ids"]).loss',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"element \d+ of (?:tensors|variables) does not require grad and does not have a grad_fn",
        r"One of the differentiated Tensors does not require grad",
        r"there are no graph nodes that require computing gradients",  # until 0.3
        r"'(?P<type>float|int|numpy\.float\d+|tuple|list|dict)' object has no attribute 'backward'",
        # a function of one's own that returns nothing is another fault
        Symptom(
            r"'(?P<type>NoneType)' object has no attribute 'backward'",
            near=r"\.loss\b|\[['\"]loss['\"]\]|transformers[./\\]trainer",
        ),
    ],
    fixes=[TRAINABLE, REENTRANT, INPUTS, RECORDED, TENSOR],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say where the chain breaks, as far as the log shows it."""
    type = sighting.groups.get("type")
    if type is None and NO_INPUT in sighting.around:
        said = "no input of a checkpointed block requires a gradient, so nothing before the loss has one"
        yield check.found(said, fixes=[REENTRANT, INPUTS])
    elif type == "NoneType":
        yield check.found("the loss is None: the model returned none", fixes=[LABELS])
    elif type in ("tuple", "list", "dict"):
        said = f"backward() was called on a {type}: mostly what the model returned, and the loss is one of its parts"
        yield check.found(said, fixes=[PART])
    elif type is not None:
        yield check.found(f"the loss is a {type} and not a tensor, so it has no graph", fixes=[TENSOR])
    else:
        yield check.found("the loss has no graph: no parameter that is trained leads to it")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """backward() under no_grad, or on a tensor that was detached."""
    seen: dict[int, Call | None] = {}
    for call in script.methods("backward"):
        if any(_never(test) for test in call.conditions):
            continue
        cut = _cut_off(script, call.receiver, seen)
        if cut is not None and not call.reached and cut.stack[:1] != call.stack[:1]:
            continue  # an attribute, as another method left it: a subclass may set it anew before this one is called
        if call.name != "torch.Tensor.backward":
            if cut is not None and cut.method in NUMBERS and not call.receiver.items:
                yield check.found(
                    f"`{cut.text}()` in line {cut.place} makes a number of the loss, and a number has no backward",
                    location=call.place,
                    fixes=[TENSOR],
                )
            continue
        source = script.calls[call.receiver.made] if call.receiver.made >= 0 else None
        off = next((name for name in call.contexts if name in NO_GRADIENTS), None)
        on = any(name == "torch.enable_grad" for name in call.contexts)
        frozen = _frozen(script, call)
        if frozen is not None:
            yield check.found(
                f"{frozen.text}(False) froze the whole model, in line {frozen.place}, and nothing takes it back, so no "
                "parameter leads to the loss",
                location=frozen.place,
                fixes=[TRAINABLE],
            )
        elif source is not None and source.method in ("detach", "detach_"):
            yield check.found(
                f"the loss was detached in line {source.place}, so no parameter leads to it",
                location=call.place,
            )
        elif off is not None and not on and source is not None and off in source.contexts:
            if _asks_for_the_mode(call):
                continue
            yield check.found(
                f"the loss is computed under {off}(), which records no graph, so there is nothing to go back through",
                location=call.place,
            )
        elif cut is not None:
            how = "stands under no_grad" if _unrecorded(cut) else "ends the graph"
            yield check.found(
                f"`{cut.text}()` in line {cut.place} {how}, and all of the loss comes from it: no parameter leads to it",
                location=call.place,
                fixes=[RECORDED if _unrecorded(cut) else TENSOR],
            )


MODE = re.compile(r"train|grad|eval|valid|phase|mode|split|test", re.I)
"""What is asked in a function that trains and validates."""


def _asks_for_the_mode(call: Call) -> bool:
    """Return whether a call stands under a test that may not hold where nothing is recorded."""
    return any(
        test.kind == "if" and not test.value.is_literal and MODE.search(test.text) for test in call.conditions
    )


def _never(test: Condition) -> bool:
    """Return whether a test surely does not hold: a function is told ``train=False``, and asks for it."""
    value = test.value
    return (
        test.kind == "if"
        and value.is_literal
        and isinstance(value.literal, bool)
        and value.literal is test.negated
    )


NUMBERS = ("item", "tolist", "numpy")
ENDING = frozenset(
    {*NUMBERS, *"detach detach_ argmax argmin argsort long int bool byte nonzero from_numpy tensor".split()}
)
"""Methods, and functions of torch, whose result no gradient goes back through."""
PLAIN = (Known.LITERAL, Known.ARGUMENT, Known.INDEX, Known.WORLD_SIZE, Known.DEVICE_COUNT)
"""Numbers that are no tensors."""


def _unrecorded(call: Call) -> bool:
    return bool(NO_GRADIENTS & {*call.contexts}) and "torch.enable_grad" not in call.contexts


def _cut_off(script: Script, value: Value, seen: dict[int, Call | None]) -> Call | None:
    """Return the call after which nothing of a tensor has a graph, ``None`` where something may have one."""
    if value.known not in (Known.TENSOR, Known.UNKNOWN):
        return None
    if value.made < 0:
        parts = value.items if value.known is Known.TENSOR and value.text != "+=" else ()
        return _all_cut_off(script, parts, seen)
    if value.made not in seen:
        seen[value.made] = None
        seen[value.made] = _made_cut_off(script, script.calls[value.made], seen)
    return seen[value.made]


def _made_cut_off(script: Script, made: Call, seen: dict[int, Call | None]) -> Call | None:
    """Return what cut off the result of a call, as `_cut_off` does."""
    if made.starred or "requires_grad" in made.arguments or made.method == "requires_grad_":
        return None
    given = [argument.value for argument in made.arguments.values()]
    of_torch = made.name.startswith(("torch.Tensor.", "torch.nn.functional.")) or made.name.count(".") == 1
    if made.name.startswith("torch.") and of_torch:
        if made.method in ENDING or _unrecorded(made):
            return made
        if made.method in JOINING and (gathered := _gathered(script, made)) is not None:
            return gathered
        own = [made.receiver] if made.receiver.known is Known.TENSOR else []
        return _all_cut_off(script, (*own, *given), seen)
    if made.method in NUMBERS and made.name == f".{made.method}" and made.receiver.known is Known.TENSOR:
        return made
    if made.method != "__call__":
        return None
    if _unrecorded(made):
        return made
    return _all_cut_off(script, tuple(given), seen) if script.thing(made.receiver, "loss") else None


JOINING = ("cat", "concat", "stack")


def _gathered(script: Script, joined: Call) -> Call | None:
    """Return the all_gather that filled the list of which one tensor is made, where no entry is this rank's own tensor.

    What it fills has no graph; who learns from all ranks puts his own tensor back: ``parts[rank] = x``.
    """
    parts = next(iter(joined.arguments.values()), None)
    if parts is None or parts.value.known is not Known.SEQUENCE or not parts.text.isidentifier():
        return None
    here = [c for c in script.calls[: joined.number] if c.scope == joined.scope and c.stack == joined.stack]
    if any(c.method in ("__setitem__", "append", "insert") and c.text.startswith(parts.text) for c in here):
        return None
    made = [part.made for part in parts.value.items]
    filled = (c for c in here if c.name == "torch.distributed.all_gather")
    return next((c for c in filled if made and [p.made for p in c.value("tensor_list").items] == made), None)


def _all_cut_off(script: Script, values: tuple[Value, ...], seen: dict[int, Call | None]) -> Call | None:
    """Return what cut one of several values off, where all the others are numbers or the loader's own."""
    first = None
    for value in values:
        if value.known in PLAIN or (value.known is Known.TENSOR and value.made < 0 and not value.items):
            continue
        if _made_up(script, value):
            continue
        cut = _cut_off(script, value, seen)
        if cut is None:
            return None
        first = first or cut
    return first


def _made_up(script: Script, value: Value) -> bool:
    """Return whether a tensor is what one of torch's factories made, here or on a device, and nothing else."""
    made = script.calls[value.made] if value.known is Known.TENSOR and value.made >= 0 else None
    if made is not None and made.name.startswith("torch.Tensor.") and made.method in ("cuda", "to", "long"):
        return _made_up(script, made.receiver)
    return made is not None and made.name in FACTORIES and not made.given("requires_grad")


def _frozen(script: Script, backward: Call) -> Call | None:
    """Return the call that froze all that a loss is computed by, ``None`` where something may be trained."""
    if any(c.name.endswith(".requires_grad.__set__") for c in script.calls):
        return None
    switches = list(script.methods("requires_grad_"))
    off = [c for c in switches if next((a.value.literal for a in c.arguments.values()), True) is False]
    if not off or len(off) != len(switches):
        return None
    forwards = [c for c in script.behind(backward.receiver) if c.method == "__call__"]
    models = {n for c in forwards for n in c.receiver.things if script.things[n].kind != "loss"}
    frozen = {n: c for c in off for n in c.receiver.things}
    return frozen[min(models)] if models and models <= frozen.keys() else None
