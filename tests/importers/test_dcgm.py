"""What DCGM says of GPUs, in the cells of its tables and in lines."""

import pytest

from gpudoctor.facts import Gpu, RemappedRows
from gpudoctor.importers import dcgm

DIAG = """\
| Page Retirement/Row Remap | Fail                                           |
| Warning                   | {}
"""


@pytest.mark.parametrize(
    ("said", "gpu"),
    [
        (
            "GPU 5 had memory errors and row remappings are pending |",
            Gpu(index=5, remapped_rows=RemappedRows(pending=True)),
        ),
        (
            "GPU 5 had uncorrectable memory errors and row |\n|    | remapping failed. |",
            Gpu(index=5, remapped_rows=RemappedRows(failed=True)),
        ),
        ("Persistence mode for GPU 0 is disabled. Enable it |", Gpu(index=0, persistence=False)),
        (
            "Pending page retirements together with a DBE were detected on GPU 1. |",
            Gpu(index=1, retired_pages_pending=True),
        ),
        ("GPU 3 requires a reset to recover from a fault. |", Gpu(index=3, reset_required=True)),
    ],
)
def test_a_sentence(said, gpu):
    assert dcgm.read(DIAG.format(said).splitlines()) == [gpu]


def test_two_sentences_of_one_gpu_and_one_of_another():
    lines = [
        "Persistence mode for GPU 1 is disabled.",
        "GPU 1 had memory errors and row remappings are pending",
        "Persistence mode for GPU 0 is disabled.",
    ]
    first, second = dcgm.read(lines)
    assert first == Gpu(index=0, persistence=False)
    assert second == Gpu(index=1, persistence=False, remapped_rows=RemappedRows(pending=True))


def test_what_passes_says_nothing():
    assert dcgm.read(["| Persistence Mode          | Pass - All          |", "GPU 0: Tesla T4"]) == []


def test_a_gpu_by_its_number_alone_was_read(facts_of):
    [gpu] = facts_of("NVIDIA DCGM\n" + DIAG.format("Persistence mode for GPU 0 is disabled. |"))["gpus"].read
    assert (gpu.index, gpu.persistence) == (0, False)


def test_metrics_of_the_exporter():
    metric = 'DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="3",UUID="GPU-5c1",device="nvidia3"} '
    pending = 'DCGM_FI_DEV_ROW_REMAP_PENDING{Hostname="a",gpu="3"} 1'
    rows = RemappedRows(failed=True, pending=True)
    assert dcgm.read([f"{metric}1", pending]) == [Gpu(index=3, remapped_rows=rows)]
    assert dcgm.read([f"{metric}0"]) == []
