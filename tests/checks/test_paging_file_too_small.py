"""paging-file-too-small: Windows refuses to promise more memory."""

import pytest

from gpudoctor import explain

REFUSED = "Windows refused memory, since all that it may promise, memory and paging file, is promised already"
EXAMPLES = {
    'OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading "D:\\venv\\lib\\'
    'site-packages\\torch\\lib\\cublasLt64_12.dll" or one of its dependencies.': (
        f"{REFUSED}; a library of torch only happened to be next: [WinError 1455]"
    ),
    "OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuführen": REFUSED,
    "safetensors_rust.SafetensorError: Error while deserializing header: The paging file is too small for this operation "
    "to complete. (os error 1455)": REFUSED,
    "RuntimeError: Couldn't open shared file mapping: <torch_4711_815_0>, error code: <1455>": (
        f"{REFUSED}; a worker could not hand over a batch: Couldn't open shared file mapping: <torch_4711_815_0>, error code: <1455>"
    ),
    "ImportError: DLL load failed while importing _C: The paging file is too small for this operation to complete.": REFUSED,
}
NOT_THIS = [
    "RuntimeError: Couldn't open shared file mapping: <torch_4711_815_0>, error code: <2>",
    'OSError: [WinError 126] The specified module could not be found. Error loading "D:\\v\\lib\\site-packages\\torch\\lib\\shm.dll"',
    "step 1455 loss 0.31",
]
"""A worker of a DataLoader that could not import torch; the process that waited for it says more, and later."""
WORKER = r"""Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "D:\py\lib\multiprocessing\spawn.py", line 116, in spawn_main
    exitcode = _main(fd, parent_sentinel)
  File "D:\py\lib\multiprocessing\spawn.py", line 125, in _main
    prepare(preparation_data)
  File "D:\work\train.py", line 3, in <module>
    import torch
  File "D:\py\lib\site-packages\torch\__init__.py", line 148, in <module>
    raise err
OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading "D:\py\lib\site-packages\torch\lib\cudnn_ops64_9.dll" or one of its dependencies.
"""
PARENT = r"""Traceback (most recent call last):
  File "D:\work\train.py", line 40, in <module>
    for x, y in loader:
  File "D:\py\lib\site-packages\torch\utils\data\dataloader.py", line 1040, in __init__
    w.start()
  File "D:\py\lib\multiprocessing\reduction.py", line 60, in dump
    ForkingPickler(file, protocol).dump(obj)
BrokenPipeError: [Errno 32] Broken pipe
"""


@pytest.mark.parametrize("text", [WORKER + PARENT, PARENT + WORKER])
def test_the_worker_tells_why_and_not_who_waited_for_it(text, tmp_path):
    (tmp_path / "train.log").write_text(text)
    report = explain(tmp_path / "train.log")
    assert report.verdict.primary == "paging-file-too-small"
