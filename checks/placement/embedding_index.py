"""An index points beyond the rows of a table, mostly an embedding.

## What happens

On the CPU: "IndexError: index out of range in self", "index 7 is out of bounds for dimension 0 with size 4". On the
GPU: "Indexing.cu:1146: indexSelectLargeIndex: block: [18,0,0], thread: [5,0,0] Assertion `srcIndex < srcSelectDimSize`
failed.", then "device-side assert triggered" or a cuBLAS error that has nothing to do with cuBLAS.

## Why

- The tokenizer knows more tokens than the model has rows: tokens were added, or it is another model's tokenizer.
- The sequence is longer than the table of positions. transformers warns: "Token indices sequence length is longer than
  the specified maximum sequence length for this model (612 > 512)".
- Padding of -1 or -100, meant for the labels, is passed as input.
- A category that the training data did not have, or ids that count from 1.

## How to tell

Before the lookup: `print(ids.min(), ids.max(), embedding.num_embeddings)`. On the GPU the traceback is late: run the
same batch on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`. Labels out of range are `device-side-assert`.

## See also

- [Embedding](https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html): `num_embeddings` is the number of rows
- [transformers#24698](https://github.com/huggingface/transformers/issues/24698): the assertion, in `F.embedding`
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import ASSERTING_THREAD

LOADING = r"in DataLoader worker process"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # the assertions of device-side-assert are those without an index
        rf"{ASSERTING_THREAD}[`'\"]?(?P<assertion>.{{0,160}}?(?:[Ii]ndex|\bidx|\bind_dim).{{0,160}}?)[`'\"]? failed",
        Symptom(r"index out of range in self", unless=r"\bindex_select\("),
        r"[Tt]ried to access index (?P<index>-?\d+) out of table with (?P<rows>\d+) rows",
        r"[Tt]ried to access index (?P<index>-?\d+) on a tensor of (?P<rows>\d+) elements",
        r"RuntimeError: index out of range at /",
        r"Index \d+ of input takes value (?P<index>-?\d+) which is not in the valid range \[0, (?P<rows>\d+)\)",
        r"Expected idx >= 0 && idx < num_embeddings to be true",
        Symptom(
            r"index (?P<index>-?\d+) is out of bounds for dimension (?P<dimension>\d+) with size (?P<rows>\d+)",
            unless=LOADING,
        ),
        Symptom(r"select\(\): index (?P<index>-?\d+) out of range for tensor of size", unless=LOADING),
        r"Padding_idx must be within num_embeddings",
        r"index out of bounds: (?P<bounds>0 <= \w+ < \d+)(?!.{0,4} failed)",  # torch.compile
        # cut off in the middle
        r"Assertion [`']?(?:-sizes\[i\] <= index|index >= -sizes\[i\]) && index < sizes\[i\](?!.{0,80} failed)",
    ],
    message="an index[ of <index>] lies outside of its table[ of <rows> rows][: <assertion> does not hold][: <bounds> does not hold]",
    fixes=[
        Fix(
            "See how far the ids go, right before the lookup",
            "assert 0 <= ids.min() and ids.max() < embedding.num_embeddings, (ids.min(), ids.max())",
            Kind.EDIT,
        ),
        Fix(
            "Give the model a row for every token of the tokenizer",
            "model.resize_token_embeddings(len(tokenizer))",
            Kind.EDIT,
        ),
        Fix(
            "Cut sequences at the model's longest",
            "tokenizer(text, truncation=True, max_length=model.config.max_position_embeddings)",
            Kind.EDIT,
        ),
        Fix(
            # on the CPU the traceback is true anyway; only a GPU reports by an assertion
            "Let the traceback point at the lookup for which `<assertion>` does not hold",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
    ],
)
