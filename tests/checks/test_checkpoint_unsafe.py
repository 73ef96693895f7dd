"""checkpoint-unsafe: seen in files; the error that torch raises for one is checkpoint-weights-only."""

import pytest

from gpudoctor.facts import CheckpointFile, Entry, Foreign
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("checkpoint-unsafe")
EXAMPLES = []


def found(*names, opcode="REDUCE", entries=(), kind="torch zip"):
    foreign = tuple(Foreign(name=n, opcode=opcode, place=7, entry="m/data.pkl") for n in names)
    file = CheckpointFile(path="my model.pt", kind=kind, foreign=foreign, entries=tuple(entries))
    return list(CHECK.checkpoint_function(file))


@pytest.mark.parametrize(
    "name",
    [
        "posix.system", "os.system", "builtins.eval", "builtins.exec", "builtins.getattr", "__builtin__.apply",
        "subprocess.Popen", "torch.hub.load", "torch.storage._load_from_bytes", "numpy.load", "numpy.f2py.crackfortran",
        "functools.partial", "__main__.Net", "torch.nn.modules.evil", "operator.attrgetter", "runpy._run_code", "eval",
    ],
)  # fmt: skip
def test_what_can_run_code_is_an_error(name):
    (finding,) = found(name)
    assert finding.severity is Severity.ERROR
    assert f"opening this file runs code: {name} (REDUCE at byte 7 of m/data.pkl)" in finding.message


@pytest.mark.parametrize(
    "name",
    [
        "argparse.Namespace", "numpy.core.multiarray.scalar", "numpy._core.multiarray._reconstruct", "numpy.dtype",
        "pathlib.PosixPath", "datetime.datetime", "torch.nn.modules.linear.Linear", "collections.defaultdict",
    ],
)  # fmt: skip
def test_known_types_are_a_warning(name):
    (finding,) = found(name)
    assert finding.severity is Severity.WARNING
    assert name in finding.message


def test_one_bad_name_among_known_ones_is_an_error_that_names_it():
    (finding,) = found("argparse.Namespace", "posix.system")
    assert finding.severity is Severity.ERROR
    assert "posix.system" in finding.message
    assert "argparse" not in finding.message


@pytest.mark.parametrize("opcode", ["NEWOBJ", "REDUCE", "GLOBAL", "STACK_GLOBAL", "INST"])
def test_a_class_that_nobody_knows_is_an_error_in_a_whole_model_too(opcode):
    whole = [Entry(path="", kind="module", text="mine.Net")]
    (finding,) = found("mine.Net", opcode=opcode, entries=whole)
    assert finding.severity is Severity.ERROR


def test_a_file_of_tensors_alone_is_safe():
    assert found() == []
