"""module-missing: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("module-missing")
EXAMPLES = {
    "ModuleNotFoundError: No module named '_lzma'": (
        "the Python that ran has no module _lzma, of Python's own library; this Python was built without it, or is one that has "
        "it no more"
    ),
    "ModuleNotFoundError: No module named 'imp'": (
        "the Python that ran has no module imp, of Python's own library; this Python was built without it, or is one that has it "
        "no more"
    ),
    "ImportError: Unable to import required dependencies:\npytz: No module named 'pytz'": (
        "the Python that ran has no module pytz"
    ),
    "# No module named 'fused'": "the Python that ran has no module fused",
    "ImportError: Please install apex from https://www.github.com/nvidia/apex to use fp16 training.": "a library asks for apex, which is not installed",
    "ModuleNotFoundError: No module named 'fused_layer_norm_cuda'": (
        "the Python that ran has no module fused_layer_norm_cuda: apex was installed without its CUDA extensions"
    ),
    "ModuleNotFoundError: No module named 'einops'": "the Python that ran has no module einops",
    "[rank1]: ModuleNotFoundError: No module named 'apex.optimizers'": (
        "the Python that ran has no module apex.optimizers"
    ),
    "/usr/bin/python3: Error while finding module specification for 'projects.sft.train' (ModuleNotFoundError: No module named 'projects')": (
        "the Python that ran has no module projects.sft.train, which was to be run with -m"
    ),
    "/opt/venv/bin/python: No module named deepspeed": "the Python that ran has no module deepspeed",
    "ImportError: No module named cv2": "the Python that ran has no module cv2",
    "ModuleNotFoundError: No module named 'src.models'": (
        "the Python that ran has no module src.models, by its name a folder of the project itself"
    ),
    "ImportError: This modeling file requires the following packages that were not found in your environment: einops, timm. Run `pip install einops timm`": (
        "a library asks for einops, timm, which is not installed"
    ),
    "ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=1.1.0`: Please run `pip install accelerate`": (
        "a library asks for accelerate, which is not installed"
    ),
    "ImportError: LlamaTokenizer requires the SentencePiece library but it was not found in your environment.": (
        "a library asks for SentencePiece, which is not installed"
    ),
    "ModuleNotFoundError: This reader needs zarr, get it by: pip install zarr": (
        "a library asks for zarr, which is not installed"
    ),
    "ValueError: lakes is not available. Please install it to read tables, with `pip install lakes`.": (
        "a library asks for lakes, which is not installed"
    ),
    "ImportError: the speech reader requires soundkit to be installed.": (
        "a library asks for soundkit, which is not installed"
    ),
    "ModuleNotFoundError: Optional part 'gridkit' is not installed.": (
        "a library asks for gridkit, which is not installed"
    ),
    "ImportError: Please install treekit to use TreeLoader": (
        "a library asks for treekit, which is not installed"
    ),
    "AssertionError: DeepSpeed is not installed. See its page for how.": (
        "a library asks for DeepSpeed, which is not installed"
    ),
    "ValueError: Sharded training requires accelerate>=1.12.0, please upgrade.": (
        "a library asks for accelerate>=1.12.0, which is not installed"
    ),
    "Error: No module named 'lightning_utilities'": "the Python that ran has no module lightning_utilities",
}
NOT_THIS = [
    "ModuleNotFoundError: No module named 'torch'",
    "ModuleNotFoundError: No module named 'torch.distributed.device_mesh'",
    "ModuleNotFoundError: No module named 'numpy._core'",
    "ModuleNotFoundError: No module named 'flash_attn'",
    "ModuleNotFoundError: No module named 'random.nn'; 'random' is not a package",
    "Error caught was: No module named 'triton'",
    "UserWarning: Failed to initialize NumPy: No module named 'numpy'",
]


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("cv2", "python -m pip install opencv-python-headless"),
        ("yaml", "python -m pip install pyyaml"),
        ("sklearn.metrics", "python -m pip install scikit-learn"),
        ("google.protobuf", "python -m pip install protobuf"),
        ("flash_linear_attention", "python -m pip install flash-linear-attention"),
        ("utils.metrics", "python -m pip install --editable . || export PYTHONPATH=$PWD"),
    ],
)
def test_the_package_is_named_where_its_name_differs(module, command):
    (seen,) = matches(f"ModuleNotFoundError: No module named '{module}'", [CHECK])
    assert seen.finding.fixes[0].command == command


def test_a_module_of_pythons_own_is_not_installed_by_pip():
    (found,) = matches("ModuleNotFoundError: No module named '_ctypes'", [CHECK])
    assert not any(
        "pip install _ctypes" in fix.command or "-ctypes" in fix.command for fix in found.finding.fixes
    )
