"""The environment as sglang, MMCV, detectron2 and Hugging Face's commands print it."""

import pytest

from gpudoctor.facts import Gpu

SGLANG = """\
Python: 3.10.12 (main, Nov  6 2024, 20:22:13) [GCC 11.4.0]
CUDA available: True
GPU 0,1: NVIDIA A40
GPU 0,1 Compute Capability: 8.6
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 12.1, V12.1.105
CUDA Driver Version: 550.90.07
550.90.07
PyTorch: 2.4.0+cu121
sglang: 0.3.0
NVIDIA Topology:
        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      SYS     0-31            0               N/A
GPU1    SYS      X      32-63           1               N/A
"""
MMCV = """\
2022-11-11 08:08:37,084 - mmdet - INFO - Environment info:
sys.platform: linux
Python: 3.8.13 (default, Oct 21 2022, 23:50:54) [GCC 11.2.0]
CUDA available: True
GPU 0: Tesla P100-PCIE-16GB
GPU 1: GeForce GTX 1080
CUDA_HOME: /usr/local/cuda-10.2
PyTorch: 1.8.0
PyTorch compiling details: PyTorch built with:
  - GCC 7.3
  - CUDA Runtime 10.2
  - NVCC architecture flags: -gencode;arch=compute_60,code=sm_60;-gencode;arch=compute_70,code=compute_70
TorchVision: 0.9.0
"""
DETECTRON = """\
----------------------  ----------------------------------------------------------
sys.platform            linux
Python                  3.8.5 (default, Jan 27 2021, 15:41:15) [GCC 9.3.0]
PyTorch                 1.8.1+cu111 @/home/erika/venv/lib/python3.8/site-packages/torch
PyTorch debug build     False
GPU available           True
GPU 0                   GeForce GTX 1650 Ti with Max-Q Design (arch=7.5)
Driver version          460.32.03
torchvision             0.9.1+cu111 @/home/erika/venv/lib/python3.8/site-packages/torchvision
----------------------  ----------------------------------------------------------
"""


def test_sglang(facts_of):
    facts = facts_of(SGLANG)
    torch, gpus = facts["torch"], facts["gpus"]
    assert (torch.version, torch.cuda, torch.cuda_available, torch.device_count) == (
        "2.4.0+cu121",
        "12.1",
        True,
        2,
    )
    assert [device.capability for device in torch.devices] == ["8.6", "8.6"]
    assert (gpus.driver_version, len(gpus.devices), gpus.pairs[0].path) == ("550.90.07", 2, "SYS")
    assert (facts["driver"].version, facts["python"].version) == ("550.90.07", "3.10.12")


@pytest.mark.parametrize("front", ["", "2022-11-11 08:08:37,084 - mmdet - INFO - "])
def test_mmcv(front, facts_of):
    facts = facts_of("".join(f"{front}{line}\n" for line in MMCV.splitlines()))
    torch = facts["torch"]
    assert (torch.version, torch.cuda) == ("1.8.0", "10.2")
    if not front:
        assert torch.arch_list == ["sm_60", "compute_70"]
    assert facts["gpus"].devices == [
        Gpu(index=0, name="Tesla P100-PCIE-16GB"),
        Gpu(index=1, name="GeForce GTX 1080"),
    ]
    assert (facts["torchvision"].version, facts["torchvision"].torch_version) == ("0.9.0", "1.8.0")
    assert "driver" not in facts


def test_mmcv_as_a_dictionary(facts_of):
    facts = facts_of(
        "{'CUDA available': True,\n 'GPU 0,1': 'NVIDIA TITAN RTX',\n 'PyTorch': '1.9.1+cu111',\n}"
    )
    assert (facts["torch"].version, facts["torch"].cuda) == ("1.9.1+cu111", "11.1")
    assert [gpu.name for gpu in facts["gpus"].devices] == ["NVIDIA TITAN RTX"] * 2


@pytest.mark.parametrize("available", ["True", "Yes"])
def test_detectron2(available, facts_of):
    facts = facts_of(
        DETECTRON.replace("GPU available           True", f"GPU available           {available}")
    )
    assert facts["torch"].cuda_available is True
    assert (facts["torch"].version, facts["torch"].cuda) == ("1.8.1+cu111", "11.1")
    (device,) = facts["torch"].devices
    assert (device.name, device.capability) == ("GeForce GTX 1650 Ti with Max-Q Design", "7.5")
    assert (facts["driver"].version, facts["torchvision"].version) == ("460.32.03", "0.9.1+cu111")


@pytest.mark.parametrize("said, available", [("(True)", True), ("(False)", False)])
def test_transformers_and_accelerate(said, available, facts_of):
    text = f"- `transformers` version: 4.38.2\n- PyTorch version (GPU?): 2.2.1+cu121 {said}\n"
    facts = facts_of(text)
    assert (facts["torch"].version, facts["torch"].cuda_available) == ("2.2.1+cu121", available)
    assert "gpus" not in facts


def test_a_torch_of_unknown_build_is_not_taken_for_one_without_cuda(facts_of):
    facts = facts_of("CUDA available: False\nPyTorch: 1.8.0\nGPU 0: NVIDIA A40\n")
    assert "torch" not in facts
    assert "gpus" in facts


FACTORY = """\
- `llamafactory` version: 0.9.2.dev0
- Platform: Linux-5.15.0-117-generic-x86_64-with-glibc2.35
- Python version: 3.10.16
- PyTorch version: 2.6.0+cu124 (GPU)
- GPU type: NVIDIA L40S
- GPU number: 4
"""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (FACTORY, 4),
        (FACTORY.replace("- GPU number: 4\n", ""), None),
        (FACTORY.replace("version: 2.6.0+cu124 (GPU)", "version (GPU?): 2.6.0+cu124 (True)"), 4),
    ],
)
def test_the_first_device_alone(text, count, facts_of):
    facts = facts_of(text)
    torch = facts["torch"]
    assert (torch.version, torch.cuda_available, torch.device_count) == ("2.6.0+cu124", True, count)
    assert [device.name for device in torch.devices] == ["NVIDIA L40S"]
    assert "gpus" not in facts
    assert (facts["host"].kernel, facts["host"].machine) == ("5.15.0-117-generic", "x86_64")


def test_the_dictionary_of_mmengine_in_one_line(facts_of):
    text = (
        "env_info OrderedDict([('sys.platform', 'linux'), ('Python', '3.9.16 (main, Mar 8 2023) [GCC 11.2.0]'), "
        "('CUDA available', True), ('GPU 0,1', 'NVIDIA RTX A5000'), ('PyTorch', '1.12.1+cu113'), "
        "('PyTorch compiling details', 'PyTorch built with:\\n  - GCC 9.3\\n  - CUDA Runtime 11.3\\n'), "
        "('TorchVision', '0.12.0+cu113'), ('OpenCV', '4.7.0'), ('MMEngine', '0.7.2')])\n"
    )
    facts = facts_of(text)
    assert (facts["torch"].version, facts["torch"].cuda, facts["torch"].device_count) == (
        "1.12.1+cu113",
        "11.3",
        2,
    )
    assert facts["torchvision"].version == "0.12.0+cu113"
