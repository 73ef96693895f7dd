"""Lightning's own list of the environment."""

import pytest

OLD = """\
cuda:
\tGPU:
\t\tTesla P4
\t\tTesla P4
\tavailable:           True
\tversion:             10.1
packages:
\tnumpy:               1.18.2
\tpyTorch_debug:       False
\tpyTorch_version:     1.5.0+cu101
system:
\tOS:                  Linux
\tpython:              3.7.6
"""
NEW = """\
* CUDA:
        - GPU:
                - NVIDIA A10
        - available:         {available}
        - version:           {version}
* Lightning:
        - pytorch-lightning: 2.1.0
        - torch:             2.1.0
        - torchmetrics:      1.2.0
* System:
        - python:            3.10.8
"""


def test_the_old_form(facts_of):
    facts = facts_of(OLD)
    torch = facts["torch"]
    assert (torch.version, torch.cuda, torch.cuda_available, torch.device_count) == (
        "1.5.0+cu101",
        "10.1",
        True,
        2,
    )
    assert [gpu.name for gpu in facts["gpus"].devices] == ["Tesla P4", "Tesla P4"]
    assert facts["python"].version == "3.7.6"


@pytest.mark.parametrize(
    ("available", "version", "cuda", "devices"), [("True", "12.1", "12.1", 1), ("False", "None", None, 0)]
)
def test_the_form_with_stars(available, version, cuda, devices, facts_of):
    torch = facts_of(NEW.format(available=available, version=version))["torch"]
    assert (torch.version, torch.cuda, len(torch.devices)) == ("2.1.0", cuda, devices)


@pytest.mark.parametrize("text", ["cuda:\n\tavailable: maybe\n\tversion: 12.1\n", "CUDA:\nversion: 11\n"])
def test_what_is_none(text, facts_of):
    with pytest.raises(Exception, match="neither a gpudoctor report"):
        facts_of(text)


def test_torchvision(facts_of):
    text = "* CUDA:\n\t- GPU: None\n\t- available: False\n\t- version: 12.1\n"
    text += "* Lightning:\n\t- torch: 2.2.1\n\t- torchvision: 0.15.2\n"
    vision = facts_of(text)["torchvision"]
    assert (vision.version, vision.torch_version) == ("0.15.2", "2.2.1")
