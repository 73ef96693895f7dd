"""The log with which kohya's trainers begin."""

import pytest

LOG = """\
10:21:07-114901 INFO     Torch 2.6.0+cu126
10:21:07-150001 INFO     Torch backend: nVidia CUDA 12.6 cuDNN 90501
10:21:07-155210 INFO     Torch detected GPU: NVIDIA L4 VRAM 22491 Arch (8, 9) Cores 58
10:21:07-155999 INFO     Torch detected GPU: NVIDIA A10G VRAM 22502 Arch (8, 6) Cores 80
"""


@pytest.mark.parametrize("typed", [False, True])
def test_torch_and_every_gpu(typed, facts_of):
    text = "\n".join(line[25:] for line in LOG.splitlines()).replace("(8, 9)", "8.9") if typed else LOG
    facts = facts_of(text.replace(" VRAM 22491", " VRAM 22491MB") if typed else text)
    torch = facts["torch"]
    assert (torch.version, torch.cuda, torch.device_count) == ("2.6.0+cu126", "12.6", 2)
    assert [(d.name, d.capability) for d in torch.devices] == [("NVIDIA L4", "8.9"), ("NVIDIA A10G", "8.6")]
    assert [gpu.index for gpu in facts["gpus"].devices] == [0, 1]


def test_without_a_gpu_nothing_is_told(facts_of):
    assert "gpus" not in facts_of(LOG.partition("10:21:07-155210")[0])
