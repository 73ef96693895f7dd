"""collate-sizes: samples of different sizes in one batch, seen in logs."""

import pytest

from gpudoctor import explain
from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("collate-sizes")
MESSAGE = "the samples of a batch have different sizes, and cannot be put into one tensor"
BELOW = (
    '  File "/venv/torch/utils/data/_utils/fetch.py", line 57, in fetch\n'
    "    return self.collate_fn(data)\n"
    '  File "/venv/torch/utils/data/_utils/collate.py", line 275, in collate_tensor_fn\n'
)
EXAMPLES = {
    "RuntimeError: Trying to resize storage that is not resizable, with num_workers=2": MESSAGE,
    "With batch size 8: tensor to be equal size, but got [3, 40] at entry 0 and [3, 41] at entry 5": "the samples of a batch have different sizes: number 0 of it [3, 40], number 5 [3, 41]",
    "RunTimeError: stack expects each tensor to be equal size. but got [256] at entry 0 and [345] at entry 3": "the samples of a batch have different sizes: number 0 of it [256], number 3 [345]",
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 2.\n"
        'Original Traceback (most recent call last):\n  File "/content/train_util.py", line 1189, in __getitem__\n'
        "RuntimeError: stack expects each tensor to be equal size, but got [4, 18, 14] at entry 0 and [4, 17, 15] at entry 3"
    ): "the samples of a batch have different sizes: number 0 of it [4, 18, 14], number 3 [4, 17, 15]",
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
        f"Original Traceback (most recent call last):\n{BELOW}"
        "RuntimeError: stack expects each tensor to be equal size, but got [5] at entry 0 and [9] at entry 1"
    ): "the samples of a batch have different sizes: number 0 of it [5], number 1 [9]",
    "RuntimeError: stack expects each tensor to be equal size, but got [3, 375, 500] at entry 0 and [1, 375, 500] at entry 7": (
        "the samples of a batch have different sizes: number 0 of it [3, 375, 500], number 7 [1, 375, 500]; only the number of "
        "channels differs"
    ),
    "[rank3]: RuntimeError: stack expects each tensor to be equal size, but got [224, 224] at entry 0 and [3, 224, 224] at entry 29": (
        "the samples of a batch have different sizes: number 0 of it [224, 224], number 29 [3, 224, 224]; one has more "
        "dimensions than the other"
    ),
    "RuntimeError: each element in list of batch should be of equal size": MESSAGE,
    (
        '  File "/venv/torch/utils/data/_utils/collate.py", line 55, in default_collate\n'
        "RuntimeError: invalid argument 0: Sizes of tensors must match except in dimension 0. Got 375 and 500 in dimension 2 at "
        "/pytorch/aten/src/TH/generic/THTensor.cpp:689"
    ): "the samples of a batch have different sizes, 375 and 500",
    (
        '  File "/venv/torch/utils/data/dataloader.py", line 91, in default_collate\n'
        "RuntimeError: inconsistent tensor sizes at /pytorch/torch/lib/TH/generic/THTensorMath.c:2625"
    ): MESSAGE,
    f"{BELOW}RuntimeError: Trying to resize storage that is not resizable": MESSAGE,
    (
        f"{BELOW}ValueError: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
        "dimensions. The detected shape was (2,) + inhomogeneous part."
    ): MESSAGE,
    (
        '  File "/project/data.py", line 31, in my_collate\n'
        "    return torch.from_numpy(np.stack(batch))\n"
        "ValueError: all input arrays must have the same shape"
    ): MESSAGE,
    (
        '  File "/venv/transformers/data/data_collator.py", line 158, in torch_default_data_collator\n'
        "ValueError: expected sequence of length 5 at dim 1 (got 9)"
    ): "the samples of a batch have different sizes, 5 and 9",
    (
        "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' "
        "'truncation=True' to have batched tensors with the same length."
    ): MESSAGE,
    "ValueError: expected sequence of length 31 at dim 1 (got 17)": "the samples of a batch have different sizes, 31 and 17",
}
NOT_THIS = [
    (
        "ValueError: too many dimensions 'str'\n\n"
        "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True'"
    ),
    (
        "Traceback (most recent call last):\n"
        '  File "model.py", line 4, in forward\n'
        "    return torch.stack(outputs)\n"
        "RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1"
    ),
    "RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 3 but got size 4 for tensor number 1 in the list.",
    "ValueError: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions.",
    'File "buffers.py", line 7, in grow\n    x.resize_(90)\nRuntimeError: Trying to resize storage that is not resizable',
    f"{BELOW}TypeError: expected Tensor as element 1 in argument 0, but got NoneType",
]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("5", "9", "pad_sequence"),
        ("3, 8, 8", "3, 9, 8", "Resize((224, 224))"),
        ("1, 5", "2, 5", "pad_sequence"),
    ],
)
def test_the_fix_that_fits_comes_first(first, second, words):
    line = f"RuntimeError: stack expects each tensor to be equal size, but got [{first}] at entry 0 and [{second}] at entry 1"
    assert words in matches(line, [CHECK])[0].finding.fixes[0].command


def test_samples_that_are_dictionaries_are_padded_by_key():
    error = "RuntimeError: stack expects each tensor to be equal size, but got [5] at entry 0 and [9] at entry 1\n"
    keyed = '  File "/venv/torch/utils/data/_utils/collate.py", line 171, in collate\n    key: collate(\n'
    placed = '  File "/venv/torch/utils/data/_utils/collate.py", line 215, in <listcomp>\n    collate(samples, collate_fn_map=m)\n'
    for text, summary in (
        (BELOW + error, "The samples are tensors"),
        (BELOW + placed + error, "The samples are pairs"),
        (BELOW + keyed + error, "The samples are dictionaries"),
    ):
        (finding,) = explain("Traceback (most recent call last):\n" + text).findings
        assert finding.fixes[0].summary.startswith(summary)


def test_the_trainer_of_transformers_is_given_a_collator():
    log = (
        "Traceback (most recent call last):\n"
        '  File "/venv/transformers/data/data_collator.py", line 140, in torch_default_data_collator\n'
        "    batch[k] = torch.stack([f[k] for f in features])\n"
        "RuntimeError: stack expects each tensor to be equal size, but got [7] at entry 0 and [3] at entry 1"
    )
    (finding,) = explain(log).findings
    assert "data_collator=" in finding.fixes[0].command
