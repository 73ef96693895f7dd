"""The shapes of the tensors in one operation do not fit together.

## What happens

"mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)", "expected input[8, 1, 28, 28] to have 3 channels, but
got 1 channels instead", "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1", or
"Expected input batch_size (32) to match target batch_size (64)".

## Why

| message | most likely |
| --- | --- |
| mat1 and mat2 (AxB and CxD) | the layer expects C features and gets B: another image size, a flatten that is missing, a pooling that was taken out |
| to have 3 channels, but got 1 | grey images into a model for colour, or channels last instead of first |
| running_mean should contain, normalized_shape, input_size | the same for a norm or an RNN: another width than it was made for |
| size of tensor a must match tensor b | two tensors are added or compared that differ in one dimension: a mask, a position table, a target without `squeeze` |
| batch_size to match target batch_size | `view(-1, …)` mixed batch and features, or DataParallel gathered one of the two |
| shape is invalid for input of size | a fixed size in `view`, and the last batch of an epoch is smaller |

It has nothing to do with the number of GPUs, unless a size was computed from the batch of all of them.

## How to tell

The last line of your own code in the traceback is the operation: print the `.shape` of what goes in, and the layer. If it
comes in the last step of an epoch only, the batch is smaller there.

## See also

- [Linear](https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html): `in_features`
- [Broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html): which sizes fit
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# A size of 0 is a parameter that nobody gathered: zero3-shapes.
SIZE = r"[1-9]\d* ?x ?[1-9]\d*"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"mat\w{{1,2}} and mat\w{{1,2}} shapes cannot be multiplied \((?P<left>{SIZE}) and (?P<right>{SIZE})\)",
        rf"size mismatch, m1: \[(?P<left>{SIZE})\], m2: \[(?P<right>{SIZE})\]",  # until 1.7
        r"size mismatch, got input \(\d+\), mat \((?P<left>\d+x\d+)\), vec \((?P<right>[1-9]\d*)\)",
        r"expected input\[(?P<input>[\d, ]+)\] to have (?P<wanted>\d+) channels, but got (?P<channels>\d+) channels",
        r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<right>[\d, ]+)\] but got: \[(?P<left>[1-9][\d, ]*)\]",
        Symptom(
            r"The size of tensor a \((?P<a>[1-9]\d*)\) must match the size of tensor b \((?P<b>[1-9]\d*)\) at non-singleton "
            r"dimension (?P<dimension>\d+)",
            unless=r"in gather_map|load_state_dict|DataLoader worker",
        ),
        r"(?:running_mean|weight|bias) should contain (?P<got>\d+) elements not (?P<wanted>[1-9]\d*)",
        r"Given normalized_shape=\[[\d, ]+\], expected input with shape \[[\d,* ]+\], but got input of size ?\[(?P<input>[\d, ]+)\]",
        r"input\.size\(-1\) must be equal to input_size\. Expected (?P<wanted>\d+), got (?P<got>\d+)",
        r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size \((?P<b>\d+)\)",
        Symptom(
            r"shape '\[(?P<shape>[\d, -]+)\]' is invalid for input of size (?P<elements>[1-9]\d*)\b",
            unless=r"\[\d+, 28, 28\]|DataLoader worker",
        ),
        r"Target size \(torch\.Size\(\[(?P<left>[\d, ]*)\]\)\) must be the same as input size \(torch\.Size\(\[(?P<right>[\d, ]*)\]\)\)",
        r"was expecting embedding dimension of (?P<wanted>\d+), but got (?P<got>\d+)",
        r"Kernel size can't be greater than actual input size",
        # other operations
        Symptom(
            r"[Ss]izes of tensors must match except in dimension \d+\. (?:Expected size (?P<a>\d+) but got size (?P<b>\d+)|Got (?P<left>\d+) and (?P<right>\d+) in dimension \d+)",
            unless=r"in gather_map|[Cc]ollat|DataLoader worker|torch\.stack\(|[Gg]ather",
        ),
        r"Expected (?P<wanted>\d)-dimensional input for \d-dimensional weight .{0,200}but got (?P<got>\d)-dimensional input",
        r"Expected \dD \((?:un)?batched\)(?: or \dD \(batched\))? input to \w+, but got input of size",
        r"batch1 and batch2 must have same number of batches, got (?P<a>\d+) and (?P<b>\d+)",
        r"einsum\(\): .{0,100}does not broadcast with previously seen size",
        r"output with shape \[(?P<left>[\d, ]*)\] doesn't match the broadcast shape \[(?P<right>[\d, ]*)\]",
        r"Given input size: \([\dx]+\)\. Calculated output size: \([\dx-]+\)\. Output size is too small",
        r"Error: Using a target size \(torch\.Size\(\[(?P<left>[\d, ]*)\]\)\) that is different to the input size \(torch\.Size\(\[(?P<right>[\d, ]*)\]\)\)",
        Symptom(
            r"The expanded size of the tensor \((?P<wanted>[1-9]\d*)\) must match the existing size \((?P<got>[1-9]\d*)\)",
            unless=r"in gather_map|load_state_dict|DataLoader worker",
        ),
        r"The shape of the mask \[(?P<left>[\d, ]*)\] at index \d+ does not match the shape of the indexed tensor \[(?P<right>[\d, ]*)\]",
        r"shape mismatch: (?:value tensor|indexing tensors)? ?.{0,200}(?:cannot|could not) be broadcast",
        r"Expected target size \[?\(?(?P<left>[\d, ]+)\]?\)?, got (?:torch\.Size\(\[)?\[?(?P<right>[\d, ]+)",
    ],
    message="the shapes of one operation do not fit[: <left> and <right>][: <wanted> channels are expected and <channels> came]"
    "[: <wanted> are expected and <got> came][: <a> beside <b>][ in dimension <dimension>][: <elements> elements do not make "
    "<shape>][, with an input of <input>]",
    follows=["zero3-shapes", "dataset-download-race"],
    fixes=[
        Fix(
            "Print the shapes right before the operation",
            "print(x.shape, layer)",
            Kind.EDIT,
        ),
        Fix(
            "Where <channels> came for <wanted> channels: convert the pictures as they are read, or make the "
            "first layer for as many",
            'image = Image.open(path).convert("RGB")  # 3 channels; "L": 1',
            Kind.EDIT,
        ),
        Fix(
            "Make the layer as wide as what comes in, and let torch find that out; before DDP, run a batch through it",
            "self.head = nn.LazyLinear(classes)  # was: nn.Linear(256, classes)",
            Kind.EDIT,
            proof="nn.LazyLinear(",
        ),
        Fix(
            "Flatten all but the batch",
            "x = torch.flatten(x, 1)  # was: x.view(-1, 256)",
            Kind.EDIT,
        ),
        Fix(
            "Leave out the last, smaller batch where a size is fixed",
            "DataLoader(dataset, batch_size=64, drop_last=True)",
            Kind.EDIT,
        ),
    ],
)
