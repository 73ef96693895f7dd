"""Some parameters took no part in the loss, and DDP waits for their gradients.

## What happens

The second iteration raises "Expected to have finished reduction in the prior iteration before starting a new one" and
lists the parameter indices that received no gradient. Lightning: "It looks like your LightningModule has parameters
that were not used in producing the loss". The other ranks then wait, and report a time-out or a closed connection.

## Why

DDP sums a gradient over the ranks as soon as it is ready, and an iteration is over when all are. A parameter whose
output does not reach the loss never gets one:

- A layer is defined and not called: an unused head, decoder or pooler, an adapter that is switched off.
- A branch depends on the batch or the step: several tasks, a GAN, an expert without tokens, layer drop.
- An output of `forward` is not used in the loss, is detached, or is hidden from DDP in an object of your own.
- A rank skips `backward`, such as `continue` on a bad batch.
- `static_graph=True`, and the graph changed all the same; the message says so.

## How to tell

`TORCH_DISTRIBUTED_DEBUG=INFO` prints the names of those parameters. Without DDP, after one `backward()`:
`[n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]`. Where the ranks list different
indices, the branch depends on the data.

`gpudoctor lint train.py` finds layers that are defined and never used.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): `find_unused_parameters`, and what it costs
- [DDP: internal design](https://docs.pytorch.org/docs/stable/notes/ddp.html): buckets, and what waits for what
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import LAYERS, Attribute, Call, ModuleClass, Script, class_of

# Below its headline the message names the parameters: their numbers, with TORCH_DISTRIBUTED_DEBUG their names.
HEADLINE = r"Expected to have finished reduction in the prior iteration"
RANK = r"which did not receive grad for rank (?P<rank>\d+): "
NAMES = r"(?P<names>[\w.]+(?:, [\w.]+){0,7})"
INDICES = r"(?P<indices>\d+(?: \d+){0,19})"
SEARCH = Fix(
    "Where static_graph=True is set and the graph changes: take that away, and let DDP search instead",
    "DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=True)",
    Kind.EDIT,
)
UNUSED = "Freeze or remove what is not used, before DDP sees it"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a method uses it that nobody calls here",
    symptoms=[
        Symptom(HEADLINE, near=rf"Parameters which did not receive grad for rank \d+: {NAMES}"),
        Symptom(
            HEADLINE,
            near=rf"Parameter ind(?:ices|exes) which did not receive grad for rank \d+: {INDICES}",
            unless=r"Parameters which did not receive",
        ),
        Symptom(HEADLINE, unless=r"did not receive grad for rank \d"),
        # its second sentence, without the first
        Symptom(
            r"You can enable unused parameter detection by (?:\(1\) )?passing",
            unless=rf"{HEADLINE}|did not receive grad",
        ),
        rf"Parameter ind(?:ices|exes) {RANK}{INDICES}",
        rf"Parameters {RANK}{NAMES}",
        rf"^(?:# )?did not receive grad for rank (?P<rank>\d+)\W{{1,2}}{NAMES}",  # retold
        (
            r"(?P<changed>Your training graph has changed in this iteration), e\.g\., one parameter is unused in first "
            r"iteration"
        ),
        r"(?P<changed>static_graph=True is enabled) for DDP, we expect",
        r"LightningModule has parameters that were not used in producing the loss",
        # mmcv and mmengine, with detect_anomalous_params
        r"(?<![\w.])(?P<names>[\w.]{1,200}) with shape torch\.Size\(\[[\d, ]*\]\) is not in the computational graph",
        # its third sentence
        Symptom(
            r"`?find_unused_parameters=True`? is enabled, this likely {1,2}means that not all",
            unless=rf"{HEADLINE}|did not receive grad",
        ),
    ],
    fixes=[
        Fix(
            UNUSED,
            "model.unused_head.requires_grad_(False)\nmodel = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
            proof=".requires_grad_(False)",
        ),
        Fix("See their names", "TORCH_DISTRIBUTED_DEBUG=INFO torchrun --nproc-per-node=N train.py"),
        Fix(
            "Let a branch that some batches skip take part with 0",
            "loss = loss + 0.0 * sum(p.sum() for p in model.module.branch.parameters())",
            Kind.EDIT,
        ),
        SEARCH,
        Fix(
            "Let DDP search for unused parameters in each iteration, which costs a walk through the graph and hides a layer "
            'that was forgotten (transformers: --ddp_find_unused_parameters True, Lightning: strategy="ddp_find_unused_parameters_true")',
            "DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=True)",
            Kind.MITIGATION,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A graph that was promised to stay as it is has changed: nobody waited for a gradient."""
    if "changed" in sighting.groups:
        yield check.found(
            "static_graph=True promises DDP the same parameters and the same graph in every iteration, and a later one "
            "used others",
            fixes=[SEARCH, *(fix for fix in check.fixes if fix is not SEARCH)],
        )
        return
    groups = sighting.groups
    said = (
        f"DDP waited{' on rank ' + groups['rank'] if 'rank' in groups else ''} for gradients that never came"
    )
    if "indices" in groups:
        said += f", such as those of parameters {groups['indices']}"
    if "names" in groups:
        said += f", such as those of {groups['names']}"
    yield check.found(said)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A layer of a wrapped module that nothing uses, and nothing freezes."""
    for wrapper in script.of_kind("ddp"):
        made = script.made_by(wrapper)
        item = class_of(script, script.innermost(wrapper))
        if (
            made is None
            or wrapper.type.startswith("apex.")
            or item is None
            or item.dynamic
            or "forward" not in item.methods
        ):
            continue
        if any(call.of_class(item.name) and handed_on(call) for call in script.calls):
            continue
        if made.starred or any(
            made.value(name).literal is not False for name in SEARCHING if made.given(name)
        ):
            continue
        for part, attribute in _layers(script, item):
            if idle(script, part, attribute):
                holder = "model" if part is item else "self"
                freeze = f"{holder}.{attribute.name}.requires_grad_(False)  # or remove it"
                elsewhere = attribute.name in part.used
                yield check.found(
                    f"self.{attribute.name} is {'used by no forward' if elsewhere else 'never used'}, and DDP (line {wrapper.place}) waits for its gradients: the second "
                    "step fails",
                    severity=Severity.WARNING if elsewhere else Severity.ERROR,
                    location=attribute.place,
                    fixes=[Fix(UNUSED, freeze, Kind.EDIT, proof=".requires_grad_(False)")],
                )


def _layers(script: Script, item: ModuleClass) -> Iterator[tuple[ModuleClass, Attribute]]:
    """Yield the parts of a module, and of the modules of this script that its forward uses, unless something is frozen."""
    by_name = {one.name: one for one in script.classes}
    frozen = next(script.methods("requires_grad_"), None) is not None
    frozen = frozen or any(call.name.endswith(".requires_grad.__set__") for call in script.calls)
    waiting, seen = [item], {item.name}
    while waiting:
        one = waiting.pop(0)
        for attribute in one.attributes:
            yield one, attribute
            inner = by_name.get(attribute.type)
            if inner is None or frozen or inner.name in seen or attribute.name not in one.used_in_forward:
                continue
            whole = inner.dynamic or "forward" not in inner.methods
            if not whole and not any(c.of_class(inner.name) and handed_on(c) for c in script.calls):
                seen.add(inner.name)
                waiting.append(inner)


def handed_on(call: Call) -> bool:
    """Return whether a method gives its object to a function, which may use any part of it."""
    own = not call.text.startswith("super") and call.name != "super"
    return own and any(argument.text == "self" for argument in call.arguments.values())


SEARCHING = ("find_unused_parameters", "static_graph")


def _by_nobody(script: Script, item: ModuleClass, name: str) -> bool:
    """Return whether a layer stands in methods alone that nobody calls, of a module that is trained here."""
    if not any(True for _ in script.methods("backward")):
        return False
    scopes = {f"{item.own_name}.{method}" for method in item.methods if method not in ("__init__", "forward")}
    used = {c.scope for c in script.calls if c.scope in scopes and c.text.startswith(f"self.{name}")}
    methods = {scope.rpartition(".")[2] for scope in used}
    return bool(methods) and not any(
        c.method in methods
        or (c.text.endswith(f".{name}") and c.scope not in {*scopes, f"{item.own_name}.__init__"})
        for c in script.calls
    )


def idle(script: Script, item: ModuleClass, attribute: Attribute) -> bool:
    """Return whether a layer has parameters, and its name stands nowhere but where it is made."""
    name = attribute.name
    layer = attribute.type.startswith("torch.nn.") and attribute.type.rpartition(".")[2] in LAYERS
    if not layer or sum(a.name == name for a in item.attributes) > 1:
        return False
    if name in item.used:
        return name not in item.used_in_forward and _by_nobody(script, item, name)
    for call in script.calls:
        texts = [call.text, *(argument.text for argument in call.arguments.values())]
        own = call.place.line == attribute.place.line and call.place.path == attribute.place.path
        if not own and any(re.search(rf"\b{name}\b", text) for text in texts):
            return False
    return True
