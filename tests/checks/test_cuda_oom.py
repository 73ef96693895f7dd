"""cuda-oom: seen in logs."""

import pytest

from gpudoctor import explain
from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("cuda-oom")
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which "
    "1.19 GiB is free. Including non-PyTorch memory, this process has 77.95 GiB memory in use. Of the allocated memory 70.10 "
    "GiB is allocated by PyTorch, and 600.00 MiB is reserved by PyTorch but unallocated."
)
OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.61 GiB already "
    "allocated; 14.75 MiB free; 9.62 GiB reserved in total by PyTorch)"
)
MESSAGE = "the GPU had no room"
ACCELERATOR = "the accelerator had no room"
NPU = (
    "RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already "
    "allocated; 49.47 GiB current active; 1.32 GiB free; 52.55 GiB reserved in total by PyTorch)"
)
NEW_IN_PIECES = NEW.replace("70.10", "60.10").replace("600.00 MiB", "14.20 GiB")
OLD_IN_PIECES = OLD.replace("9.61", "8.12")
TOO_LARGE_FOR_ANY = NEW.replace("2.00 GiB", "148.00 GiB", 1)
SHARED_GPU = NEW.replace("Including", "Process 4711 has 38.10 GiB memory in use. Including").replace(
    "77.95", "39.60"
)
ONE_EXABYTE = "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory."
CAPPED = (
    "RuntimeError: CUDA out of memory. Tried to allocate 264.00 MiB (GPU 1; 11.17 GiB total capacity; 1.00 GiB allowed; 0.90 "
    "GiB already allocated; 9.58 GiB free; 1.00 GiB reserved in total by PyTorch)"
)
HIP = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB."
ACCELERATOR_ERROR = "[rank1]: torch.AcceleratorError: CUDA error: out of memory"
EXAMPLES = {
    "RuntimeError: CUDA Error: out of memory at csrc/pool.cpp:62": MESSAGE,
    "# 两张卡训练时显存不足": MESSAGE,
    "跑到第三轮就报错out of memory, 是代码的问题吗": MESSAGE,
    "Since the update I get OOM errors although my batch is small": MESSAGE,
    "# With cards 2 and 3 it still says GPU0 OUT OF MEMORY": MESSAGE,
    "OutOfMemoryError                          Traceback (most recent call last)": MESSAGE,
    "# Allocator (GPU_0_bfc) ran out of memory": MESSAGE,
    "InternalError: WhereOp: Could not launch cub::DeviceReduce::Sum to calculate temp_storage_bytes, status: out of memory": MESSAGE,
    "# RuntimeError: cuda runtime error (2)": MESSAGE,
    "torch.OutOfMemoryError: Allocation on device This error means you ran out of memory on your GPU.": MESSAGE,
    NEW: "GPU 3 had no room for 2.00 GiB: 1.19 GiB of 79.15 GiB were free",
    OLD: "GPU 0 had no room for 20.00 MiB: 14.75 MiB of 10.76 GiB were free",
    NEW_IN_PIECES: (
        "GPU 3 had no room for 2.00 GiB: 1.19 GiB of 79.15 GiB were free; 14.2 GiB are reserved by PyTorch, in "
        "pieces that are too small"
    ),
    OLD_IN_PIECES: (
        "GPU 0 had no room for 20.00 MiB: 14.75 MiB of 10.76 GiB were free; 1.5 GiB are reserved by PyTorch, "
        "in pieces that are too small"
    ),
    TOO_LARGE_FOR_ANY: (
        "GPU 3 had no room for 148.00 GiB: 1.19 GiB of 79.15 GiB were free; no such GPU could hold that at "
        "once, so look at the shapes first"
    ),
    SHARED_GPU: (
        "GPU 3 had no room for 2.00 GiB: 1.19 GiB of 79.15 GiB were free, and another process holds 38.1 GiB"
    ),
    ONE_EXABYTE: (
        "an allocation of more than 1 EB was asked for: a size is wrong or negative, and memory is not the "
        "fault"
    ),
    CAPPED: (
        "GPU 1 had no room for 264.00 MiB: 9.58 GiB of 11.17 GiB were free, and this process may take 1.00 GiB"
    ),
    "[rank2]: RuntimeError: CUDA out of memory.": MESSAGE,
    HIP: MESSAGE + " for 256.00 MiB",
    "RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 384.00 KB, max allowed: 18.13 GB).": MESSAGE,
    "torch.OutOfMemoryError: Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit.": MESSAGE,
    "RuntimeError: Allocation on device 0 would exceed allowed memory. (out of memory)": (
        "GPU 0 had no room"
    ),
    "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/torch/lib/THC/generic/THCStorage.cu:58": MESSAGE,
    ACCELERATOR_ERROR: MESSAGE,
    "RuntimeError: Triton Error [CUDA]: out of memory": MESSAGE,
    "THCudaCheck FAIL file=/pytorch/torch/lib/THC/generic/THCStorage.cu line=58 error=2 : out of memory": MESSAGE,
    "failed to allocate 10.50G (11274289152 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory": MESSAGE,
    (
        "[W1120 12:00:01.123 CUDACachingAllocator.cpp:900] Warning: memory allocation failed with OOM on device 1 while trying "
        "to allocate 2097152"
    ): "GPU 1 had no room",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,024 bytes (allocated so far: 512 bytes).": (
        MESSAGE + " for 1,024 bytes"
    ),
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.": (
        ACCELERATOR + " for 8589934592 bytes"
    ),
    "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)": "the XPU had no room",
    NPU: "NPU 3 had no room for 5.03 GiB: 1.32 GiB of 60.96 GiB were free",
    "2: Resource exhausted: Attempting to allocate 12.50M. That was not possible. There are 9.10M free.; (0x0x0_HBM0)": (
        ACCELERATOR + " for 12.50M"
    ),
    "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 196.00M. That was not possible.": (
        ACCELERATOR + " for 196.00M"
    ),
    "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 21.90G of 7.48G hbm.": (
        ACCELERATOR
    ),
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`": MESSAGE,
    "RuntimeError: No executable batch size found, reached zero.": MESSAGE,
    "Error out of memory at line 380 in file /src/csrc/ops.cu": MESSAGE,
    "RuntimeError: after cudaLaunch in triple_chevron_launcher::launch(): out of memory": MESSAGE,
    (
        'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":830, please report '
        "a bug to PyTorch. "
    ): "the GPU had no room",
    (
        "Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated; 2.88 MiB free; 1.25 GiB "
        "reserved in total by PyTorch)"
    ): "GPU 0 had no room for 20.00 MiB: 2.88 MiB of 1.96 GiB were free",
    "RuntimeError: Evaluation hit an out-of-memory error. Lower its batch size.": ("the GPU had no room"),
    "ERROR: Failed to load model - not enough GPU memory. Try less.": ("the GPU had no room"),
    "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (2048).": "the GPU had no room",
    "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model.": "the GPU had no room",
    "hipErrorOutOfMemory: out of memory": "the GPU had no room",
    "My small network gives an Out of Memory as soon as the batch is 48": "the GPU had no room",
    "换成两张卡以后还是显存不足": "the GPU had no room",
}
NOT_THIS = [
    "如果显存不足, 请把 batch_size 改小",
    "RuntimeError                          Traceback (most recent call last)",
    "GPU 0 OOM=0",
    "RuntimeError: cuda runtime error (29) : driver shutting down",
    (
        'NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED at "/pytorch/c10/cuda/PeerToPeerAccess.cpp":83'
    ),
    "RuntimeError: [enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
    "node0:311:377 [1] include/alloc.h:178 NCCL WARN Cuda failure 2 'out of memory'",
    "node0:311:377 [1] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes",
    "NCCL WARN Cuda failure 'CUDA_ERROR_OUT_OF_MEMORY'",
    "Use gradient checkpointing to avoid CUDA out of memory errors",
    "nvmlInit_v2 failed; omitting per-process memory info from CUDA out-of-memory messages.",
    "Runtime error during autotuning:\nCUDA out of memory. Tried to allocate 2.00 GiB.\nIgnoring this choice.",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0.",
]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (NEW, "Take a smaller batch"),
        (OLD, "Take a smaller batch"),
        (NEW_IN_PIECES, "Where much is reserved"),
        (OLD_IN_PIECES, "Where much is reserved"),
        (TOO_LARGE_FOR_ANY, "Print the shapes"),
        (SHARED_GPU, "One GPU per process"),
        (ONE_EXABYTE, "Print the shapes"),
        (CAPPED, "Take a smaller batch"),
        (HIP, "Take a smaller batch"),
        (ACCELERATOR_ERROR, "Take a smaller batch"),
    ],
)
def test_the_numbers_tell_what_helps_first(text, summary):
    assert matches(text, [CHECK])[0].finding.fixes[0].summary.startswith(summary)


@pytest.mark.parametrize(
    "text",
    [
        NPU,
        NPU.replace("52.55", "59.55"),
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm",
        "XPU out of memory.",
    ],
)
def test_a_device_that_is_not_nvidia_s_gets_none_of_cuda_s_tools_and_variables(text):
    fixes = matches(text, [CHECK])[0].finding.fixes
    assert len(fixes) > 2
    assert not any(
        word in fix.command
        for fix in fixes
        for word in ("nvidia-smi", "torch.cuda", "PYTORCH_CUDA_ALLOC_CONF")
    )


def test_amd_s_gpus_have_torch_s_names_and_not_nvidia_s_tools():
    commands = [fix.command for fix in matches(HIP, [CHECK])[0].finding.fixes]
    assert any("expandable_segments" in command for command in commands)
    assert not any("nvidia-smi" in command for command in commands)


def test_until_torch_1_3_the_cache_was_counted_beside_what_is_allocated():
    text = (
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.17 GiB total capacity; 9.10 GiB already "
        "allocated; 16.00 KiB free; 1.50 GiB cached)"
    )
    assert "1.5 GiB are reserved by PyTorch, in pieces" in matches(text, [CHECK])[0].finding.message


@pytest.mark.parametrize(
    ("own", "second"),
    [("70.25 GiB", "from torch.utils.checkpoint"), ("55.50 GiB", "nvidia-smi")],
)
def test_other_processes_are_looked_for_where_this_one_has_not_nearly_all(own, second):
    log = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 2 has a total capacity of 79.15 GiB of "
        f"which 100.00 MiB is free. Including non-PyTorch memory, this process has {own} memory in use. Of the allocated "
        "memory 3.00 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated."
    )
    finding = next(finding for finding in explain(log).findings if finding.id == "cuda-oom")
    assert finding.fixes[1].command.startswith(second)
