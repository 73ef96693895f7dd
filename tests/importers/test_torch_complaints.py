"""What torch said of a machine, in texts that hold no environment block."""

import pytest

from gpudoctor.facts import Cuda, Torch

TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver by "
    "downloading and installing a new version"
)
CARD = "NVIDIA GeForce RTX 5090"
WORDS = "is not compatible with the current PyTorch installation."
INCOMPATIBLE = f"{CARD} with CUDA capability sm_120 {WORDS}"
BUILT = ["sm_80", "sm_86", "sm_90"]
LOGGED = "Oct 04 13:19:39 host ui[394]: "
SUPPORTS = "The current PyTorch install supports CUDA capabilities sm_80 sm_86 sm_90."


@pytest.mark.parametrize(
    "text",
    [
        f"RuntimeError: {TOO_OLD}",
        f"AssertionError: \n{TOO_OLD}",
        f"> {TOO_OLD}",
        f"Oct 04 13:19:39 host train[394]: RuntimeError: {TOO_OLD}",
    ],
)
def test_a_driver_that_is_too_old(text, facts_of):
    facts = facts_of(text)
    assert facts["cuda"] == Cuda(version="11.4")
    torch = facts["torch"]
    assert (torch.cuda, torch.version, torch.cuda_available) == ("", None, False)
    assert torch.cuda_error.message.startswith(
        "The NVIDIA driver on your system is too old (found version 11040)"
    )


@pytest.mark.parametrize(
    ("text", "name", "architectures"),
    [
        (f"{INCOMPATIBLE}\n{SUPPORTS}", CARD, BUILT),
        (f"x: UserWarning:\n    {INCOMPATIBLE}\n    {SUPPORTS}", CARD, BUILT),
        (f"{LOGGED}{INCOMPATIBLE}\n{LOGGED}{SUPPORTS}", CARD, BUILT),
        (f"{CARD} with CUDA capabilities sm_120 {WORDS}".lower(), CARD.lower(), []),
    ],
)
def test_a_gpu_without_code(text, name, architectures, facts_of):
    torch = facts_of(text)["torch"]
    assert [(device.name, device.capability) for device in torch.devices] == [(name, "12.0")]
    assert torch.arch_list == architectures
    assert torch.cuda_available is None


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA says that the driver is too old for this, so I updated it, nvidia-smi works",
        "torch: is the RTX 5090 with sm_120 compatible?",
        "NVIDIA: No CUDA GPUs are available is what a friend gets",
    ],
)
def test_prose_about_it_is_no_evidence(text, read_text):
    with pytest.raises(Exception, match="neither a gpudoctor report"):
        read_text(text)


def test_a_block_has_the_word(facts_of):
    block = "PyTorch version: 2.7.1+cu128\nCUDA used to build PyTorch: 12.8\nIs CUDA available: True\n"
    torch = facts_of(f"It was `{TOO_OLD}` before I updated.\n\n{block}")["torch"]
    assert isinstance(torch, Torch)
    assert (torch.version, torch.cuda_error) == ("2.7.1+cu128", None)
