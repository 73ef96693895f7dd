"""A DataLoader was given a sampler and another option that chooses the samples.

## What happens

Constructing the loader raises "sampler option is mutually exclusive with shuffle", "batch_sampler option is mutually
exclusive with batch_size, shuffle, sampler, and drop_last", or, with an IterableDataset, "expected unspecified sampler
option, but got sampler=…". Lightning: "can't inject a (distributed) sampler into your batch sampler".

## Why

The order and the share of the data have one owner. A `DistributedSampler` gives each rank its own share and shuffles
it as well:

- The sampler was added and `shuffle=True` was left in.
- A batch sampler makes whole batches, so it takes the place of `batch_size`, `sampler` and `drop_last` too.
- An IterableDataset yields in its own order: no sampler can choose. It must split itself over the ranks.

## How to tell

The last line of your own code in the traceback is the call of DataLoader, or of the helper that passes options on.

## See also

- [DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): it shuffles itself, by `shuffle` and `set_epoch`
- [Data loading order and Sampler](https://docs.pytorch.org/docs/stable/data.html#data-loading-order-and-sampler): `shuffle` makes a sampler of its own
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<option>batch_sampler|sampler) (?:option )?is mutually exclusive with (?P<options>shuffle|batch_size, shuffle[\w, ]*\w)",
        r"DataLoader with IterableDataset: expected unspecified (?P<iterable>shuffle|sampler|batch_sampler) option",
        r"can't inject a \(distributed\) sampler into your batch sampler",
    ],
    message="the loader was told twice which samples to take[: <option> and <options>]"
    "[: <iterable> and the order of an IterableDataset]",
    fixes=[
        Fix(
            "An iterable dataset takes no <iterable>: without one, each rank passes over the samples of the others",
            "def __iter__(self):\n"
            "    yield from itertools.islice(self.samples(), dist.get_rank(), None, dist.get_world_size())",
            Kind.EDIT,
        ),
        Fix(
            "Let the sampler shuffle, in another order in each epoch",
            "sampler = DistributedSampler(dataset, shuffle=True)\n"
            "loader = DataLoader(dataset, batch_size=32, sampler=sampler)\n"
            "for epoch in range(epochs):\n    sampler.set_epoch(epoch)",
            Kind.EDIT,
            proof="sampler=sampler)",
        ),
        Fix(
            "In a script that also runs on one GPU",
            "loader = DataLoader(dataset, batch_size=32, sampler=sampler, shuffle=sampler is None)",
            Kind.EDIT,
        ),
        Fix(
            "Split an iterable dataset over the ranks itself",
            "dataset = datasets.distributed.split_dataset_by_node(dataset, rank=rank, world_size=world_size)\n"
            "loader = DataLoader(dataset, batch_size=32)",
            Kind.EDIT,
        ),
        Fix(
            "In Lightning, with a batch sampler of your own that already splits the data",
            "trainer = Trainer(use_distributed_sampler=False)",
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loader that is given a sampler and is to shuffle, too."""
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        if made is None or loader.type != "torch.utils.data.DataLoader":
            continue
        shuffles = made.value("shuffle").literal is True
        for option in ("sampler", "batch_sampler") if shuffles else ():
            if script.thing(made.value(option), "sampler") is not None:
                yield check.found(
                    f"{option}={made.arguments[option].text} and shuffle=True: the loader refuses two orders at once",
                    location=made.place,
                )
        if not shuffles and _of_two_sizes(script, made):
            yield check.found(
                f"batch_sampler={made.arguments['batch_sampler'].text} makes the batches, and the loader refuses a batch_size "
                "beside it; one that gives single samples is a sampler=",
                location=made.place,
            )


def _of_two_sizes(script: Script, made: Call) -> bool:
    """Return whether a loader is given a batch sampler, and a size of batches other than 1, which torch refuses."""
    size, given = made.arguments.get("batch_size"), made.arguments.get("batch_sampler")
    if size is None or given is None or script.thing(given.value, "sampler") is None:
        return False
    spread = size.text.endswith("]") or given.text.endswith("]")  # a dictionary may hold either of them
    sure = given.value.known is not Known.CHOICE and size.value.known is not Known.CHOICE
    return sure and not spread and size.value.literal != 1 and not size.value.is_none
