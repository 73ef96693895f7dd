"""alloc-conf: seen in logs, and in the environment, where it agrees with torch's own parser."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Library, Torch, Variables
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("alloc-conf")

MESSAGE = "PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use"
EXAMPLES = {
    "ValueError: Unrecognized key 'foo' in Accelerator allocator config.": MESSAGE + ", at the option foo",
    "RuntimeError: Unrecognized CachingAllocator option: expandable_segments": (
        MESSAGE + ", at the option expandable_segments"
    ),
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'maybe'": (
        MESSAGE + ", at the value maybe"
    ),
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got ''True''": (
        MESSAGE + ", at the value 'True'"
    ),
    (
        'RuntimeError: i < config_.size() INTERNAL ASSERT FAILED at "/pytorch/c10/core/AllocatorConfig.h":123, please report a '
        "bug to PyTorch. Index out of bounds in ConfigTokenizer"
    ): MESSAGE,
    "ValueError: Expected closing bracket ']' in ConfigTokenizer but reached end of config": MESSAGE,
    "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20": (
        MESSAGE + ", at the option max_split_size_mb"
    ),
    "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)": (
        MESSAGE + ", at the option garbage_collect_threshold"
    ),
    "ValueError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]": (
        MESSAGE + ", at the option per_process_memory_fraction"
    ),
    "RuntimeError: Error, expecting max_split_size_mb value": MESSAGE + ", at the option max_split_size_mb",
    "RuntimeError: Error parsing CachingAllocator settings, expected :": MESSAGE,
    "RuntimeError: Expected a single True/False argument for expandable_segments": (
        MESSAGE + ", at the option expandable_segments"
    ),
    "RuntimeError: For roundups, the divisons has to be power of 2 ": MESSAGE,
    "ValueError: Unknown allocator backend, options are native and cudaMallocAsync": MESSAGE,
    "RuntimeError: Allocator backend parsed at runtime != allocator backend parsed at load time, native != cudaMallocAsync": MESSAGE,
    "RuntimeError: backend:cudaMallocAsync requires CUDA runtime 11.4 or newer, but cudaDriverGetVersion returned 11000": (
        MESSAGE + ", at the option backend:cudaMallocAsync"
    ),
    "ValueError: Number of register threads has to be power of 2, got 3": MESSAGE,
    '  File "/opt/lib/torch/cuda/__init__.py", line 319, in _lazy_init\n    torch._C._cuda_init()\nValueError: stoull': (
        MESSAGE + ", at the value stoull"
    ),
    (
        "RuntimeError: Tensors allocated with expandable_segments:True cannot be shared between processes. Consider using "
        "expandable_segments:False in data loading workers"
    ): MESSAGE + ", at the option expandable_segments",
    "RuntimeError: Cannot share an expandable_segments allocation: IPC handles are disabled.": (
        MESSAGE + ", at the option expandable_segments"
    ),
    (
        "RuntimeError: The kernel on this machine does not support the pidfd_open syscall needed to use IPC for CUDA tensors "
        "when expandable_segments:True is set."
    ): MESSAGE + ", at the option expandable_segments",
    "RuntimeError: cudaMallocAsync does not yet support shareIpcHandle. If you need it, please file an issue": (
        MESSAGE + ", at the option cudaMallocAsync"
    ),
}
NOT_THIS = [
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. If reserved but unallocated memory is large "
        "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    ),
    "UserWarning: expandable_segments not supported on this platform (Triggered internally at ../c10/cuda/CUDAAllocatorConfig.h:28.)",
    "Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
    "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
    "ValueError: stoull",
]

OPTIONS = [
    "backend", "expandable_segments", "garbage_collection_threshold", "large_segment_size_mb",
    "max_non_split_rounding_mb", "max_split_size_mb", "per_process_memory_fraction", "pinned_num_register_threads",
    "pinned_use_background_threads", "pinned_use_cuda_host_register", "release_lock_on_cudamalloc",
    "roundup_power2_divisions", "throw_on_cudamalloc_oom",
]  # fmt: skip
TORCH = Library(path="/venv/torch/lib/libtorch_cpu.so", names=["TORCH_DISTRIBUTED_DEBUG"])
KNOWN = Variables(libraries=[TORCH], allocator_options=OPTIONS)
ONE = Gpus(devices=[Gpu(index=0)])
FITS = [
    "expandable_segments:True", "expandable_segments: True , max_split_size_mb:128", "expandable_segments:True,",
    "garbage_collection_threshold:0.6,max_split_size_mb:128", "roundup_power2_divisions:[256:1,512:2,>:4]",
    "roundup_power2_divisions:4", "backend:native", "max_split_size_mb:128MB", "max_split_size_mb:20",
    "per_process_memory_fraction:0.5", "per_process_memory_fraction:1", "release_lock_on_cudamalloc:True",
    "pinned_num_register_threads:8,pinned_use_cuda_host_register:True", "throw_on_cudamalloc_oom:False",
]  # fmt: skip
REFUSED = [
    "foo:1", "expandable_segment:True", "expandable_segments:true", "expandable_segments:1", "expandable_segments=True",
    "expandable_segments", "max_split_size_mb:", "max_split_size_mb:10", "max_split_size_mb:many",
    "max_non_split_rounding_mb:10", "large_segment_size_mb:10", "garbage_collection_threshold:1.5",
    "garbage_collection_threshold:0", "garbage_collection_threshold:abc", "per_process_memory_fraction:1.2",
    "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1", "backend:foo", "pinned_num_register_threads:3",
    "pinned_num_register_threads:512", '"expandable_segments:True"', "'max_split_size_mb:128'",
    "max_split_size_mb:128;garbage_collection_threshold:0.6", ",max_split_size_mb:128",
]  # fmt: skip


def look(
    known: Variables | None = KNOWN, gpus: Gpus | None = ONE, torch: Torch | None = None, **variables: str
) -> tuple[Result, list[Finding]]:
    facts = {"launch": Launch(variables=variables), "variables": known, "gpus": gpus, "torch": torch}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({n: f for n, f in facts.items() if f is not None}))


@pytest.mark.parametrize("value", FITS)
def test_what_torch_takes(value: str) -> None:
    assert look(PYTORCH_CUDA_ALLOC_CONF=value)[0].status is CheckStatus.PASSED
    assert look()[0].status is CheckStatus.PASSED


@pytest.mark.parametrize("value", REFUSED)
def test_what_torch_refuses(value: str) -> None:
    result, found = look(PYTORCH_ALLOC_CONF=value)
    assert result.status is CheckStatus.FOUND
    assert found[0].severity is Severity.ERROR
    assert found[0].message.startswith(f"PYTORCH_ALLOC_CONF={value}: ")
    commands = [fix.command for fix in found[0].fixes]
    assert "unset PYTORCH_ALLOC_CONF" in commands


def test_torchs_own_parser_agrees(torch_folder: Path) -> None:
    source = (
        "import json, sys, torch\n"
        "def taken(value):\n"
        "    try:\n"
        "        torch._C._accelerator_setAllocatorSettings(value)\n"
        "    except (ValueError, RuntimeError):\n"
        "        return False\n"
        "    return True\n"
        "print(json.dumps([taken(v) for v in json.loads(sys.argv[1])]) if torch.version.cuda else 'none')\n"
    )
    command = [sys.executable, "-c", source, json.dumps([*FITS, *REFUSED])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    if done.stdout.strip() == "none":
        pytest.skip("this torch has no allocator for CUDA")
    taken = json.loads(done.stdout)
    assert [v for v, fine in zip([*FITS, *REFUSED], taken, strict=True) if fine] == FITS


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("expandable_segments=True", "expandable_segments:True"),
        ("expandable_segments:true", "expandable_segments:True"),
        ('"max_split_size_mb:128"', "max_split_size_mb:128"),
        ("max_split_size_mb:128;expandable_segments:1", "max_split_size_mb:128,expandable_segments:True"),
    ],
)
def test_it_is_written_as_torch_reads_it(value: str, written: str) -> None:
    assert (
        look(PYTORCH_CUDA_ALLOC_CONF=value)[1][0].fixes[0].command
        == f"export PYTORCH_CUDA_ALLOC_CONF={written}"
    )
    assert look(PYTORCH_CUDA_ALLOC_CONF=written)[1] == []


def test_it_matters_where_there_is_a_gpu() -> None:
    bad = {"PYTORCH_ALLOC_CONF": "foo:1"}
    assert look(gpus=Gpus(), **bad)[1][0].severity is Severity.WARNING
    assert look(torch=Torch(imported=True, cuda=None), **bad)[1][0].severity is Severity.NOTE


def test_two_names_must_agree() -> None:
    one, other = (
        "expandable_segments:True,max_split_size_mb:64",
        "max_split_size_mb:64, expandable_segments:True",
    )
    assert look(PYTORCH_CUDA_ALLOC_CONF=one, PYTORCH_ALLOC_CONF=other)[1] == []
    _, [finding] = look(PYTORCH_CUDA_ALLOC_CONF=one, PYTORCH_ALLOC_CONF="max_split_size_mb:64")
    assert finding.severity is Severity.WARNING


def test_options_that_are_not_known_are_not_judged() -> None:
    unread = Variables(libraries=[TORCH])
    assert look(unread, PYTORCH_ALLOC_CONF="quite_new:1")[0].status is CheckStatus.UNKNOWN
    assert look(None, PYTORCH_ALLOC_CONF="quite_new:1")[0].status is CheckStatus.UNKNOWN
    assert look(None, PYTORCH_ALLOC_CONF="expandable_segments:true")[0].status is CheckStatus.FOUND
