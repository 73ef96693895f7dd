"""A second backward pass went through a graph that the first one had freed.

## What happens

`backward()` raises "Trying to backward through the graph a second time (or directly access saved tensors after they
have already been freed)"; torch before 1.8 says "but the buffers have already been freed". It fails on one GPU too.

## Why

The first `backward()` frees what the forward pass saved. The second one needs it again:

- Two losses share one forward pass, and each has its own `backward()`.
- A value from the step before is used again with its graph: the hidden state of a recurrent network, a running loss, a
  memory bank, `fake` in a GAN.
- Something is computed once, before the loop, from parameters that are trained.

torch's message proposes `retain_graph=True`. Where a value of an earlier step is used again, this keeps the graphs of
all steps in memory, and after an `optimizer.step()` it fails with "modified by an inplace operation". Under DDP the
gradients of a second backward pass over one forward pass are not averaged: the ranks then train different models.

## How to tell

Fails in the first step: two losses, or a value from before the loop. Fails in the second step: a value that was carried
over. `print(value.grad_fn)` for each value that the loop uses and did not compute: it should be None.

## See also

- [Tensor.detach](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html): cuts a tensor off from the graph
- [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html): saved tensors
- [torch issue 47260](https://github.com/pytorch/pytorch/issues/47260): DDP and `retain_graph=True`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import NO_GRADIENTS, Call, Script, Thing

EARLIER = Fix(
    "A value of an earlier step: cut it off from its graph; a sum of losses starts again from 0 after each backward()",
    "hidden = hidden.detach()\noutput, hidden = model(x, hidden)\nloss = loss + criterion(output, y)\n"
    "loss.backward()\nloss = 0.0",
    Kind.EDIT,
)
check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Trying to backward through the graph (?:a )?second time",
        r"Saved intermediate values of the graph are freed when you call \.backward\(\)",
        r"Trying to backward an extra time\. You are only allowed to backward once",  # selective checkpointing
    ],
    message="backward() went through a graph that an earlier backward() had freed: two losses share it, or a value of an "
    "earlier step was used again",
    fixes=[
        Fix(
            "Two losses: add them up, and go backward once",
            "loss = loss_a + loss_b\nloss.backward()",
            Kind.EDIT,
            proof="loss = loss_a + loss_b",
        ),
        EARLIER,
        Fix(
            "GAN: the discriminator's loss must not reach into the generator",
            "loss_d = criterion(D(real), ones) + criterion(D(fake.detach()), zeros)\nloss_d.backward()",
            Kind.EDIT,
        ),
        Fix(
            "Keep the graph, in a script without DDP: costs memory, and under DDP the second gradients are not averaged",
            "loss_a.backward(retain_graph=True)\nloss_b.backward()",
            Kind.MITIGATION,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Two backward passes through one loss or one forward pass, of which the first frees the graph."""
    yield from _carried(script)
    passes: dict[int, Call] = {}
    for call in script.methods("backward"):
        if call.name != "torch.Tensor.backward":
            continue
        for made in _graph(script, call):
            first = passes.setdefault(made.number, call)
            if first is not call and not first.given("retain_graph") and first.place != call.place:
                if not call.reached and first.stack[:1] != call.stack[:1]:
                    continue  # two methods that nobody calls in turn: tests, each with a set-up of its own
                always = call.conditions[: len(first.conditions)] == first.conditions
                if always and first.loops == call.loops:  # whenever the second is made, the first one was
                    yield check.found(
                        f"line {first.place} went back through {made.text}, line {made.place}, already, which frees "
                        "its graph",
                        location=call.place,
                    )
                    break


def _carried(script: Script) -> Iterator[Finding]:
    """Report a state that each pass of a loop computes from the last one's, and goes back through: an RNN's hidden state."""
    for kept in script.named("<carried>"):
        inside = [c for c in script.calls[: kept.number] if c.loops == kept.loops]
        makers = [c for c in inside if c.place.line == kept.place.line and c.method == "__call__"]
        made = makers[-1] if makers else None
        model = made and script.thing(made.receiver, "model", "ddp", "dp", "compiled")
        if made is None or not model or NO_GRADIENTS & {*made.contexts} or _cuts(script, model):
            continue
        for call in inside:
            back = call.name == "torch.Tensor.backward" and not call.given("retain_graph")
            if back and call.number > made.number and any(c is made for c in script.behind(call.receiver)):
                yield check.found(
                    f"{kept.text} comes from the last pass of the loop (line {made.place}), whose graph this freed: detach it "
                    "from there",
                    location=call.place,
                    fixes=[EARLIER],
                )
                return


def _cuts(script: Script, model: Thing) -> bool:
    """Return whether a model may cut what it returns from its past itself: one that is not seen, or that detaches anything."""
    kind = script.innermost(model).type
    if kind.startswith("torch.nn."):
        return False
    own = any(item.name == kind and not item.dynamic for item in script.classes)
    return not own or any(c.of_class(kind) and c.method in ("detach", "detach_") for c in script.calls)


LEAF = re.compile(
    r"(?:requires_grad_|Parameter|(?:tensor|zeros|ones|empty|full|arange|linspace|eye|rand|randn|randint)(?:_like)?)"
)
"""What makes a tensor with no graph behind it: a second pass from there frees nothing that is missing."""


def _graph(script: Script, backward: Call) -> Iterator[Call]:
    """Yield what a loss is computed by and what a second pass would go through again: itself, and forward passes."""
    for number, made in enumerate(script.behind(backward.receiver)):
        forward = (
            made.method == "__call__"
            and not NO_GRADIENTS & {*made.contexts}
            and script.thing(made.receiver, "model", "ddp", "dp", "compiled") is not None
        )
        itself = number == 0 and not LEAF.fullmatch(made.method)
        if made.loops == backward.loops and (itself or forward):
            yield made
