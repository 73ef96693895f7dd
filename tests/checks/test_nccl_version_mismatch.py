"""nccl-version-mismatch: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

EXAMPLES = [
    "node0:4711:4711 [0] init.cc:1100 NCCL WARN Mismatched NCCL version detected : rank 0 version 21903 rank 8 version 22005",
    "node0:4711:4790 [0] ras/client.cc:80 NCCL WARN NCCL version mismatch with remote peer 10.0.0.3<40112> (local: 22602, remote 22703)",
    "NCCL WARN NCCL version mismatch with remote peer 10.0.0.3<40112> (local: 2.30.7, remote 2.28.3)",
    "NCCL WARN NCCL library is too old. This application was compiled with NCCL version 2.30.7, but is running with NCCL library version 2.27.3.",
    (
        "[rank0]: The application was compiled with too old version of NCCL. It was compiled with NCCL version 2.27.3, but is running with "
        "NCCL library version 2.30.7."
    ),
    "node0:4711:4711 [0] graph/xml.cc:120 NCCL WARN XML Topology has wrong version 2, 1 needed",
    "node0:4711:4711 [0] bootstrap.cc:77 NCCL WARN Message truncated : received 256 bytes instead of 4",
    "node0:4711:4711 [0] misc/socket.cc:480 NCCL WARN socketFinalizeAccept: wrong type 4 != 3",
]
NOT_THIS = [
    "NCCL version 2.19.3+cuda12.3",
    "node0:4711:4711 [0] NCCL INFO Using non-device net plugin version 0",
    "node0:4711:4711 [0] init.cc:1247 NCCL WARN Mismatched collective detected, please check your collective calls",
    "NCCL INFO socketFinalizeAccept from 10.0.0.9<5>: socket magic mismatch (peer 0x1 != expected 0x2), discarding peer connection",
]
SAYS: dict[str, str] = {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EXAMPLES[0], "rank 0 has NCCL 2.19.3 and rank 8 has 2.20.5: they must be the same"),
        (EXAMPLES[1], "this process has NCCL 2.26.2 and another one 2.27.3: they must be the same"),
        (EXAMPLES[2], "this process has NCCL 2.30.7 and another one 2.28.3: they must be the same"),
        (EXAMPLES[3], "the program was compiled with NCCL 2.30.7 and runs with 2.27.3"),
        (EXAMPLES[5], "the topology file is of version 2, and this NCCL needs 1"),
        (
            EXAMPLES[6],
            "two processes do not understand each other's messages: another NCCL, or settings that differ",
        ),
        (
            EXAMPLES[0].replace("21903", "2804"),
            "rank 0 has NCCL 2.8.4 and rank 8 has 2.20.5: they must be the same",
        ),
    ],
)
def test_writes_the_versions_as_people_do(text: str, message: str) -> None:
    (seen,) = matches(text, [Registry().check("nccl-version-mismatch")])
    assert seen.finding is not None
    assert seen.finding.message == message
