"""dataset-download-race: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

EXAMPLES = [
    "[rank1]: RuntimeError: File not found or corrupted.",
    (
        "Downloading http://data.example.org/a.gz to ./data/MNIST/raw/a.gz\n"
        "Downloading http://data.example.org/a.gz to ./data/MNIST/raw/a.gz\nRuntimeError: File not found or corrupted."
    ),
    (
        "Downloading https://data.example.org/cifar-10-python.tar.gz to ./data\n100%|##########| 170M/170M\n"
        "RuntimeError: Dataset not found or corrupted. You can use download=True to download it"
    ),
    "[rank3]: FileExistsError: [Errno 17] File exists: './data/MNIST/raw'",
    (
        '[rank1]:   File "/opt/lib/torchvision/datasets/mnist.py", line 188, in download\n'
        "[rank1]: EOFError: Compressed file ended before the end-of-stream marker was reached"
    ),
    (
        '[rank1]:   File "/opt/lib/torchvision/datasets/utils.py", line 300, in extract_archive\n'
        "[rank1]: zipfile.BadZipFile: File is not a zip file"
    ),
    (
        '[rank2]:   File "/opt/lib/torchvision/datasets/mnist.py", line 500, in read\n'
        "[rank2]: RuntimeError: shape '[60000, 28, 28]' is invalid for input of size 9437168"
    ),
    (
        "FileNotFoundError: [Errno 2] Failed to open local file '/cache/csv/0.0.0/2dc66.incomplete/csv-validation.arrow'. "
        "Detail: [errno 2] No such file or directory"
    ),
    "OSError: [Errno 39] Directory not empty: '/cache/csv/0.0.0/2dc66.incomplete' -> '/cache/csv/0.0.0/2dc66'",
    "OSError: [Errno 37] No locks available",
    "OSError: [Errno 116] Stale file handle: '/cache/csv/2dc66.lock'",
    'Downloading http://data/train.gz to ./data/MNIST/raw/train.gz\nDownloading http://data/train.gz to ./data/MNIST/raw/train.gz\n  5%|#   | 491520/9912422 [00:01<00:22]Traceback (most recent call last):\n  File "/home/user/train.py", line 181, in <module>\n    mp.spawn(main,',
]
NOT_THIS = [
    "RuntimeError: Dataset not found or corrupted. You can use download=True to download it",
    "RuntimeError: File not found or corrupted.",
    "FileExistsError: [Errno 17] File exists: './data/MNIST/raw'",
    "[rank0]: FileExistsError: [Errno 17] File exists: '/out/checkpoints'",
    "[rank0]: zipfile.BadZipFile: File is not a zip file",
    "urllib.error.HTTPError: HTTP Error 403: Forbidden",
]


@pytest.mark.parametrize(
    "text, message",
    [
        (EXAMPLES[0], "several ranks download or unpack the data at once: File not found or corrupted"),
        (EXAMPLES[3], "several ranks download or unpack the data at once: File exists (./data/MNIST/raw)"),
    ],
)
def test_says_what_and_where(text, message):
    (seen,) = matches(text, [Registry().check("dataset-download-race")])
    assert seen.finding is not None
    assert seen.finding.message == message
