"""weights-not-finite: seen in the numbers of files, which are read where they are asked for."""

import json
import math
import struct

from gpudoctor import inspect
from gpudoctor.facts import CheckpointValues
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Status
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("weights-not-finite")


def found(*nonfinite):
    return list(CHECK.functions[Source.CHECKPOINT](CheckpointValues(path="m.pt", nonfinite=nonfinite)))


def test_tensors_are_noted_with_the_number_of_their_numbers():
    (finding,) = found(("fc.weight", 3), ("fc.bias", 1))
    assert finding.severity is Severity.NOTE
    assert finding.message == "2 tensors hold NaN or infinite numbers"
    assert [evidence.text for evidence in finding.evidence] == ["fc.weight: 3 numbers", "fc.bias: 1 number"]
    (finding,) = found(("mask", 6))
    assert finding.message == "1 tensor holds NaN or infinite numbers"


def test_of_many_the_first_are_named():
    (finding,) = found(*((f"layers.{n}.weight", 1) for n in range(9)))
    assert finding.message.startswith("9 tensors hold")
    assert len(finding.evidence) == 5


def test_passes_where_all_numbers_are_finite():
    assert found() == []


def test_unknown_where_no_number_was_read():
    result, _ = examine(CHECK, Source.CHECKPOINT, Snapshot())
    assert result.status is CheckStatus.UNKNOWN


def saved(path, *numbers):
    """Write a file of safetensors with one tensor, without torch."""
    tensor = {"dtype": "F32", "shape": [len(numbers)], "data_offsets": [0, 4 * len(numbers)]}
    header = json.dumps({"fc.weight": tensor}).encode()
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def test_inspect_tells_it_where_the_values_are_asked_for(tmp_path):
    path = saved(tmp_path / "model.safetensors", 1.0, math.nan, math.inf)
    report = inspect(path, values=True)
    (finding,) = report.findings
    assert (finding.id, finding.source) == ("weights-not-finite", Source.CHECKPOINT)
    assert finding.message == "1 tensor holds NaN or infinite numbers"
    assert [evidence.text for evidence in finding.evidence] == ["fc.weight: 2 numbers"]
    assert report.verdict.status is Status.HEALTHY  # a note alone: it may be meant so
    assert "weights-not-finite" not in [result.id for result in inspect(path).checks]


def test_inspect_finds_nothing_where_all_is_finite(tmp_path):
    report = inspect(saved(tmp_path / "model.safetensors", 1.0, -2.5), values=True)
    assert report.findings == []
    (result,) = [result for result in report.checks if result.id == "weights-not-finite"]
    assert result.status is CheckStatus.PASSED
