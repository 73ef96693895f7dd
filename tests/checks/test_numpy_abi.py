"""numpy-abi: seen in logs."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("numpy-abi")
MESSAGE = "an extension module in this environment was compiled for another NumPy than the installed one"
EXAMPLES = {
    "downgrade to 'numpy<2' or try to upgrade the affected module.": MESSAGE,
    "A module that was compiled using NumPy 1.x cannot be run in": MESSAGE,
    (
        "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.1 as it may crash. To support both 1.x and 2.x\n"
        "versions of NumPy, modules must be compiled with NumPy 2.0."
    ): MESSAGE + ", 2.0.1",
    "UserWarning: Failed to initialize NumPy: numpy.core.multiarray failed to import (Triggered internally at tensor_numpy.cpp:77.)": MESSAGE,
    "UserWarning: Failed to initialize NumPy: _ARRAY_API not found (Triggered internally at tensor_numpy.cpp:77.)": MESSAGE,
    "RuntimeError: Numpy is not available": MESSAGE,
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88": MESSAGE,
    "RuntimeError: module compiled against API version 0xe but this version of numpy is 0xd": MESSAGE,
    "AttributeError: _ARRAY_API not found": MESSAGE,
    "ImportError: numpy.core.multiarray failed to import": MESSAGE,
    "ImportError: numpy._core.multiarray failed to import": MESSAGE,
    "TypeError: expected np.ndarray (got numpy.ndarray)": MESSAGE,
    "RuntimeError: module was compiled against NumPy C-API version 0x10 (NumPy 1.23) but the running NumPy has C-API version 0xe.": (
        "an extension module in this environment was compiled for another NumPy, 1.23, than the installed one"
    ),
    "ModuleNotFoundError: No module named 'numpy._core.multiarray'": MESSAGE,
    "ImportError: Numba needs NumPy 2.0 or less. Got NumPy 2.2.": (
        "an extension module in this environment was compiled for another NumPy, 2.0, than the installed one, "
        "2.2"
    ),
    "ImportError: Numba needs NumPy 1.24 or less": (
        "an extension module in this environment was compiled for another NumPy, 1.24, than the installed one"
    ),
    "Importing the numpy C-extensions failed. This error can happen for": MESSAGE,
    "SystemError: initialization of _internal failed without raising an exception": MESSAGE,
}
NOT_THIS = [
    "UserWarning: Failed to initialize NumPy: No module named 'numpy' (Triggered internally at tensor_numpy.cpp:84.)",
    "ModuleNotFoundError: No module named 'numpy'\nRuntimeError: Numpy is not available",
    "RuntimeWarning: numpy.dtype size changed, may indicate binary incompatibility. Expected 96, got 88",
    "UserWarning: A NumPy version >=1.17.3 and <1.25.0 is required for this version of SciPy (detected version 1.26.4)",
    "AttributeError: module 'numpy' has no attribute 'bool'.",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def numpy(version):
    return Distributions(installed=[Distribution(name="numpy", version=version)])


def test_a_torch_that_was_compiled_for_numpy_1():
    _, [finding] = run(torch=Torch(imported=True, version="2.2.2+cu121"), distributions=numpy("2.1.0"))
    assert "torch 2.2.2+cu121 was compiled for NumPy 1, and NumPy 2.1.0 is installed" in finding.message
    assert "'numpy<2'" in finding.fixes[0].command


def test_what_torch_says_is_enough():
    said = "UserWarning: Failed to initialize NumPy: _ARRAY_API not found"
    _, [finding] = run(torch=Torch(imported=True, version="2.3.1", warnings=[said]))
    assert finding.evidence[0].text == said


@pytest.mark.parametrize(
    ("torch", "installed"),
    [("2.3.0", "2.4.1"), ("2.2.2", "1.26.4"), ("2.3.0a0+git", "2.0.0"), ("2.15.0+cu132", "2.4.1")],
)
def test_environment_passed(torch, installed):
    result, found = run(torch=Torch(imported=True, version=torch), distributions=numpy(installed))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_without_numpy_there_is_nothing_to_fit():
    said = "UserWarning: Failed to initialize NumPy: No module named 'numpy'"
    torch = Torch(imported=True, version="2.2.2", warnings=[said])
    assert run(torch=torch, distributions=Distributions())[0].status is CheckStatus.PASSED


def test_environment_unknown():
    assert run(torch=Torch(imported=True, version="2.2.2"))[0].status is CheckStatus.UNKNOWN
