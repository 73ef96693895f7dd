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
        (
            "xFormers was built for:\n  PyTorch 2.3.1+cu121 with CUDA 1201 (you have 2.4.0+cu118)",
            "2.4.0+cu118",
            "11.8",
        ),
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


IMPORT = (
    "Traceback (most recent call last):\n"
    '  File "<string>", line 1, in <module>\n'
    "{frame}"
    "ImportError: {library}: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12\n"
)
LISTED = "torch                    2.5.0+cu124\ntorchvision              0.20.0+cu124\n"


def test_a_listed_torch_whose_import_fails(facts_of):
    frame = '  File "/v/lib/python3.10/site-packages/torch/__init__.py", line 367, in <module>\n'
    text = IMPORT.format(frame=frame, library="libcusparse.so.12")
    torch = facts_of(HEAD + text + "$ pip list | grep torch\n" + LISTED)["torch"]
    assert (torch.imported, torch.version, torch.error.type) == (False, "2.5.0+cu124", "ImportError")


def test_an_import_of_another_package_says_nothing_of_torch(facts_of):
    frame = (
        '  File "/v/lib/python3.10/site-packages/cupy/__init__.py", line 3, in <module>\n    import cupy\n'
    )
    text = IMPORT.format(frame=frame, library="libcusparse.so.12")
    assert facts_of(HEAD + text + "$ pip list | grep torch\n" + LISTED)["torch"].imported


def test_what_torch_itself_raised_once_it_was_imported_is_no_import_that_fails(facts_of):
    text = (
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.10/site-packages/torch/__init__.py", line 2240, in __call__\n'
        "RuntimeError: Found no C++ compiler\n"
    )
    assert facts_of(HEAD + text + "$ pip list | grep torch\n" + LISTED)["torch"].imported


@pytest.mark.parametrize(
    "text",
    [
        "my torch version is 2.0.1\ncuda is 11.8\n",
        "- CUDA: 11.8\n- PyTorch: 2.0.1\n",
        "* **PyTorch version**: 2.0.1\n* **CUDA version**: 11.8\n",
    ],
)
def test_torch_and_cuda_on_two_lines(text, facts_of):
    torch = facts_of(text + "GPU: RTX 5080\n")["torch"]
    assert (torch.version, torch.cuda) == ("2.0.1+cu118", "11.8")


def test_a_toolkit_below_torch_that_no_wheel_is_for(facts_of):
    told = facts_of("torch: 2.0.1\ncuda: 12.2\nRANK=0\nWORLD_SIZE=1\nCUDA_VISIBLE_DEVICES=0\n")
    assert "torch" not in told or told["torch"].cuda != "12.2"
