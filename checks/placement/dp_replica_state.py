"""State that forward keeps is lost or does not fit in DataParallel's replicas.

## What happens

"Expected hidden[0] size (1, 16, 128), got (1, 32, 128)" in a replica: a hidden state was made for the whole batch and
meets a part of it. Often there is no message: `self.step += 1` in `forward` stays at its first value, a cache stays
empty. torch says "RNN module weights are not part of single contiguous chunk of memory", which is harmless.

## Why

DataParallel makes new copies of the module for every forward and throws them away. What `forward` stores on `self` is
stored on a copy. Only changes of a buffer in place on the first GPU reach the module itself. A tensor that is a plain
attribute is the same one in all replicas: it has the whole batch's size, and it is on one GPU (`device-mismatch`).

## How to tell

Look for assignments to `self.…` in `forward`, and for states that are made outside of it with `batch_size`. The same
code works on one GPU and under DistributedDataParallel, which makes no copies.

`gpudoctor lint train.py` finds what `forward` keeps in `self`, and states that `__init__` makes.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): its warnings
- [FAQ: recurrent networks](https://docs.pytorch.org/docs/stable/notes/faq.html#my-recurrent-network-doesn-t-work-with-data-parallelism): each replica gets a part of the batch
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import ModuleClass, Script, wrapped_classes

STATE_IN_FORWARD = Fix(
    "Make states in forward, from the input that this replica got",
    "hidden = x.new_zeros(layers, x.size(0), width)  # batch_first; was: self.hidden",
    Kind.EDIT,
    proof="hidden = x.new_zeros(",
)
STATE_RETURNED = Fix(
    "Return a new state from forward, and keep it outside",
    "out, state = model(x, state)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for weights in pieces, a warning for a script that keeps something",
    symptoms=[
        Symptom(
            r"Expected hidden(?:\[\d\])? size \((?P<wanted>[\d, ]+)\), got [\[(](?P<got>[\d, ]+)[\])]",
            near=r"in replica (?P<replica>\d+) on device \d+",
        ),
        Symptom(
            r"RNN module weights are not part of single contiguous chunk of memory",
            near=r"DataParallel|data_parallel|parallel_apply|in replica \d+ on device \d+",
        ),
    ],
    fixes=[
        Fix(
            "One process per GPU, here 2, with DistributedDataParallel instead of DataParallel",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
        STATE_IN_FORWARD,
        STATE_RETURNED,
        Fix(
            "Count in a buffer, in place; the first GPU's replica keeps it",
            'self.register_buffer("step", torch.zeros(1))\n\nself.step += 1  # in forward',
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """An attribute that forward writes and somebody reads later, in a module that DataParallel copies."""
    buffers = {
        call.value("name").literal or call.value("0").literal for call in script.methods("register_buffer")
    }
    for item in wrapped_classes(script, "dp"):
        yield from whole(item)
        elsewhere = item.used - item.used_in_forward
        for attribute in item.written_in_forward:
            name = attribute.name
            if name not in buffers and (attribute.kept or name in elsewhere):
                yield check.found(
                    f"forward keeps something in self.{name}, and DataParallel runs it on copies that are thrown away: what was "
                    "kept is lost",
                    severity=Severity.WARNING,
                    location=attribute.place,
                )


STATE = re.compile(r"^(hidden|state|memory|carry|h_?0|c_?0|h_?n|hx|cx)\w*$")
MAKERS = tuple(f"torch.{name}" for name in ("zeros", "ones", "randn", "rand", "empty", "full"))


def whole(item: ModuleClass) -> Iterator[Finding]:
    """Report a recurrent state that ``__init__`` makes: replicas get a part of the batch, and all of the state."""
    for attribute in item.attributes:
        if (
            attribute.type in MAKERS
            and STATE.match(attribute.name)
            and attribute.name in item.used_in_forward
        ):
            yield check.found(
                f"self.{attribute.name} is made once for the whole batch, and each of DataParallel's replicas gets a part of the "
                "batch: the sizes do not fit",
                severity=Severity.WARNING,
                location=attribute.place,
                fixes=[STATE_IN_FORWARD, STATE_RETURNED],
            )


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A state of the wrong size ends the run; weights in pieces only cost memory."""
    groups = sighting.groups
    if "got" in groups:
        yield check.found(
            f"replica {groups['replica']} got a hidden state of size ({groups['got']}) and needs ({groups['wanted']}): "
            "it was not made for the replica's part of the batch"
        )
    else:
        yield check.found(
            "the replicas' RNN weights lie in pieces; harmless, it costs memory: self.rnn.flatten_parameters() in forward",
            severity=Severity.NOTE,
        )
