"""Whatever a file holds, reading it gives facts or one clear line, and takes time in proportion to its size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.importers import Imported, Unreadable
from tests.processor_time import within

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
        "| Processes: |\n",
        "| MIG devices: |\n",
        "| 0 0 0 0 | 4MiB / 8MiB | 0 |\n",
        "| 0 N/A N/A 1 C python 4MiB |\n",
        "| N/A 34C P0 62W / 400W | 4MiB / 8MiB | 0% Default |\n",
        "==============NVSMI LOG==============\n",
        "GPU 00000000:18:00.0\n",
        "    Remapped Rows\n",
        "        Pending : Yes\n",
        "    Process ID : 7\n",
        "<nvidia_smi_log>",
        '<gpu id="00000000:3B:00.0">',
        "<ecc_errors><volatile>",
        "<dram_uncorrectable>2</dram_uncorrectable>",
        "</gpu>",
        "</nvidia_smi_log>",
        "&lt;nvidia_smi_log&gt;",
        "<!DOCTYPE a [<!ENTITY b 'c'>]>&b;",
        "\tGPU0\tGPU1\tCPU Affinity\n",
        "GPU0\t X \tNV18\t0-3\n",
        "Link 0: <inactive>\n",
        "Link 0: CRC Errors: 3\n",
        "Unable to determine the device handle for GPU ",
        "0000:0B:00.0: Unknown Error\n",
        "3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20f1]\n",
        "LnkSta: Speed 8GT/s, Width x8\n",
        "Kernel driver in use: nvidia\n",
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x\n",
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n",
        "inet 127.0.0.1/8 scope host lo\n",
        "shm 64M 0 64M 0% /dev/shm\n",
        "total used free shared buff/cache available\n",
        "Mem: 503Gi 1Gi 2Gi 3Gi 4Gi 5Gi\n",
        "max locked memory (kbytes, -l) 64\n",
        "NodeName=a CPUTot=8 RealMemory=9\n",
        "JobId=1 NumNodes=2\n",
        "NCCL INFO NCCL_DEBUG set by environment to INFO\n",
        "Package Version\n",
        "# packages in environment at /x:\n",
        "torch 2.1.0\n",
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


M = 1 << 16
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
    "GPUs": "PyTorch version: 1.0\nOS: x\n" + "".join(f"GPU {n}: x\n" for n in range(12_000)),
    "instances": "OS: x\nGPU models and configuration:\nGPU 0: x\n"
    + "MIG 1g.1 Device 0: (UUID: MIG-a)\n" * 4_000,
    "table rows": "OS: x\nPyTorch version: 1.0\n" + "| 1 N Off | 00000000:07:00.0 Off | 0 |\n" * 4_000,
    "packages": "OS: x\n" + "[pip3] torch==1.0\n" * 6_000 + "[conda] torch 2.0\n" * 6_000,
    "a table's rows": "| NVIDIA-SMI 1 Driver Version: 1.1 |\n"
    + "|   0  A  On  | 00000000:07:00.0 Off |  0 |\n" * 6_000,
    "processes": "| Processes: |\n" + "|    0   N/A  N/A      4411      C   python      3310MiB |\n" * 4_000,
    "a process's name": "| Processes: |\n|    0      4411    C   x" + " x" * M + " |\n",
    "a query": "NVSMI LOG\nGPU 00000000:18:00.0\n" + "    A Section\n        Key : value\n" * 6_000,
    "processes of a query": "NVSMI LOG\nGPU 00000000:18:00.0\n" + "Process ID : 7\nName : x\n" * 6_000,
    "tags of XML": "<nvidia_smi_log>" + "<a>" * M,
    "GPUs in XML": "<nvidia_smi_log>" + '<gpu id="00000000:3B:00.0"><uuid>x</uuid></gpu>' * 4_000,
    "escaped XML": "&lt;nvidia_smi_log&gt;" + "&lt;gpu&gt;" * (M // 4),
    "a matrix": "GPU0 GPU1 CPU\n" + "GPU0 X NV18\n" * 12_000,
    "a wide matrix": " ".join(f"GPU{n}" for n in range(400)) + "\n" + ("GPU0 " + "X " * 400 + "\n") * 400,
    "links": "GPU 0: x\n" + "Link 0: 25 GB/s\nLink 0: CRC Errors: 3\n" * 6_000,
    "devices": "".join(
        f"{n // 256:02x}:{n % 256:02x}.0 3D controller: NVIDIA Corporation x\n" for n in range(4_000)
    ),
    "Xids": "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x\n" * 5_000,
    "an Xid's rest": "NVRM: Xid (PCI:0000:3b:00): 79, " + "name=" * M,
    "interfaces": "1: lo: <LOOPBACK,UP> mtu 1\n" + "inet 1.2.3.4/8 x\n" * 12_000,
    "variables": "A=b\n" * M,
    "a variable": "NCCL_A=" + "python " * M,
    "rows of a list": "Package Version\n" + "torch 2.1.0\n" * 12_000,
    "blanks in a list": "Package Version\ntorch" + " " * (4 * M) + "2.1.0\n",
    "sizes": "x" * 200 + " " * M + "/dev/shm\n",
    "limits": ("max locked memory" + " " * 150 + "-l 64\n") * 2_500,
    "one line": "PyTorch version: 1.0\nOS: " + "(x86_64) " * (M // 4),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_text_takes_time_in_proportion(text, read_text):
    with within(0.6):  # a quarter of a megabyte takes a quarter of a second at most, and more in proportion
        outcome(read_text, text)


JUNK = ["\n", "x\n", "| x |\n", "GPU 0: x\n", " NVRM: x\n", "A=b\n", "0123456789abcdef " * 6 + "\n"]


@pytest.mark.parametrize("junk", JUNK)
def test_forty_thousand_lines_of_junk_take_half_a_second(junk, read_text):
    with within(0.75):
        outcome(read_text, "NVIDIA\n" + junk * 40_000)


def test_more_lines_than_are_read_take_no_longer_than_those(read_text):
    with within(3):
        outcome(read_text, "NVIDIA\n" + "GPU 0: x\n" * 600_000)
