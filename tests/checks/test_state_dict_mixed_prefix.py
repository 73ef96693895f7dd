"""state-dict-mixed-prefix: seen in files."""

from gpudoctor.checkpoint.description.wrappers import prefixes
from gpudoctor.facts import CheckpointFile, Key, StateDict
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

CHECK = Registry().check("state-dict-mixed-prefix")


def found(*names):
    keys = tuple(Key(name=name, dtype="float32", shape=(1,), size=4, device="cpu") for name in names)
    state = StateDict(entry="model", keys=keys, prefixes=prefixes(names))
    file = CheckpointFile(path="m.pt", kind="torch zip", state_dicts=(state,))
    return list(CHECK.functions[Source.CHECKPOINT](file, None))


def test_some_with_and_some_without_is_a_warning():
    (finding,) = found("module.a.weight", "module.a.bias", "b.weight")
    assert finding.severity is Severity.WARNING
    assert finding.message == "of 3 keys of 'model', 2 have module., 1 has none"
    assert [evidence.text for evidence in finding.evidence] == ["module.a.weight", "b.weight"]


def test_a_key_that_is_there_twice_is_an_error():
    (finding,) = found("module.a.weight", "a.weight")
    assert finding.severity is Severity.ERROR
    assert "a.weight is there with and without it" in finding.message


def test_once_and_twice_wrapped_is_mixed():
    (finding,) = found("module.a.weight", "module.module.b.weight")
    assert "1 has module.module., 1 has module." in finding.message


def test_all_or_none_or_a_part_of_the_model_is_fine():
    assert found("module.a.weight", "module.b.weight") == []
    assert found("a.weight", "b.weight") == []
    assert found("backbone._orig_mod.a.weight", "head.weight") == []


def test_the_count_of_an_average_is_no_key_without_a_prefix():
    assert found("n_averaged", "module.a.weight", "module.b.weight") == []
    assert len(found("n_averaged", "module.a.weight", "b.weight")) == 1
