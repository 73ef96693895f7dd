"""collect_env's output, in the formats of 2019 to 2026 and in the state in which tickets have it."""

import json

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Raised, Torch, TorchDevice
from gpudoctor.importers import Unreadable
from gpudoctor.render.environment import environment_block
from gpudoctor.report import ProbeStatus, Report
from gpudoctor.snapshot import Snapshot

BLOCK = """\
PyTorch version: 2.5.1+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.11.9 (main, Apr 19 2024, 18:36:13) [GCC 12.3.0] (64-bit runtime)
Python platform: Linux-6.5.0-1-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
GPU models and configuration:
GPU 0: NVIDIA A10
GPU 1: NVIDIA A10

Nvidia driver version: 550.54.15
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] torch==2.5.1+cu124
[pip3] torchvision==0.20.1+cu124
[conda] Could not collect
"""


def put(**lines):
    """Give some lines of the block another value; ``None`` removes the line."""
    text = BLOCK
    for name, value in lines.items():
        key = {
            "torch": "PyTorch version",
            "cuda": "CUDA used to build PyTorch",
            "rocm": "ROCM used to build PyTorch",
            "available": "Is CUDA available",
            "driver": "Nvidia driver version",
            "os": "OS",
            "python": "Python version",
            "platform": "Python platform",
        }[name]
        old = next(line for line in text.splitlines(keepends=True) if line.startswith(key + ":"))
        text = text.replace(old, "" if value is None else f"{key}: {value}\n")
    return text


def without_gpus(value, **lines):
    text = put(**lines)
    begin, end = (
        text.index("GPU models"),
        text.index("Nvidia driver") if "Nvidia driver" in text else text.index("cuDNN"),
    )
    return text[:begin] + ("" if value is None else f"GPU models and configuration: {value}\n") + text[end:]


def reason(read_text, text, topic):
    return next(p.reason for p in read_text(text).snapshot.probes if p.name == topic)


def test_the_format_of_2019(load, facts_of):
    facts = facts_of(load("torch_2019"))
    torch = facts["torch"]
    assert (torch.imported, torch.version, torch.cuda, torch.debug_build) == (
        True,
        "1.2.0",
        "10.0.130",
        False,
    )
    assert torch.cuda_available is True
    assert [d.name for d in torch.devices] == ["TITAN Xp", "TITAN Xp"]
    assert torch.device_count is None, "CUDA_VISIBLE_DEVICES is not in the text"
    assert [(g.index, g.name) for g in facts["gpus"].devices] == [(0, "TITAN Xp"), (1, "TITAN Xp")]
    assert facts["driver"].version == facts["gpus"].driver_version == "418.56"
    assert facts["python"].version == facts["python"].build == "3.6"
    assert (facts["host"].system, facts["host"].os) == ("Linux", "Ubuntu 16.04.6 LTS")
    assert (facts["torchvision"].version, facts["torchvision"].torch_version) == ("0.4.0", "1.2.0")
    assert [d.name for d in facts["distributions"].named("torch")] == ["torch"], (
        "conda's pytorch is the same one"
    )
    assert "launch" not in facts


def test_the_format_of_2024(load, facts_of, read_text):
    facts = facts_of(load("torch_2024"))
    assert facts["torch"].cuda_available is False
    assert facts["torch"].devices == []
    assert len(facts["torch"].warnings) == 1
    assert (
        facts["torch"]
        .warnings[0]
        .startswith("UserWarning: CUDA initialization: The NVIDIA driver on your system")
    )
    assert "(found version 11040)" in facts["torch"].warnings[0]
    assert facts["gpus"].devices == [Gpu(index=0, name="NVIDIA GeForce RTX 3080")]
    assert facts["driver"].dxg is facts["host"].wsl is True
    host = facts["host"]
    assert (host.os, host.machine, host.libc) == ("Ubuntu 22.04.4 LTS", "x86_64", "glibc-2.35")
    assert host.kernel == "5.15.153.1-microsoft-standard-WSL2"
    assert (host.cpus, host.cpu_model) == (24, "AMD Ryzen 9 5900X 12-Core Processor")
    assert (facts["python"].version, facts["python"].executable) == ("3.10.12", "")
    assert facts["torchvision"].operators_load is None
    assert reason(read_text, load("torch_2024"), "pci") == "not in the text"


def test_the_format_of_vllm(load, facts_of):
    facts = facts_of(load("vllm_2025"))
    names = ["NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe", "NVIDIA L4"]
    assert [g.name for g in facts["gpus"].devices] == names
    assert [g.mig for g in facts["gpus"].devices] == [None, None, True]
    assert facts["gpus"].devices[2].mig_uuids == ["MIG-11111111-2222-3333-4444-555555555555"]
    assert facts["host"].cpu_model == "INTEL(R) XEON(R) GOLD 6530"
    assert facts["launch"].variables == {
        "CUDA_VISIBLE_DEVICES": "1,0",
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/local/cuda/lib64",
        "NCCL_DEBUG": "INFO",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "TORCH_CUDA_ARCH_LIST": "8.0 8.9 9.0+PTX",
    }


def test_the_format_of_2026_for_amd(load, facts_of, read_text):
    facts = facts_of(load("torch_2026_rocm"))
    assert (facts["torch"].cuda, facts["torch"].hip) == (None, "7.1.25424-abcdef012")
    assert facts["torch"].devices == [TorchDevice(ordinal=0, name="AMD Radeon RX 7900 XTX")]
    assert facts["launch"].variables == {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    assert not facts.keys() & {"gpus", "driver"}
    assert "AMD" in reason(read_text, load("torch_2026_rocm"), "gpus")


def test_gpudoctor_s_own_environment_block_is_read(facts_of):
    given = {
        "torch": Torch(
            imported=True, version="2.5.1", cuda="12.4", nccl="2.21.5", cudnn="9.1.0", cuda_available=True
        ),
        "gpus": Gpus(driver_version="580.82.07", devices=[Gpu(index=0, name="NVIDIA H200")]),
        "launch": Launch(variables={"NCCL_DEBUG": "INFO"}),
    }
    facts = facts_of(environment_block(Snapshot(given)))
    assert facts["launch"] == given["launch"]
    assert facts["gpus"] == given["gpus"]
    torch = facts["torch"]
    assert (torch.version, torch.cuda, torch.nccl, torch.cudnn) == ("2.5.1", "12.4", "2.21.5", "9.1.0")
    assert Report(facts=facts)


@pytest.mark.parametrize(
    "torch, cuda, rocm, expected",
    [
        ("2.5.1+cu124", "12.4", "N/A", ("12.4", None)),
        ("1.1.0", "9.0.176", None, ("9.0.176", None)),
        ("2.5.1+cpu", "None", "N/A", (None, None)),
        ("2.5.1+cpu", "Could not collect", "N/A", (None, None)),
        ("2.5.1", "No CUDA", "N/A", (None, None)),
        ("2.5.1+rocm6.2", "N/A", "6.2.41133-dd7f95766", (None, "6.2.41133-dd7f95766")),
        ("2.5.1+rocm6.2", "N/A", None, (None, "6.2")),
        ("2.5.1+cu124", None, None, ("12.4", None)),
        ("1.9.0+cu92", None, None, ("9.2", None)),
        ("2.5.1+cpu", None, None, (None, None)),
    ],
)
def test_the_build(torch, cuda, rocm, expected, facts_of):
    found = facts_of(put(torch=torch, cuda=cuda, rocm=rocm))["torch"]
    assert (found.version, (found.cuda, found.hip)) == (torch, expected)


def test_a_torch_of_unknown_build_is_no_torch_without_cuda(facts_of, read_text):
    text = put(torch="2.5.1", cuda=None)
    assert "torch" not in facts_of(text)
    assert facts_of(text)["torchvision"].torch_version == "2.5.1"
    assert reason(read_text, text, "torch") == "the text does not say for which CUDA torch was built"
    runtime = text + "[pip3] nvidia-cuda-runtime-cu12==12.4.127\n"
    assert facts_of(runtime)["torch"].cuda == "12.4"


def test_a_paste_without_its_first_line_has_no_torch(facts_of, read_text):
    text = put(torch=None)
    assert "torch" not in facts_of(text)
    assert facts_of(text)["torchvision"].torch_version == "2.5.1+cu124"
    assert reason(read_text, text, "torch") == "PyTorch's version is not in the text"


def missing(libraries):
    text = put(torch="N/A", cuda="N/A", available="N/A")
    return text[: text.index("[pip3]")] + libraries


@pytest.mark.parametrize(
    "libraries",
    ["", "[pip3] No relevant packages\n", "[pip3] numpy==1.26.4\n[conda] pytorch 2.5.1 py3.11_0 pytorch\n"],
)
def test_a_missing_torch(libraries, facts_of):
    torch = facts_of(missing(libraries))["torch"]
    assert torch == Torch(
        imported=False, error=Raised(type="ModuleNotFoundError", message="No module named 'torch'")
    )


@pytest.mark.parametrize(
    "libraries",
    ["[pip3] torch==2.5.1\n", "[pip3] Could not collect\n[conda] pytorch  2.5.1  py3.11_0 pytorch\n"],
)
def test_a_torch_that_is_listed_and_not_imported_is_broken(libraries, facts_of):
    torch = facts_of(missing(libraries))["torch"]
    assert torch.imported is False
    assert torch.file is not None
    assert torch.error is not None
    assert torch.error.type == "ImportError"


TRACEBACK = """\
Traceback (most recent call last):
  File "collect_env.py", line 9, in <module>
    import torch
  File "/home/ada/venv/lib/python3.10/site-packages/torch/__init__.py", line 229, in <module>
    from torch._C import *  # noqa: F403
ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory
"""


@pytest.mark.parametrize(
    "block", [missing("[pip3] torch==2.5.1\n"), put(torch=None), "$ python collect_env.py"]
)
def test_why_torch_was_not_imported(block, facts_of):
    for text in (TRACEBACK + block, block + "\n" + TRACEBACK):
        torch = facts_of(text)["torch"]
        assert torch.imported is False
        assert (torch.error.type, torch.error.message.split(":")[0]) == ("ImportError", "libcudnn.so.9")
        assert torch.file == "/home/ada/venv/lib/python3.10/site-packages/torch/__init__.py"
        assert torch.error.traceback.startswith("Traceback")


def test_python_s_own_words_for_a_module_that_is_not_there(facts_of):
    text = (
        "$ python3 -m torch.utils.collect_env\n/usr/bin/python3: Error while finding module specification for "
        "'torch.utils.collect_env' (ModuleNotFoundError: No module named 'torch')\n"
    )
    torch = facts_of(text)["torch"]
    assert (torch.imported, torch.file) == (False, None)
    assert torch.error == Raised(type="ModuleNotFoundError", message="No module named 'torch'")


def test_another_traceback_is_not_torch_s(facts_of):
    other = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: no\n'
    assert facts_of(other + put())["torch"].imported is True
    assert facts_of(TRACEBACK + put())["torch"].imported is True, "the block says that it was imported"


@pytest.mark.parametrize("nothing", ["Could not collect", "No CUDA", "N/A"])
def test_no_driver_and_no_gpu(nothing, facts_of):
    facts = facts_of(without_gpus(nothing, driver=nothing, available="False"))
    assert facts["driver"].version is None
    assert facts["gpus"] == Gpus(error="nvidia-smi gave nothing, and CUDA toolkit 12.4.131 is installed")
    text = without_gpus(nothing, driver=nothing, available="False").replace("12.4.131", nothing)
    assert facts_of(text)["gpus"] == Gpus(error="nvidia-smi gave nothing")


def test_a_container_without_nvidia_smi_has_a_driver_all_the_same(facts_of, read_text):
    text = without_gpus("Could not collect", driver="Could not collect", available="True")
    assert not facts_of(text).keys() & {"driver", "gpus"}
    assert "a driver works" in reason(read_text, text, "driver")
    assert "although CUDA works" in reason(read_text, text, "gpus")
    assert "driver" not in facts_of(put(driver="Could not collect", available="False")), "GPUs are listed"


def test_lines_that_were_cut_off_say_nothing(facts_of):
    facts = facts_of(without_gpus(None, driver=None))
    assert not facts.keys() & {"driver", "gpus"}
    assert facts["torch"].devices == []


@pytest.mark.parametrize(
    "value, names",
    [
        ("GPU 0: Tesla T4", ["Tesla T4"]),
        ("\nGPU 0: Tesla T4 (UUID: GPU-aa)\nGPU 1: Tesla T4 (UUID: GPU-bb)\n", ["Tesla T4", "Tesla T4"]),
        ("GPU 0: Tesla T4 GPU 1: Tesla V100", ["Tesla T4", "Tesla V100"]),
        ("\nGPU 1: Tesla V100\nGPU 0: Tesla T4\n", ["Tesla T4", "Tesla V100"]),
        ("\n\n  GPU 0: Tesla T4\n\n\tGPU 1: Tesla T4", ["Tesla T4", "Tesla T4"]),
    ],
)
def test_gpu_lists(value, names, facts_of):
    facts = facts_of(without_gpus(value))
    assert [g.name for g in facts["gpus"].devices] == names
    assert [d.name for d in facts["torch"].devices] == names
    assert facts["torch"].device_count == (1 if len(names) == 1 else None)


@pytest.mark.parametrize(
    "visible, count, names",
    [
        ("0", 1, ["NVIDIA A10"]),
        ("1, 0", 2, ["NVIDIA A10", "NVIDIA A10"]),
        ("0,-1,1", 1, ["NVIDIA A10"]),
        ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", None, []),
        ("MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", 1, []),
        ("7", None, []),
    ],
)
def test_visible_devices(visible, count, names, facts_of):
    torch = facts_of(BLOCK + f"\nCUDA_VISIBLE_DEVICES={visible}\n")["torch"]
    assert (torch.device_count, [d.name for d in torch.devices]) == (count, names)


def test_which_of_unlike_gpus_torch_saw_needs_their_order(facts_of):
    text = without_gpus("\nGPU 0: A\nGPU 1: B\n") + "CUDA_VISIBLE_DEVICES=1\n"
    assert facts_of(text)["torch"].devices == []
    assert [d.name for d in facts_of(text + "CUDA_DEVICE_ORDER=PCI_BUS_ID\n")["torch"].devices] == ["B"]


def test_a_command_is_no_variable(facts_of):
    text = BLOCK + "\nCUDA_VISIBLE_DEVICES=0 python train.py\nNCCL_DEBUG=INFO torchrun t.py\n"
    assert "launch" not in facts_of("NCCL_DEBUG=WARN\n" + text)
    assert facts_of(text + "Environment Variables:\n")["launch"] == Launch()


SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA A10                     On  |   00000000:3B:00.0 Off |                    0 |
|  0%   32C    P8              21W / 150W |       4MiB /  23028MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A10                     Off |   00000000:5E:00.0 Off |                    0 |
|  0%   32C    P8              21W / 150W |       4MiB /  23028MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""


def test_nvidia_smi_s_table_beside_a_cut_block(facts_of):
    facts = facts_of(SMI + without_gpus(None, driver=None))
    assert facts["driver"].version == "550.54.15"
    assert facts["gpus"].cuda_version == "12.4"
    assert [g.name for g in facts["gpus"].devices] == ["NVIDIA A10", "NVIDIA A10"]
    first = facts["gpus"].devices[0]
    assert (first.pci_address, first.memory_bytes, first.memory_used_bytes) == (
        "0000:3b:00.0",
        23028 << 20,
        4 << 20,
    )


@pytest.mark.parametrize(
    "line, error, code",
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "Driver/library version mismatch", 18),
        ("Failed to initialize NVML: Unknown Error", "Unknown Error", 999),
        (
            "NVIDIA-SMI has failed because it couldn't communicate",
            "NVIDIA-SMI has failed because it couldn't communicate",
            None,
        ),
    ],
)
def test_nvidia_smi_s_refusal(line, error, code, facts_of):
    text = f"$ nvidia-smi\n{line}\n" + without_gpus(
        "Could not collect", driver="Could not collect", available="False"
    )
    gpus = facts_of(text)["gpus"]
    assert (gpus.error, gpus.error_code) == (error, code)
    assert facts_of(f"{line}\n{BLOCK}")["gpus"].error is None


def test_a_block_that_lost_its_line_ends(facts_of):
    whole = facts_of(f"Your environment ```text {' '.join(BLOCK.split())} ``` and the rest")
    apart = facts_of(BLOCK)
    assert whole["torch"] == apart["torch"]
    assert whole["gpus"] == apart["gpus"]
    assert whole["distributions"] == apart["distributions"]
    assert (whole["host"].os, whole["python"].version) == ("Ubuntu 22.04.5 LTS", "3.11.9")


def test_nvml_without_a_device_is_no_missing_driver(facts_of, read_text):
    text = "$ nvidia-smi\nNo devices were found\n" + without_gpus(
        "Could not collect", driver="Could not collect", available="False"
    )
    assert facts_of(text)["gpus"] == Gpus()
    assert "driver" not in facts_of(text)
    assert reason(read_text, text, "driver") == "a driver works, and collect_env could not read its version"


ARCHITECTURE = """\
/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py:235: UserWarning: 
NVIDIA A10 with CUDA capability sm_86 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 compute_70.
If you want to use the NVIDIA A10 GPU with PyTorch, please check the instructions at https://pytorch.org/

  warnings.warn(
"""  # noqa: W291


def test_a_warning_tells_architectures(facts_of):
    torch = facts_of(ARCHITECTURE + BLOCK)["torch"]
    assert torch.arch_list == ["sm_37", "sm_50", "sm_60", "sm_70", "compute_70"]
    assert torch.devices[0].capability == "8.6"
    assert torch.warnings[0].startswith(
        "UserWarning: NVIDIA A10 with CUDA capability sm_86 is not compatible"
    )


def test_a_newer_warning_tells_the_capability(facts_of):
    text = (
        "/x/torch/cuda/__init__.py:284: UserWarning: \n    Found GPU0 NVIDIA A10 which is of cuda capability 8.6.\n"
        "    Minimum and Maximum cuda capability supported by this version of PyTorch is\n    (9.0) - (12.0)\n    \n"
    )
    torch = facts_of(text + BLOCK)["torch"]
    assert torch.devices[0].capability == "8.6"
    assert "(9.0) - (12.0)" in torch.warnings[0]


def test_other_warnings_are_not_torch_s(facts_of):
    text = (
        "/usr/lib/python3.10/runpy.py:126: RuntimeWarning: 'torch.utils.collect_env' found in sys.modules\n"
    )
    assert facts_of(text + BLOCK)["torch"].warnings == []


@pytest.mark.parametrize(
    "version, lists, installed",
    [
        ("1.9.0", "[pip3] torch==1.9.0\n[conda] pytorch 1.6.0\n", [("1.9.0", ""), ("1.6.0", "conda list")]),
        ("1.6.0", "[pip3] torch==1.9.0\n[conda] pytorch 1.6.0 py\n", [("1.6.0", ""), ("1.9.0", "pip list")]),
        ("1.9.0+cu111", "[pip] torch==1.9.0+cu111\n[conda] torch 1.9.0 pypi_0 pypi\n", [("1.9.0+cu111", "")]),
        ("1.9.0", "[conda] * pytorch   1.9.0    py3.8_0  pytorch\n", [("1.9.0", "")]),
        ("0.4.1", "[pip3] torch (0.4.1)\n", [("0.4.1", "")]),
        ("2.0", "[pip3] torch==1.0\n[pip3] torch==2.0\n", [("1.0", ""), ("2.0", "")]),
    ],
)
def test_two_lists_of_packages(version, lists, installed, facts_of):
    text = put(torch=version)
    facts = facts_of(text[: text.index("[pip3]")] + lists)
    assert [(d.version, d.location) for d in facts["distributions"].named("torch")] == installed


def test_a_tpu_machine(facts_of):
    assert facts_of(BLOCK + "[pip3] torch-xla==2.5.0+git17a4ef5\n")["torch"].xla is True
    assert facts_of(BLOCK)["torch"].xla is False


@pytest.mark.parametrize(
    "os, platform, expected",
    [
        ("Ubuntu 22.04.5 LTS (aarch64)", "Linux-6.8.0-aarch64-with-glibc2.35", ("Linux", "aarch64", "6.8.0")),
        (
            "Amazon Linux 2",
            "Linux-5.10.2-1.amzn2.x86_64-x86_64-with-glibc2.26",
            ("Linux", "x86_64", "5.10.2-1.amzn2.x86_64"),
        ),
        ("Arch Linux", None, ("Linux", "", "")),
        ("macOS 15.3.1 (arm64)", "macOS-15.3.1-arm64-arm-64bit", ("Darwin", "arm64", "")),
        ("Mac OSX 10.15", "Darwin-19.6.0-x86_64-i386-64bit", ("Darwin", "", "19.6.0")),
        ("Microsoft Windows 11 Pro (10.0.22631 64-bit)", "Windows-10-10.0.22631-SP0", ("Windows", "", "")),
        (None, "Linux-6.8.0-60-generic-x86_64-with-glibc2.35", ("Linux", "x86_64", "6.8.0-60-generic")),
    ],
)
def test_the_host(os, platform, expected, facts_of):
    host = facts_of(put(os=os, platform=platform))["host"]
    assert (host.system, host.machine, host.kernel) == expected


@pytest.mark.parametrize(
    "cpu, model",
    [
        ("CPU:\nApple M1 Max\n", "Apple M1 Max"),
        ("CPU:\nArchitecture=9\nName=Intel(R) Core(TM) i7-10700\n", "Intel(R) Core(TM) i7-10700"),
        ("CPU:\nName: AMD Ryzen 7\nManufacturer: AuthenticAMD\n", "AMD Ryzen 7"),
        ("CPU:\nModel name:   -\n", ""),
    ],
)
def test_the_processor(cpu, model, facts_of):
    assert facts_of(put() + cpu)["host"].cpu_model == model


def test_of_several_outputs_the_fullest_counts(load, facts_of):
    one, two = load("torch_2019"), load("vllm_2025")
    assert facts_of(one + "\nand on the other machine:\n" + two)["torch"].version == "2.8.0+cu128"
    assert facts_of(two + "\nmine works:\n" + one)["torch"].version == "2.8.0+cu128"
    same = one.replace("1.2.0", "1.3.0")
    facts = facts_of(one + "\nand with\n" + same)
    assert (facts["torch"].version, facts["torchvision"].torch_version) == ("1.2.0", "1.2.0")
    assert facts_of(one + same)["gpus"].driver_version == "418.56"


def test_prose_around_the_block_does_not_count(facts_of):
    prose = "- OS: Windows\n- PyTorch version: 1.0\n- Python version: 2.7\n\n"
    facts = facts_of(prose + BLOCK + "\n" + prose + "Is this fixed in PyTorch version: 9.9?\n")
    assert facts["torch"].version == "2.5.1+cu124"
    assert facts["host"].system == "Linux"
    assert facts["python"].version == "3.11.9"


def test_the_order_of_the_lines_does_not_matter(facts_of):
    lines = BLOCK.replace("GPU models and configuration:\n", "").splitlines()
    assert facts_of("\n".join(reversed(lines)))["torch"] == facts_of("\n".join(lines))["torch"]


def wrap(text):
    return "\n".join(line[i : i + 80] for line in text.split("\n") for i in range(0, max(len(line), 1), 80))


def every_line(prefix):
    return lambda text: "\n".join(prefix + line for line in text.split("\n"))


CARRIED = {
    "quoted": every_line("> "),
    "quoted twice": every_line(">> "),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "indented": every_line("  "),
    "indented by a tab": every_line("\t"),
    "coloured": every_line("\x1b[1;32m\x1b]0;title\x07"),
    "fenced": lambda text: f"Hi\n```text\n{text}\n```\nbye",
    "in HTML": lambda text: "<details><summary>env</summary><pre>" + text + "</pre></details>",
    "in a log": lambda text: "\n".join(f"2026-03-04T05:06:07.1234567Z {line}" for line in text.split("\n")),
    "ranks": every_line("[rank3]: "),
    "padded": lambda text: "\n".join(line.ljust(240) for line in text.split("\n")),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "wrapped": wrap,
}


@pytest.mark.parametrize("carry", CARRIED.values(), ids=CARRIED.keys())
@pytest.mark.parametrize("name", ["torch_2019", "torch_2024", "vllm_2025", "torch_2026_rocm"])
def test_the_way_of_a_text_does_not_change_what_it_says(name, carry, load, read_text):
    text = load(name)
    assert read_text(carry(text)).snapshot.facts == read_text(text).snapshot.facts


def test_an_empty_list_of_gpus_and_no_driver(facts_of):
    empty = without_gpus("", available="False", driver="Could not collect")
    facts = facts_of(empty)
    assert (facts["gpus"].devices, facts["driver"].version) == ([], None)
    assert "gpus" not in facts_of(without_gpus("", available="False")), "the driver is there: cut out"


def test_a_text_without_a_value_is_unreadable(read_text):
    with pytest.raises(Unreadable, match="collect_env output without any value in it"):
        read_text("PyTorch version:\nIs CUDA available:\n")


def test_topics_that_are_not_asked_for_are_left_out(tmp_path, load):
    from gpudoctor.importers import read

    path = tmp_path / "given"
    path.write_text(load("torch_2019"))
    snapshot = read(str(path), {"torch": Torch, "gpus": Launch}).snapshot
    assert snapshot.facts.keys() == {"torch"}
    assert [(p.name, p.status) for p in snapshot.probes] == [
        ("torch", ProbeStatus.OK),
        ("gpus", ProbeStatus.SKIPPED),
    ]


def test_a_list_of_another_python(facts_of):
    text = (
        "PyTorch version: N/A\nIs debug build: N/A\nCUDA used to build PyTorch: N/A\n\n"
        "Python version: 2.7 (64-bit runtime)\n"
        "Is CUDA available: N/A\n\nVersions of relevant libraries:\n[pip3] torch==1.7.0\n"
    )
    assert facts_of(text)["torch"].error.type == "ModuleNotFoundError"
    assert facts_of(text.replace("1.7.0", "1.4.0"))["torch"].error.type == "ImportError"
    assert facts_of(text.replace("2.7", "3.8"))["torch"].error.type == "ImportError"


def test_a_build_without_cuda_that_is_cut_before_its_gpus(facts_of):
    """Where nothing of CUDA's is on the machine, collect_env writes None."""
    head = "PyTorch version: 2.1.0\nIs debug build: False\nCUDA used to build PyTorch: {}\nOS: Debian 12 (x86_64)\n"
    cut = facts_of(head.format("Could not collect"))["gpus"]
    assert "a CUDA toolkit, a driver or a GPU is here" in cut.error
    assert "gpus" not in facts_of(head.format("None"))


def test_the_last_name_of_a_list_alone_may_be_cut(facts_of):
    listed = "GPU 2: NVIDIA RTX A5000\nGPU 3: NVIDIA RTX A5000\nGPU 4: NVIDIA RTX A5"
    assert {gpu.name for gpu in facts_of(listed)["gpus"].devices} == {"NVIDIA RTX A5000"}


def test_a_quoted_block_that_lost_its_line_ends(facts_of):
    text = " ".join(f"> {line}".strip() for line in BLOCK.splitlines())
    facts = facts_of(text)
    assert {gpu.name for gpu in facts["gpus"].devices} == {"NVIDIA A10"}
    assert (facts["gpus"].driver_version, facts["torch"].version) == ("550.54.15", "2.5.1+cu124")


def test_a_name_that_is_cut_where_the_text_lost_its_line_ends(facts_of):
    text = " ".join(BLOCK.split("Nvidia driver", maxsplit=1)[0].split()) + " GPU"
    assert {gpu.name for gpu in facts_of(text)["gpus"].devices} == {"NVIDIA A10"}


def test_a_gpu_on_a_line_of_its_own_beside_a_cut_block(facts_of):
    text = "My system:\nRyzen 7\nRTX 3070 8GB\n\nPyTorch version: 2.0.1+cpu\nIs debug build: False\nCUDA use"
    assert [gpu.name for gpu in facts_of(text)["gpus"].devices] == ["RTX 3070"]


@pytest.mark.parametrize(
    "carried",
    [
        json.dumps,
        lambda text: "".join(
            f"{number:5d}\t{line}" for number, line in enumerate(text.splitlines(keepends=True), 7)
        ),
        lambda text: "".join(
            f"{number}: {line}" for number, line in enumerate(text.splitlines(keepends=True), 1)
        ),
        lambda text: json.dumps("".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())),
        lambda text: "".join(f"| {line} |\n" for line in text.splitlines()),
        lambda text: "".join(f"- {line}\n" if line else "\n" for line in text.splitlines()),
    ],
)
def test_a_block_as_a_string_a_list_or_a_table_and_with_the_numbers_of_its_lines(carried, facts_of):
    assert facts_of(carried(BLOCK)) == facts_of(BLOCK)


def test_keys_and_values_in_a_table(facts_of):
    text = (
        "| Key | Value |\n|:---|---:|\n| **PyTorch version** | `2.1.0` |\n| CUDA used to build PyTorch | 12.1 |\n"
        "| Is CUDA available: | False |\n| GPU models and configuration | GPU 0: NVIDIA A10 |\n"
        "| Nvidia driver version | 460.32.03 |\n"
    )
    facts = facts_of(text)
    assert (facts["torch"].version, facts["torch"].cuda, facts["torch"].cuda_available) == (
        "2.1.0",
        "12.1",
        False,
    )
    assert (facts["gpus"].driver_version, facts["gpus"].devices[0].name) == ("460.32.03", "NVIDIA A10")


@pytest.mark.parametrize("cut", ["Is CUDA available", "Nvidia driver version", "[pip3] torch=="])
def test_another_block_above_that_lost_its_first_lines(cut, facts_of):
    older = BLOCK.replace("2.5.1", "1.6.0")
    facts = facts_of(older[older.index(cut) :] + "\n\nAnd the other machine:\n" + BLOCK)
    alone = facts_of(BLOCK)
    assert [facts[name] for name in ("torch", "gpus", "distributions")] == [
        alone[name] for name in ("torch", "gpus", "distributions")
    ]


def test_a_traceback_that_lost_its_first_lines(facts_of):
    text = (
        'venv/lib64/python3.11/site-packages/torch/__init__.py", line 427, in <module>\n'
        "    from torch._C import *  # noqa: F403\n    ^^^^^^^^^^^^^^^^^^^^^^\n"
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n\n"
        "PyTorch version: N/A     \nIs debug build: N/A     \nCUDA used to build PyTorch: N/A     \n"
    )
    torch = facts_of(text)["torch"]
    assert (torch.imported, torch.file) == (False, "venv/lib64/python3.11/site-packages/torch/__init__.py")
    assert torch.error.message.startswith("libcudnn.so.9")
