"""uneven-inputs: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("uneven-inputs")
SKEW = (
    "UserWarning: Detected uneven input skew of greater than 1000. This means that rank 0 has at least 1000 fewer inputs "
    "than other currently-active ranks."
)
EXAMPLES = {
    "[rank0]: RuntimeError: Rank 0 exhausted all inputs.": "rank 0 had no more batches while others had",
    "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.": (
        "a rank had no more batches while others had"
    ),
    SKEW: "rank 0 has at least 1000 batches fewer than the others; Join makes up for it, slowly",
}
NOT_THIS = [
    "StopIteration",
    "[rank0]: Timed out waiting for rank(s): 1",
    "We leverage StopIteration once the generator has exhausted all inputs",
]


def test_what_join_makes_up_for_is_a_warning():
    assert matches(SKEW, [CHECK])[0].finding.severity is Severity.WARNING
