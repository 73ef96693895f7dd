"""The first fixes fit what the message says, where one check knows several mistakes."""

import pytest

from gpudoctor import explain

HUB = 'Traceback (most recent call last):\n  File "/venv/lib/python3.11/site-packages/{}", line 2, in load\n    f()\n'
REFUSED = "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>"

DEEPSPEED = "[2026-10-04 08:00:00,100] [INFO] [runner.py:600:main] cmd = python -u -m deepspeed.launcher.launch fit.py\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RuntimeError: expected target dtype to be Long or Byte, but got Float", "target.long()"),
        ("RuntimeError: expected scalar type Long but found Float", "target.long()"),
        ("RuntimeError: expected scalar type Half but found Float", "next(model.parameters()).dtype"),
        (
            "AssertionError: daemonic processes are not allowed to have children",
            "DataLoader(dataset, num_workers=0)",
        ),
        ("RuntimeError: context has already been set", "get_context"),
        ("RuntimeError: step() has already been called since the last update().", "scaler.update()"),
        (
            "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
            "with torch.no_grad():",
        ),
        ("fit.py: error: the following arguments are required: --local_rank", "parser.add_argument("),
        ("fit.py: error: unrecognized arguments: --local-rank=1", "torchrun "),
        (DEEPSPEED + "fit.py: error: unrecognized arguments: --local_rank=1", "parser.add_argument("),
        ("ValueError: Invalid rank 2, rank should be in the interval [0, 1]", "DistributedSampler(dataset)"),
        (HUB.format("torch/hub.py") + REFUSED, "TORCH_HOME=/shared/FOLDER"),
        (HUB.format("huggingface_hub/file_download.py") + REFUSED, "HF_HOME=/shared/FOLDER"),
    ],
)
def test_the_first_fix_fits_what_the_message_says(text, words):
    assert words in explain(text).findings[0].fixes[0].command


def test_channels_that_do_not_fit_are_a_matter_of_the_pictures():
    text = "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[2, 1, 64, 64] to have 3 channels, but got 1 channels instead"
    assert 'convert("RGB")' in explain(text).findings[0].fixes[1].command


def test_of_a_copy_the_file_that_is_written_lies_on_the_full_disk():
    text = "OSError: [Errno 28] No space left on device: 'last.pth' -> 'out/best.pth'"
    assert "under out/best.pth is full" in explain(text).findings[0].message
