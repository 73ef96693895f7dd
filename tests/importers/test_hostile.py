"""Whatever a file holds, reading it gives facts or one clear line, and takes time in proportion to its size."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.importers import Imported, Unreadable

PARTS = st.sampled_from(
    [
        "PyTorch version: ",
        "2.5.1+cu124",
        "N/A",
        "Could not collect",
        "\n",
        " ",
        "\t",
        ":",
        "> ",
        "\r\n",
        "\x1b[31m",
        "Is debug build: ",
        "Is CUDA available: True\n",
        "CUDA used to build PyTorch: 12.1\n",
        "OS: ",
        "\x1b",
        "\x1b]",
        "GPU models and configuration:",
        "GPU 0: ",
        "GPU 99999: ",
        "  MIG 1g.5gb Device 0: (UUID: MIG-1)\n",
        "```json\n",
        "Nvidia driver version: 550.54.15\n",
        "[pip3] ",
        "[conda] ",
        "torch==",
        "pytorch  1.0  py\n",
        "[rank0]: ",
        "Traceback (most recent call last):\n",
        "import torch\n",
        "ImportError: torch\n",
        "collect_env",
        "&lt;details&gt;",
        "/torch/cuda/__init__.py:1: UserWarning: ",
        "sm_86 is not compatible",
        " with CUDA capability ",
        "<br>",
        "**",
        "| NVIDIA-SMI 1 Driver Version: 550.54.15 CUDA Version: 12.4 |\n",
        "|  0  NVIDIA A  On | 00000000:01:00.0 Off | 0 |\n",
        "| 1 | 4MiB / 8MiB | 0 |\n",
        "Failed to initialize NVML: ",
        "CUDA_VISIBLE_DEVICES=",
        "0,1",
        "MIG-",
        "NCCL_DEBUG=INFO\n",
        "Caching allocator config: {'A_B': 'c'}\n",
        "CPU(s): 8\n",
        "CPU:\n",
        "Name=",
        "Apple M1\n",
        "\xb2",
        "\u0663",
        "\uff1a",
        "x" * 80,
        '{"schema": "gpudoctor.report/1"',
        '{"schema":"gpudoctor.report/',
        '"facts": {"torch": {}}',
        "}",
        "{",
        "\x00",
        "\ud800",
    ]
)


def outcome(read_text, data):
    try:
        imported = read_text(data)
    except Unreadable as error:
        line = str(error)
    else:
        assert isinstance(imported, Imported)
        assert imported.snapshot.facts or imported.report is not None
        return
    assert line.isprintable()
    assert len(line) < 1000


@settings(deadline=None, max_examples=150)
@given(data=st.binary(max_size=2000))
def test_any_bytes(data, read_text):
    outcome(read_text, data)


@settings(deadline=None, max_examples=150)
@given(text=st.text(max_size=2000))
def test_any_text(text, read_text):
    outcome(read_text, text)


@settings(deadline=None, max_examples=400)
@given(parts=st.lists(PARTS, max_size=60))
def test_any_order_of_what_such_texts_are_made_of(parts, read_text):
    outcome(read_text, "".join(parts))


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(["torch_2019", "torch_2024", "vllm_2025", "torch_2026_rocm"]),
    cuts=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 60), st.one_of(PARTS, st.text(max_size=9))), max_size=8
    ),
)
def test_a_text_that_was_changed_at_random(name, cuts, load, read_text):
    text = load(name)
    for place, length, put in cuts:
        begin = int(place * len(text))
        text = text[:begin] + put + text[begin + length :]
    outcome(read_text, text)


M = 1 << 20
LONG = {
    "quote marks": "> " * (2 * M),
    "blanks": " " * (4 * M) + "x",
    "escapes": "\x1b[" * (2 * M),
    "titles": "\x1b]" * (2 * M),
    "tags": "<p " * M,
    "anchors": "PyTorch version: 1.0\nIs CUDA available: True\n" * (M // 8),
    "reports that are cut off": 'x\n{"schema": "gpudoctor.report/\n' * (M // 8),
    "nested reports": '{"schema":"gpudoctor.report/1","a":\n' * (M // 8),
    "warnings": "PyTorch version: 1.0\nOS: x\n" + "a:1: XWarning:\n" * (M // 4),
    "traceback": "PyTorch version: N/A\nOS: x\nTraceback (most recent call last)\n"
    + "import torch\n" * (M // 4),
    "GPUs on a line": "PyTorch version: 1.0\nGPU models and configuration: " + "GPU 0: " * (M // 2),
    "GPUs": "PyTorch version: 1.0\nOS: x\n" + "".join(f"GPU {n}: x\n" for n in range(200_000)),
    "instances": "OS: x\nGPU models and configuration:\nGPU 0: x\n"
    + "MIG 1g.1 Device 0: (UUID: MIG-a)\n" * 60_000,
    "table rows": "OS: x\nPyTorch version: 1.0\n" + "| 1 N Off | 00000000:07:00.0 Off | 0 |\n" * 60_000,
    "packages": "OS: x\n" + "[pip3] torch==1.0\n" * 100_000 + "[conda] torch 2.0\n" * 100_000,
    "one line": "PyTorch version: 1.0\nOS: " + "(x86_64) " * (M // 4),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_text_takes_time_in_proportion(text, read_text):
    begun = time.process_time()
    outcome(read_text, text)
    assert time.process_time() - begun < 20, "a few megabytes take seconds at most"
