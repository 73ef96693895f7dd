"""DeepSpeed's ds_report."""

import pytest

REPORT = """\
DeepSpeed general environment info:
torch install path ............... ['/opt/conda/lib/python3.10/site-packages/torch']
torch version .................... {version}
torch cuda version ............... {cuda}
torch hip version ................ {hip}
shared memory (/dev/shm) size .... 64.00 MB
"""


@pytest.mark.parametrize(
    ("version", "cuda", "hip", "built"),
    [
        ("2.1.0+cu118", "11.8", "None", ("11.8", None)),
        ("2.1.0", "None", "None", (None, None)),
        ("2.4.0+rocm6.1", "None", "6.1.40091", (None, "6.1.40091")),
    ],
)
def test_report(version, cuda, hip, built, facts_of):
    facts = facts_of(REPORT.format(version=version, cuda=cuda, hip=hip))
    assert (facts["torch"].version, facts["torch"].cuda, facts["torch"].hip) == (version, *built)
    assert facts["host"].shm_bytes == 64 << 20


def test_a_report_that_is_cut_off_says_nothing_of_the_build(facts_of):
    facts = facts_of("torch version .................... 2.1.0\nshared memory (/dev/shm) size .... 1.00 GB\n")
    assert "torch" not in facts
    assert facts["host"].shm_bytes == 1 << 30
