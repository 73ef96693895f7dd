"""The first line of YOLO's programs."""

import pytest

ONE = "YOLOv5 🚀 v7.0-12-g5a1b Python-3.10.12 torch-2.0.1+cu118 CUDA:0 (Tesla T4, 15102MiB)\n"
TWO = """\
Ultralytics YOLOv8.1.0 🚀 Python-3.10.12 torch-2.1.2+cu121 CUDA:0 (NVIDIA A10, 22732MiB)
                                                       CUDA:1 (NVIDIA A10G, 22500MiB)
engine/trainer: task=detect, device=[0, 1], CUDA:7 (no, 100MiB)
"""


@pytest.mark.parametrize(
    ("text", "version", "cuda", "names"),
    [
        (ONE, "2.0.1+cu118", "11.8", ["Tesla T4"]),
        (TWO, "2.1.2+cu121", "12.1", ["NVIDIA A10", "NVIDIA A10G"]),
        ("Ultralytics 8.3.2 🚀 Python-3.11.9 torch-2.4.1+cpu CPU (Intel Core i7)\n", "2.4.1+cpu", None, []),
    ],
)
def test_torch_and_its_devices(text, version, cuda, names, facts_of):
    facts = facts_of(text)
    torch = facts["torch"]
    assert (torch.version, torch.cuda, [device.name for device in torch.devices]) == (version, cuda, names)
    assert [gpu.name for gpu in facts["gpus"].devices] == names if names else "gpus" not in facts


def test_a_build_that_is_not_told(facts_of):
    facts = facts_of("Ultralytics YOLOv8.1.0 Python-3.10.12 torch-2.1.2 CUDA:0 (NVIDIA A10, 22732MiB)\n")
    assert "torch" not in facts
    assert [gpu.name for gpu in facts["gpus"].devices] == ["NVIDIA A10"]
    with pytest.raises(Exception, match="neither a gpudoctor report"):
        facts_of("Ultralytics YOLOv8.1.0 Python-3.10.12 torch-2.1.2 CPU\n")


def test_a_cpu_build_below_a_line_with_a_gpu(facts_of):
    facts = facts_of(
        ONE.replace("YOLOv5 🚀 v7.0-12-g5a1b", "Ultralytics YOLOv8.0.1")
        + "and now\nUltralytics YOLOv8.0.2 🚀 Python-3.10.6 torch-2.0.1+cpu CPU\n"
    )
    assert (facts["torch"].cuda, facts["torch"].devices) == (None, [])
    assert [gpu.name for gpu in facts["gpus"].devices] == ["Tesla T4"]
