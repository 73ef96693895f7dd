"""The torch that a text names with its build, where it holds no block of fields."""

import pytest

HEAD = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |\n"


@pytest.mark.parametrize(
    ("text", "version", "cuda"),
    [
        (">>> torch.__version__\n'2.9.0+cu130'", "2.9.0+cu130", "13.0"),
        ("print(torch.__version__, torch.cuda.is_available())\n2.3.1+cpu False", "2.3.1+cpu", None),
        ("I use PyTorch: 2.4.0+cu121 here", "2.4.0+cu121", "12.1"),
        ("Package Version\n------- -------\ntorch   2.6.0+cu124\n", "2.6.0+cu124", "12.4"),
        ("my torch version is 1.11.0,cuda 10.2", "1.11.0+cu102", "10.2"),
        ("pytorch: 2.0.1 with cuda 11.7", "2.0.1+cu117", "11.7"),
        ("- PyTorch 1.9 (CUDA 11.1)", "1.9.0+cu111", "11.1"),
    ],
)
def test_a_build_that_is_told(text, version, cuda, facts_of):
    torch = facts_of(HEAD + text)["torch"]
    assert (torch.version, torch.cuda, torch.cuda_available) == (version, cuda, None)


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch==2.4.0+cu121",
        "torch 2.4.0+cu121 hangs, torch 2.3.0+cu118 does not",
        "Package Version\n------- -------\ntorch   2.6.0\n",
        "torchvision 0.19.0+cu121",
        # no wheel of that release is for it: it is the toolkit's, or the driver's
        "torch 2.1.0, cuda 12.2",
        "pip install torch==1.11.0, cuda 10.2",
        "torch 1.9 cuda 10.2 fails, torch 1.9 cuda 11.1 fails",
        "the README asks for pytorch 1.7.1 and cuda 10.1",
        "We tested it with PyTorch 1.11.0, CUDA 10.2",
    ],
)
def test_none_or_more_than_one(text, facts_of):
    assert "torch" not in facts_of(HEAD + text)
