"""torch-missing: there is no torch in the Python that runs."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Python, Raised, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("torch-missing")
MESSAGE = "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into"
EXAMPLES = {
    "/usr/bin/python: No module named torch.distributed": MESSAGE,
    "/usr/bin/python3: No module named torch": MESSAGE,
    "ModuleNotFoundError: No module named 'torch'": MESSAGE,
    'ModuleNotFoundError: No module named "torch"': MESSAGE,
    (
        "/usr/bin/python3: Error while finding module specification for "
        "'torch.distributed.launch' (ModuleNotFoundError: No module named 'torch')"
    ): MESSAGE,
    "ImportError: No module named torch.distributed": MESSAGE,
    "ImportError: No module named torch": MESSAGE,
    "ImportError: No module named torch.utils.cpp_extension": MESSAGE,
    "bash: torchrun: command not found": MESSAGE,
    "bash: line 1: torchrun: command not found": MESSAGE,
    'exec: "torchrun": executable file not found in $PATH': MESSAGE,
    (
        "AutoModel requires the PyTorch library but it was not found in your environment. "
        "Check out the instructions on the"
    ): MESSAGE,
    'Exception: You tried to install "pytorch". The package named for PyTorch is "torch"': MESSAGE,
    "/usr/bin/env: ‘torchrun’: No such file or directory": MESSAGE,
    "zsh: command not found: torchrun": MESSAGE,
    "FileNotFoundError: [Errno 2] No such file or directory: '/opt/env/bin/torchrun'": MESSAGE,
    "torchrun : The term 'torchrun' is not recognized as the name of a cmdlet, function, script file, or operable program.": MESSAGE,
    "importlib.metadata.PackageNotFoundError: No package metadata was found for torch": MESSAGE,
    "pkg_resources.DistributionNotFound: The 'torch>=1.13' distribution was not found and is required by the application": MESSAGE,
    "ModuleNotFoundError: Cannot make tensors, PyTorch is not installed.": (
        "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into"
    ),
    "ERROR: Could not find a version that satisfies the requirement torch==2.9.0 (from versions: none)": "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into",
    "ERROR: No matching distribution found for torch==2.9.0": "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into",
    "Whenever I try to import torch it says that the module does not exist": "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into",
    "slurmstepd: error: execve(): torchrun: No such file or directory": "the Python that ran has no torch: it is not the one, or not the environment, that torch was installed into",
}
NOT_THIS = [
    "/usr/bin/python3: No module named torch_scatter",
    "/usr/bin/python3: No module named torch.distributed.run",
    "ModuleNotFoundError: No module named 'torch._six'",
    "ModuleNotFoundError: No module named 'torchvision'",
    "ModuleNotFoundError: No module named 'torch_scatter'",
    "ImportError: No module named torchvision",
    "torchrun: error: unrecognized arguments: --nproc",
    "importlib.metadata.PackageNotFoundError: No package metadata was found for torchao",
    "ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package",
]
PYTHON = Python(executable="/home/me/.venv/bin/python", version="3.11.7", chosen="active virtual environment")
PIP = Distributions(installed=[Distribution(name="pip", version="24.0")])
MISSING = Torch(imported=False, error=Raised(type="ModuleNotFoundError", message="No module named 'torch'"))


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_found_and_the_command_is_made_for_this_interpreter():
    _, [finding] = run(torch=MISSING, python=PYTHON, distributions=PIP)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "/home/me/.venv/bin/python (3.11.7, active virtual environment) has no torch"
    )
    assert finding.fixes[0].command == "/home/me/.venv/bin/python -m pip install torch torchvision"
    assert finding.evidence[0].text == "ModuleNotFoundError: No module named 'torch'"


def test_an_environment_of_uv_has_no_pip():
    _, [finding] = run(torch=MISSING, python=PYTHON, distributions=Distributions())
    assert finding.fixes[0].command.startswith("uv pip install --python /home/me/.venv/bin/python ")


def test_an_interpreter_that_nobody_chose_is_questioned_first():
    python = Python(
        executable="/opt/tool/bin/python", version="3.12.1", chosen="gpudoctor's own", by_default=True
    )
    _, [finding] = run(torch=MISSING, python=python, distributions=PIP)
    assert finding.fixes[0].command == "gpudoctor check --python PYTHON"


def test_a_folder_of_that_name_is_no_torch():
    _, [finding] = run(torch=Torch(imported=True, file="/home/me/project/torch"), python=PYTHON)
    assert "/home/me/project/torch" in finding.message
    assert "mv -n /home/me/project/torch /home/me/project/torch-renamed" in finding.fixes[0].command


def test_a_pasted_text_that_says_no_torch():
    _, [finding] = run(torch=Torch(imported=False), python=Python(executable="", version="3.10.14"))
    assert finding.fixes[0].command == "pip install torch torchvision"
    assert "the Python that was examined (3.10.14) has no torch" in finding.message


@pytest.mark.parametrize(
    "torch",
    [
        Torch(imported=True, version="2.15.0", file="/env/torch/__init__.py"),
        Torch(imported=True, version="2.5.1"),
        Torch(
            imported=False,
            file="/env/torch/__init__.py",
            error=Raised(type="ImportError", message="libcudnn.so.9"),
        ),
        Torch(
            imported=False,
            error=Raised(type="ModuleNotFoundError", message="No module named 'typing_extensions'"),
        ),
        Torch(imported=True, file="/home/me/torch.py"),
    ],
)
def test_passes(torch):
    assert run(torch=torch, python=PYTHON)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run(python=PYTHON)[0].reason == "torch: not in this report"
    hanging = Torch(interrupted="no answer in 90 s", stage="import torch", file="/env/torch/__init__.py")
    assert run(torch=hanging)[0].status is CheckStatus.UNKNOWN
