"""Unsloth's banner."""

import pytest

NEW = """\
==((====))==  Unsloth 2025.3.19: Fast Qwen2 patching. Transformers: 4.50.3.
   \\\\   /|    NVIDIA L4. Num GPUs = 2. Max memory: 22.03 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: 2.6.0+cu124. CUDA: 8.9. CUDA Toolkit: 12.4. Triton: 3.2.0
\\        /    Bfloat16 = TRUE. FA [Xformers = None. FA2 = False]
"""
OLD = """\
==((====))==  Unsloth: Fast Llama patching release 2024.4
   \\\\   /|    GPU: Tesla T4. Max memory: 14.7 GB. Platform = Linux.
O^O/ \\_/ \\    Pytorch: 2.3.0. CUDA = 7.5. CUDA Toolkit = 12.1.
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NEW, ("2.6.0+cu124", "12.4", 2, "NVIDIA L4", "8.9")),
        (OLD, ("2.3.0", "12.1", None, "Tesla T4", "7.5")),
        (
            NEW.replace("2.6.0+cu124", "2.8.0.dev20250331+cu128").replace("12.4", "12.8"),
            ("2.8.0.dev20250331+cu128", "12.8", 2, "NVIDIA L4", "8.9"),
        ),
    ],
)
def test_torch_and_its_first_device(text, told, facts_of):
    torch = facts_of(text)["torch"]
    [device] = torch.devices
    assert (torch.version, torch.cuda, torch.device_count, device.name, device.capability) == told


def test_half_a_banner_tells_nothing(facts_of):
    with pytest.raises(Exception, match="neither a gpudoctor report"):
        facts_of(NEW.partition("O^O")[0])
