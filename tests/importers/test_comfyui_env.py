"""What ComfyUI prints of torch and its devices."""

import pytest

LOG = "pytorch version: 2.5.1+cu124\nSet vram state to: NORMAL_VRAM\nDevice: cuda:0 NVIDIA GeForce RTX 5090 : native\n"
REPORT = """\
## System Information
- **OS:** nt
- **Python Version:** 3.12.9
- **PyTorch Version:** 2.6.0+cu126
## Devices
- **Name:** cuda:0 NVIDIA GeForce RTX 5070 Ti : cudaMallocAsync
  - **Type:** cuda
"""


@pytest.mark.parametrize(
    ("text", "version", "cuda", "name"),
    [
        (LOG, "2.5.1+cu124", "12.4", "NVIDIA GeForce RTX 5090"),
        (REPORT, "2.6.0+cu126", "12.6", "NVIDIA GeForce RTX 5070 Ti"),
    ],
)
def test_the_log_and_the_report(text, version, cuda, name, facts_of):
    facts = facts_of(text)
    torch = facts["torch"]
    assert (torch.version, torch.cuda, [device.name for device in torch.devices]) == (version, cuda, [name])
    assert [gpu.name for gpu in facts["gpus"].devices] == [name]


def test_a_device_that_is_none_of_nvidia_s(facts_of):
    facts = facts_of(
        LOG.replace("+cu124", "+rocm6.2").replace("NVIDIA GeForce RTX 5090", "AMD Radeon RX 7900")
    )
    assert (facts["torch"].hip, "gpus" in facts) == ("6.2", False)
