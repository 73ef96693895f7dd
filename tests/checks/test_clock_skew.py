"""clock-skew: in logs, and in what the kernel or a text says of the clock."""

import pytest

from gpudoctor.facts import Clock, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "a clock is wrong here or on the other side: "
EXAMPLES = {
    "slurmd: error: Munge decode failed: Rewound credential": MESSAGE + "what MUNGE signed is Rewound",
    "GSSError: Minor code may provide more information, Clock skew too great": MESSAGE
    + "Clock skew too great",
    "make: warning:  Clock skew detected.  Your build may be incomplete.": MESSAGE + "Clock skew detected",
    "ssl.SSLCertVerificationError: [SSL] certificate verify failed: certificate is not yet valid (_ssl.c:1007)": (
        MESSAGE + "a certificate is not yet valid"
    ),
}
NOT_THIS = [
    "slurmd: error: Munge decode failed: Invalid credential",
    "certificate verify failed: self-signed certificate",
]
SAID = "System clock synchronized: no"
SEVERAL = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8", "RANK": "0", "LOCAL_RANK": "0"})


def run(**facts):
    return examine(Registry().check("clock-skew"), Source.ENVIRONMENT, Snapshot(facts))


def test_found_behind():
    _, [finding] = run(
        clock=Clock(synchronized=True, offset_seconds=-412.5, said="System time : 412.5 seconds slow")
    )
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("this machine's clock is 412.5 s behind the time of the network")


def test_found_where_no_service_keeps_it():
    for facts in (
        {"clock": Clock(synchronized=False, said=SAID)},
        {"clock": Clock(synchronized=False), "launch": SEVERAL},
    ):
        _, [finding] = run(**facts)
        assert finding.severity is Severity.NOTE
        assert finding.message.startswith("no time service keeps this machine's clock")


@pytest.mark.parametrize(
    "clock",
    [
        Clock(synchronized=True),
        Clock(synchronized=True, offset_seconds=0.0004),
        Clock(synchronized=False),  # a machine alone, such as a container
    ],
)
def test_passes(clock):
    assert run(clock=clock)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(clock=Clock())[0].status is CheckStatus.UNKNOWN
