"""gpu-arch-unsupported: seen in logs."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Torch, TorchDevice
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-arch-unsupported")
MESSAGE = "the installed code does not support this GPU"
EXAMPLES = {
    "ValueError: FP8 quantized models is only supported on GPUs with compute capability >= 8.9 (e.g 4090/H100)": MESSAGE
    + "; at least 8.9 is needed",
    "THCudaCheck FAIL file=mmdet/ops/roi_align/src/roi_align_kernel.cu line=139 error=98 :": MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCTensorMath.cu line=35 error=8 : invalid device function": MESSAGE,
    "RuntimeError: cuda runtime error (48)": MESSAGE,
    "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!": MESSAGE,
    "RuntimeError: HIP error: invalid device function": MESSAGE,
    "rocBLAS error: Cannot read /opt/rocm/lib/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1032": MESSAGE
    + " (gfx1032)",
    "RuntimeError: Triton Error [CUDA]: device kernel image is invalid": MESSAGE,
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": MESSAGE,
    "[rank1]: torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device": MESSAGE,
    "RuntimeError: cuda runtime error (48) : no kernel image is available for execution on the device at /pytorch/aten/src/THC/THCTensorCopy.cu:206": MESSAGE,
    "CUDA error (/build/xformers/third_party/flash-attention/csrc/flash_attn/src/flash_fwd_launch_template.h:175): no kernel image is available for execution on the device": MESSAGE,
    "Error no kernel image is available for execution on the device at line 167 in file /src/csrc/ops.cu": MESSAGE,
    "node1:412:530 [0] enqueue.cc:130 NCCL WARN Cuda failure 209 'no kernel image is available for execution on the device'": MESSAGE,
    "Search for `cudaErrorNoKernelImageForDevice' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.": MESSAGE,
    "E0000 00:00:1732 cuda_executor.cc:1228] CUDA_ERROR_NO_BINARY_FOR_GPU": MESSAGE,
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.": (
        MESSAGE + ": NVIDIA GeForce RTX 5090 (sm_120)"
    ),
    "    Found GPU0 Tesla K40m which is of cuda capability 3.5.": (
        MESSAGE + ": Tesla K40m, compute capability 3.5"
    ),
    "    PyTorch no longer supports this GPU because it is too old.": MESSAGE,
    "    The minimum cuda capability supported by this library is 3.7.": (
        MESSAGE + "; at least 3.7 is needed"
    ),
    "    Minimum and Maximum cuda capability supported by this version of PyTorch is": MESSAGE,
    "Found GPU0 NVIDIA GeForce GTX 1080 which is of compute capability (CC) 6.1.": (
        MESSAGE + ": NVIDIA GeForce GTX 1080, compute capability 6.1"
    ),
    "Your installed torch==2.15.0 does not include kernels for this GPU. Reinstall the same version against a CUDA build that does, e.g.:": MESSAGE,
    "No published PyTorch CUDA builds for release 2.15.0 support this GPU. Visit https://pytorch.org/get-started/locally/": MESSAGE,
    "    Found GPU0 GeForce RTX 2080 which requires CUDA_VERSION >= 10000 to": (
        MESSAGE + ": GeForce RTX 2080"
    ),
    "RuntimeError: cuDNN version 91900 is not compatible with devices with SM < 7.5. Please install a version of PyTorch": (
        MESSAGE + "; at least 7.5 is needed"
    ),
    "RuntimeError: CUDA error: device kernel image is invalid": MESSAGE,
    "RuntimeError: cuda runtime error (8) : invalid device function at /tmp/ext/src/roi_align_kernel.cu:113": MESSAGE,
    "RuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH": MESSAGE,
    "ValueError: Unknown CUDA arch (12.0+PTX) or GPU not supported": MESSAGE + " (12.0+PTX)",
    "nvcc fatal   : Unsupported gpu architecture 'compute_120'": MESSAGE + " (compute_120)",
    "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'": MESSAGE + " (sm_121a)",
    "'sm_120' is not a recognized processor for this target (ignoring processor)": MESSAGE + " (sm_120)",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.": MESSAGE,
    "ValueError: FP8 is only supported on GPUs with compute capability of at least 8.9": (
        MESSAGE + "; at least 8.9 is needed"
    ),
    "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the triton GPU compiler, which is used as the backend.": (
        MESSAGE + ": Tesla P100-PCIE-16GB"
    ),
    "ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7": MESSAGE,
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.": MESSAGE,
    "NotImplementedError: requires device with capability > (9, 0) but your GPU has capability (7, 0) (too old)": "the installed code does not support this GPU",
    "torch.cuda.DeferredCudaCallError: CUDA error: no kernel image is available": "the installed code does not support this GPU",
    "CUDARuntimeError: cudaErrorInvalidDeviceFunction: invalid device function": "the installed code does not support this GPU",
}
NOT_THIS = [
    "rocBLAS error: Cannot read /opt/rocm/lib/library/TensileLibrary.dat: No such file or directory",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    "CUDA error: invalid device ordinal",
    "Found GPU0 NVIDIA H100 80GB HBM3, compute capability 9.0, 80 GB",
    "TORCH_CUDA_ARCH_LIST=8.0;9.0 compiling for sm_80 and sm_90",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def torch(*architectures, devices=("9.0",)):
    return Torch(
        imported=True,
        version="2.15.0",
        cuda="13.2",
        arch_list=list(architectures),
        devices=[TorchDevice(ordinal=n, name=f"GPU of {c}", capability=c) for n, c in enumerate(devices)],
    )


@pytest.mark.parametrize(
    ("architectures", "capability"),
    [
        (("sm_80", "sm_86"), "9.0"),
        (("sm_90",), "8.9"),
        (("sm_86",), "8.0"),
        (("sm_90a", "compute_90a"), "10.0"),
        (("sm_90a",), "12.0"),
        (("sm_100f",), "12.0"),
        (("compute_90",), "8.9"),
    ],
)
def test_no_code_for_the_gpu(architectures, capability):
    _, [finding] = run(torch=torch(*architectures, devices=(capability,)))
    assert finding.severity is Severity.ERROR
    assert f"compute capability {capability}" in finding.message


@pytest.mark.parametrize(
    ("architectures", "capability"),
    [
        (("sm_80",), "8.9"),
        (("sm_90a",), "9.0"),
        (("sm_100",), "10.3"),
        (("sm_100f",), "10.3"),
        (("sm_120",), "12.1"),
        (("sm_50", "compute_75"), "9.0"),
    ],
)
def test_code_for_the_gpu(architectures, capability):
    result, found = run(torch=torch(*architectures, devices=(capability,)))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_one_of_several_is_a_warning_and_old_gpus_get_the_wheel_that_has_them():
    _, [finding] = run(torch=torch("sm_75", "sm_80", devices=("8.0", "7.0")))
    assert finding.severity is Severity.WARNING
    assert "whl/cu126" in finding.fixes[0].command


def test_nvml_tells_the_capability_where_torch_does_not():
    _, [finding] = run(
        torch=torch("sm_80", devices=()), gpus=Gpus(devices=[Gpu(index=0, name="T4", capability="7.5")])
    )
    assert finding.message.startswith("T4 has compute capability 7.5")


def test_environment_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    named = Torch(imported=True, version="2.5.1+cu124", cuda="12.4")  # in a ticket, and no GPU beside it
    assert run(torch=named)[0].status is CheckStatus.UNKNOWN
    assert run(torch=named, gpus=Gpus())[0].status is CheckStatus.PASSED
    assert run(torch=torch())[0].status is CheckStatus.UNKNOWN


def test_a_wheel_that_leaves_the_gpu_out_by_its_release():
    """collect_env names the GPUs and the build, and no list of what is in it."""
    gpus = Gpus(devices=[Gpu(index=n, name="NVIDIA GeForce RTX 5090") for n in range(2)])
    torch = Torch(imported=True, version="2.5.1+cu124", cuda="12.4", cuda_available=True)
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, "gpus": gpus}))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "NVIDIA GeForce RTX 5090 has compute capability 12.0, and PyTorch's wheel of 2.5.1"
    )
    newer = Torch(imported=True, version="2.7.1+cu128", cuda="12.8", cuda_available=True)
    assert (
        examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": newer, "gpus": gpus}))[0].status
        is CheckStatus.UNKNOWN
    )


def test_another_s_build_is_not_judged_by_its_version():
    gpus = Gpus(devices=[Gpu(index=0, name="Tesla V100-SXM2-16GB")])
    for version in ("2.9.1", "2.9.0a0+145a3a7bda.nv25.10"):
        torch = Torch(imported=True, version=version, cuda="13.0", cuda_available=True)
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, "gpus": gpus}))
        assert result.status is CheckStatus.UNKNOWN


def test_torch_s_own_verdict_without_its_list():
    said = "UserWarning: NVIDIA B200 with CUDA capability sm_100 is not compatible with the current PyTorch installation."
    torch = Torch(
        imported=True,
        cuda="",
        warnings=[said],
        devices=[TorchDevice(ordinal=0, name="NVIDIA B200", capability="10.0")],
    )
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch}))
    assert "this torch says that it has no code for it" in finding.message


def test_torch_warns_of_a_gpu_for_which_it_has_ptx():
    said = "UserWarning: GeForce RTX 3090 with CUDA capability sm_86 is not compatible with the current PyTorch installation."
    torch = Torch(
        imported=True,
        cuda="10.2",
        warnings=[said],
        arch_list=["sm_70", "sm_75", "compute_37"],
        devices=[TorchDevice(ordinal=0, name="GeForce RTX 3090", capability="8.6")],
    )
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch}))
    assert finding.severity is Severity.WARNING
    assert "it has PTX (compute_37), which the driver compiles" in finding.message
