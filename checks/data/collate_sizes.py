"""The samples of a batch have different sizes and cannot be put into one tensor.

## What happens

"stack expects each tensor to be equal size, but got [5] at entry 0 and [9] at entry 1", or "each element in list of batch
should be of equal size", out of `default_collate`; from a worker below "Caught RuntimeError in DataLoader worker process 0",
where it may also be "Trying to resize storage that is not resizable". A tokenizer says "Unable to create tensor, you should
probably activate truncation and/or padding", numpy "inhomogeneous shape".

## Why

A DataLoader makes one tensor of all samples of a batch, and a tensor has one size in each dimension.

| what differs | mostly |
|---|---|
| the length, `[5]` and `[9]` | sentences, sound or time series that nobody padded |
| height or width, `[3, 375, 500]` and `[3, 333, 500]` | images that were not resized; `Resize(224)` sets the shorter side alone |
| the number of channels, `[1, …]` and `[3, …]` | grey images, or images with transparency, among coloured ones |
| the number of dimensions, `[224, 224]` and `[3, 224, 224]` | the same, or a mask and an image in one list |
| the first number, `[1, 5]` and `[2, 5]` | boxes or labels, of which each image has another number |

With a batch size of 1 it does not show, and with shuffling it comes at another step each time.

## How to tell

`for i in range(100): print(i, [getattr(x, "shape", x) for x in dataset[i]])` without the DataLoader prints what the samples
are. With `num_workers=0` the traceback has no worker in it.

## See also

- [Working with collate_fn](https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn): a function of your own that makes batches
- [pad_sequence](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html): tensors of different lengths, filled up to the longest
- [DataCollatorWithPadding](https://huggingface.co/docs/transformers/main_classes/data_collator): DataCollatorWithPadding fills each batch up
- [pytorch#1512](https://github.com/pytorch/pytorch/issues/1512): samples of different sizes
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import A_FRAME

COLLATE = r"[Cc]ollat"
FIRST, SECOND = r"\[(?P<first>[\d, ]*)\]", r"\[(?P<second>[\d, ]*)\]"
STACK = rf"to be equal size[,.]? but got {FIRST} at entry (?P<a>\d+) and {SECOND} at entry (?P<b>\d+)"

PAD = Fix(
    "The samples are tensors, without a label: pad them to the longest one of the batch",
    "def collate(batch):\n"
    "    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)\n\n\n"
    "loader = DataLoader(dataset, batch_size=32, collate_fn=collate)",
    Kind.EDIT,
    proof="collate_fn=",
)
KEYED = Fix(
    "The samples are dictionaries: pad what differs in size to the longest one of the batch",
    "def collate(batch):\n"
    '    rows = torch.nn.utils.rnn.pad_sequence([sample["x"] for sample in batch], batch_first=True)\n'
    '    return torch.utils.data.default_collate([{**sample, "x": row} for sample, row in zip(batch, rows)])\n\n\n'
    "loader = DataLoader(dataset, batch_size=32, collate_fn=collate)",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn",
)
PAIRED = Fix(
    "The samples are pairs of a row and a label: pad the rows to the longest one of the batch",
    "def collate(batch):\n"
    "    rows, labels = zip(*batch)\n"
    "    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor(labels)\n\n\n"
    "loader = DataLoader(dataset, batch_size=32, collate_fn=collate)",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn",
)
BY_PLACE = "collate(samples"
"""The same where samples are tuples or lists: it goes through their places."""
BY_KEY = "key: collate("
"""What torch's collate function has in its traceback where samples are dictionaries (torch/utils/data/_utils/collate.py)."""
TOKENS = Fix(
    "Tokens of transformers: pad when the batch is made, and cut what is too long",
    "tokens = tokenizer(text, truncation=True)\n"
    "loader = DataLoader(dataset, batch_size=32, collate_fn=DataCollatorWithPadding(tokenizer))",
    Kind.EDIT,
)
TRAINER = Fix(
    "The Trainer of transformers: give it a collator that pads, the labels too",
    "trainer = Trainer(model, args, train_dataset=dataset, data_collator=DataCollatorForSeq2Seq(tokenizer))",
    Kind.EDIT,
    source="https://huggingface.co/docs/transformers/main_classes/data_collator",
)
BY_TRAINER = "default_data_collator"
"""What stands in the traceback where the Trainer was given none (transformers/data/data_collator.py)."""
IMAGES = Fix(
    "Images: three channels and both sides of one size; Resize(224) alone keeps the proportions",
    'transforms.Compose([lambda image: image.convert("RGB"), transforms.Resize((224, 224)), transforms.ToTensor()])',
    Kind.EDIT,
)
LISTS = Fix(
    "Where each sample has another number of boxes or labels: keep them in a list",
    "def collate(batch):\n    return tuple(zip(*batch))",
    Kind.EDIT,
)
FIND = Fix(
    "Find the samples that differ from the first one",
    "for i in range(len(dataset)):\n    if dataset[i][0].shape != dataset[0][0].shape:\n        print(i, dataset[i][0].shape)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(STACK, near=rf"{COLLATE}|in DataLoader worker process"),
        Symptom(
            STACK, unless=rf"{COLLATE}|Traceback|, line \d"
        ),  # the line alone: it is hardly ever another stack
        r"each element in list of batch should be of equal size",
        # until torch 1.4, 0.3, 0.1
        Symptom(
            r"[Ss]izes of tensors must match except in dimension \d+\. Got (?P<first>\d+) and (?P<second>\d+) in dimension \d+",
            near=r"in \w*collate|collate_fn\(",
        ),
        Symptom(r"RuntimeError: inconsistent tensor sizes? at ", near=r"in \w*collate|collate_fn\("),
        # into the memory that a worker shares with the main process
        Symptom(r"Trying to resize storage that is not resizable", near=r"in \w*collate|collate_fn\("),
        Symptom(r"Trying to resize storage that is not resizable", unless=A_FRAME),  # the line alone
        # what a collate function of one's own, or a library's, makes its batch with
        Symptom(r"The requested array has an inhomogeneous shape", near=r"in \w*collate|collate_fn\("),
        Symptom(r"all input arrays must have (?:the )?same shape", near=r"in \w*collate|collate_fn\("),
        Symptom(
            r"expected sequence of length (?P<first>\d+) at dim \d+ \(got (?P<second>\d+)\)",
            near=r"in \w*collat|collate_fn\(|_collator\.py",
        ),
        # it says so of any failure; the reason stands above
        Symptom(
            r"Unable to create tensor, you should probably activate truncation and/or padding",
            unless=r"too many dimensions '|[Cc]ould not (?:determine|infer) |must be real number|NoneType|ModuleNotFoundError",
        ),
        Symptom(
            r"expected sequence of length (?P<first>\d+) at dim \d+ \(got (?P<second>\d+)\)", unless=A_FRAME
        ),
    ],
    fixes=[PAD, PAIRED, TOKENS, IMAGES, LISTS, FIND],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what differs, as far as two sizes show it, and give its fix first."""
    seen = sighting.groups
    if "first" not in seen:
        words = "activate truncation" in sighting.line
        yield check.found(
            "the samples of a batch have different sizes, and cannot be put into one tensor",
            fixes=[TOKENS, PAD] if words else None,
        )
        return
    first, second = seen["first"].strip(), seen["second"].strip()
    said = f"the samples of a batch have different sizes, {first or 'none'} and {second or 'none'}"
    if "a" in seen:
        said = f"the samples of a batch have different sizes: number {seen['a']} of it [{first}], number {seen['b']} [{second}]"
    ours, theirs = _sizes(first), _sizes(second)
    pad = (
        TRAINER
        if BY_TRAINER in sighting.around
        else KEYED
        if BY_KEY in sighting.around
        else PAIRED
        if BY_PLACE in sighting.around
        else PAD
    )
    fixes = [pad, TOKENS, FIND]
    if len(ours) >= 3 or len(theirs) >= 3:
        fixes = [IMAGES, FIND, LISTS]
    elif len(ours) == len(theirs) == 2 and ours[1:] == theirs[1:]:
        fixes = [pad, LISTS, FIND]
    if len(ours) == len(theirs) == 3 and ours[1:] == theirs[1:]:
        said += "; only the number of channels differs"
    elif len(ours) != len(theirs):
        said += "; one has more dimensions than the other"
    yield check.found(said, fixes=fixes)


def _sizes(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
