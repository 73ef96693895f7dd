"""A saved report gives back its facts, or one line with the place of what is wrong."""

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor import facts as known
from gpudoctor.facts import Gpu, Gpus, Launch, Raised, Torch
from gpudoctor.importers import Unreadable
from gpudoctor.render.json import encode
from gpudoctor.render.markdown import ticket
from gpudoctor.report import ProbeResult, ProbeStatus, Report

settings.register_profile("importers", deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def values(kind):
    """A strategy for a field's type, as msgspec sees it."""
    kind = msgspec.inspect.type_info(kind) if not isinstance(kind, msgspec.inspect.Type) else kind
    match kind:
        case msgspec.inspect.StructType():
            fields = {f.name: values(f.type) for f in kind.fields}
            return st.builds(kind.cls, **fields)
        case msgspec.inspect.UnionType():
            return st.one_of(*map(values, kind.types))
        case msgspec.inspect.ListType():
            return st.lists(values(kind.item_type), max_size=3)
        case msgspec.inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=3)
        case msgspec.inspect.EnumType():
            return st.sampled_from(list(kind.cls))
        case msgspec.inspect.StrType():
            return TEXT
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            return st.integers(-(2**63), 2**63 - 1)
        case msgspec.inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.AnyType():
            return st.none()
    raise AssertionError(kind)


SNAPSHOTS = st.fixed_dictionaries(
    {},
    optional={
        name.lower(): values(getattr(known, name)) for name in ("Torch", "Gpus", "Host", "Launch", "Names")
    },
)


@settings(settings.get_profile("importers"), max_examples=60)
@given(facts=SNAPSHOTS, probes=st.lists(values(ProbeResult), max_size=3))
def test_a_report_gives_back_its_facts_and_probes(facts, probes, read_text):
    report = Report(facts=facts, probes=probes)
    imported = read_text(encode(report))
    assert imported.snapshot.facts == facts
    assert imported.snapshot.probes == probes
    assert imported.report == report


@settings(settings.get_profile("importers"), max_examples=60)
@given(facts=SNAPSHOTS.filter(lambda facts: "\\u0000" not in encode(Report(facts=facts))))
def test_a_ticket_gives_back_the_facts(facts, read_text):
    imported = read_text(ticket(Report(facts=facts)))
    assert imported.snapshot.facts == imported.report.facts == facts


REPORT = Report(
    version="0.1.0",
    probes=[ProbeResult(name="torch", status=ProbeStatus.OK)],
    facts={
        "torch": Torch(imported=False, error=Raised(type="OSError", message='a "b" \\ \U0001f600')),
        "gpus": Gpus(devices=[Gpu(index=0, name="NVIDIA H200", memory_bytes=150 << 30)]),
        "launch": Launch(variables={"NCCL_DEBUG": "INFO"}),
    },
)


@pytest.mark.parametrize("text", [encode(REPORT), msgspec.json.encode(REPORT).decode()])
def test_every_prefix_of_a_report_is_unreadable(text, read_text):
    data = text.rstrip().encode()
    for length in range(len(data)):
        with pytest.raises(Unreadable) as caught:
            read_text(data[:length])
        assert str(caught.value).isprintable()
    assert read_text(data).snapshot.facts == REPORT.facts


def damage(path, value):
    """Put a value into the report at a path of keys."""
    document = json.loads(encode(REPORT))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "path, value, line",
    [
        (["facts", "torch", "version"], 5, "facts.torch.version: expected str | null, got int"),
        (["facts", "torch"], [], "facts.torch: expected object, got array"),
        (["facts", "gpus", "devices"], [{}], "facts.gpus.devices[0]: object missing required field index"),
        (["facts", "launch", "variables", "A"], None, "facts.launch.variables[...]: expected str, got null"),
        (["facts"], None, "facts: expected object, got null"),
        (["version"], None, "version: expected str, got null"),
        (["findings"], {}, "findings: expected array, got object"),
        (["probes", 0, "status"], "odd", "probes[0].status: invalid enum value 'odd'"),
        (["probes", 0, "name"], 1, "probes[0].name: expected str, got int"),
        (
            ["schema"],
            "gpudoctor.report/2",
            "schema gpudoctor.report/2: this gpudoctor reads gpudoctor.report/1; upgrade gpudoctor",
        ),
        (["schema"], None, "JSON without a schema: no gpudoctor report"),
        (["schema"], 1, "JSON of another schema ('1'): no gpudoctor report"),
        (["schema"], "other\x1b[2J\n", "JSON of another schema ('other\\x1b[2J\\n'): no gpudoctor report"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path, value, line, read_text):
    with pytest.raises(Unreadable) as caught:
        read_text(damage(path, value))
    assert str(caught.value).partition("given: ")[2] == line


@pytest.mark.parametrize(
    "text, words",
    [
        (
            '{"schema": "gpudoctor.report/1",\n "version": }',
            "not valid JSON at line 2, column 13: invalid character",
        ),
        (
            '{"schema": "gpudoctor.report/1"} and more',
            "not valid JSON at line 1, column 3",
        ),
        ('{"schema": "gpudoctor.report/1",\n', "cut off or damaged: the JSON has no end (line 1)"),
        ('{"schema": "gpudoctor.report/1", "facts": {"torch": NaN}}', "not valid JSON at line 1"),
        ('{"schema": "gpudoctor.report/1", "created": "\\ud800"}', "cut off or damaged"),
        ('{"schema": "gpudoctor.report/1", "x": ' + "[" * 100_000, "nested too deeply"),
        ('{"schema": "gpudoctor.report/1", "facts": {"other": ' + '{"a":' * 100_000, "nested too deeply"),
        (
            '{"schema": "gpudoctor.report/1", "facts": {"gpus": {"error_code": 1e400}}}',
            "facts.gpus.error_code: number",
        ),
        (
            '{"schema": "gpudoctor.report/1", "facts": {"gpus": {"error_code": ' + "9" * 9999 + "}}}",
            "facts.gpus.error_code: ",
        ),
        ('{"a": 1}', "JSON without a schema"),
        ("{", "cut off or damaged"),
    ],
)
def test_damaged_json_is_named_with_its_place(text, words, read_text):
    with pytest.raises(Unreadable) as caught:
        read_text(text)
    line = str(caught.value).partition("given: ")[2]
    assert line.startswith(words)
    assert len(line) < 300


def test_what_nobody_knows_here_is_left_out(read_text):
    document = json.loads(encode(REPORT))
    document["facts"]["another_plugin"] = {"anything": [1, {"deep": None}]}
    document["facts"]["torch"]["new_field"] = 1
    document["new"] = {"a": 1}
    imported = read_text(json.dumps(document))
    assert imported.snapshot.facts == REPORT.facts
    assert imported.report is not None
    assert imported.report.facts == REPORT.facts


def test_a_report_in_a_text_file_is_told_by_its_content(read_text):
    assert read_text("\n\n  " + encode(REPORT)).report == REPORT
