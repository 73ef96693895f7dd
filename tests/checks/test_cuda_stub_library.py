"""cuda-stub-library: a stub, or a compatibility library that does not work here, instead of the driver's libcuda."""

import pytest

from gpudoctor.facts import Cuda, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cuda-stub-library")
STUBS = "/usr/local/cuda/lib64/stubs"


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_the_folder_is_taken_off_the_path_and_the_rest_stays():
    launch = Launch(variables={"LD_LIBRARY_PATH": f"{STUBS}:/opt/lib"})
    _, [finding] = run(cuda=Cuda(library=f"{STUBS}/libcuda.so.1", init=34), launch=launch)
    assert finding.message.startswith(f"libcuda.so.1 is {STUBS}/libcuda.so.1, a stub")
    assert finding.fixes[0].command == "export LD_LIBRARY_PATH=/opt/lib"


def test_a_preloaded_one_is_named_by_its_file():
    launch = Launch(variables={"LD_PRELOAD": f"{STUBS}/libcuda.so.1"})
    _, [finding] = run(cuda=Cuda(library=f"{STUBS}/libcuda.so.1", init=34), launch=launch)
    assert finding.fixes[0].command == "unset LD_PRELOAD"


@pytest.mark.parametrize(
    "cuda",
    [
        Cuda(library="/usr/lib/libcuda.so.1", init=34),
        Cuda(library="/usr/local/cuda/compat/libcuda.so.595.1", init=803),
        Cuda(library="/usr/lib/libcuda.so.595.1", init=804),
    ],
)
def test_without_a_variable_the_linker_is_asked(cuda):
    _, [finding] = run(cuda=cuda)
    assert any("ld.so.conf.d" in fix.command for fix in finding.fixes)


@pytest.mark.parametrize(
    "cuda",
    [
        Cuda(library="/usr/lib/x86_64-linux-gnu/libcuda.so.580.82.07", init=0),
        Cuda(library="/usr/local/cuda/compat/libcuda.so.595.1", init=0),  # forward compatibility that works
        Cuda(library="/usr/lib/libcuda.so.1", init=999),
        Cuda(error="libcuda.so.1: cannot open shared object file"),
    ],
)
def test_passed(cuda):
    result, found = run(cuda=cuda)
    assert (result.status, found) == (CheckStatus.PASSED, [])


@pytest.mark.parametrize("facts", [{}, {"cuda": Cuda()}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN
