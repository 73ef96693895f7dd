"""nccl-version-mismatch: seen in logs."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Rank, Ranks, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-version-mismatch")
MESSAGE = "two processes do not understand each other's messages: another NCCL, or settings that differ"
MISMATCHED = "node0:4711:4711 [0] init.cc:1100 NCCL WARN Mismatched NCCL version detected : rank 0 version 21903 rank 8 version 22005"
EXAMPLES = {
    MISMATCHED: "rank 0 has NCCL 2.19.3 and rank 8 has 2.20.5: they must be the same",
    "node0:4711:4790 [0] ras/client.cc:80 NCCL WARN NCCL version mismatch with remote peer 10.0.0.3<40112> (local: 22602, remote 22703)": (
        "this process has NCCL 2.26.2 and another one 2.27.3: they must be the same"
    ),
    "NCCL WARN NCCL version mismatch with remote peer 10.0.0.3<40112> (local: 2.30.7, remote 2.28.3)": (
        "this process has NCCL 2.30.7 and another one 2.28.3: they must be the same"
    ),
    "NCCL WARN NCCL library is too old. This application was compiled with NCCL version 2.30.7, but is running with NCCL library version 2.27.3.": (
        "the program was compiled with NCCL 2.30.7 and runs with 2.27.3"
    ),
    (
        "[rank0]: The application was compiled with too old version of NCCL. It was compiled with NCCL version 2.27.3, but is running with "
        "NCCL library version 2.30.7."
    ): "the program was compiled with NCCL 2.27.3 and runs with 2.30.7",
    "node0:4711:4711 [0] graph/xml.cc:120 NCCL WARN XML Topology has wrong version 2, 1 needed": (
        "the topology file is of version 2, and this NCCL needs 1"
    ),
    "node0:4711:4711 [0] bootstrap.cc:77 NCCL WARN Message truncated : received 256 bytes instead of 4": MESSAGE,
    "node0:4711:4711 [0] misc/socket.cc:480 NCCL WARN socketFinalizeAccept: wrong magic 5a3c != 7f01": MESSAGE,
}
NOT_THIS = [
    "NCCL version 2.19.3+cuda12.3",
    "node0:4711:4711 [0] NCCL INFO Using non-device net plugin version 0",
    "node0:4711:4711 [0] init.cc:1247 NCCL WARN Mismatched collective detected, please check your collective calls",
    "NCCL INFO socketFinalizeAccept from 10.0.0.9<5>: socket magic mismatch (peer 0x1 != expected 0x2), discarding peer connection",
]


def test_a_version_of_four_digits_is_read_as_such():
    (seen,) = matches(MISMATCHED.replace("21903", "2804"), [CHECK])
    assert seen.finding.message == "rank 0 has NCCL 2.8.4 and rank 8 has 2.20.5: they must be the same"


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def torch(nccl, libraries=None):
    return Torch(imported=True, version="2.15.0+cu132", cuda="13.2", nccl=nccl, libraries=libraries)


def wheels(version, pin="2.30.7"):
    own = Distribution(
        name="torch", version="2.15.0", pins=[f"nvidia-nccl-cu13=={pin}; platform_system == 'Linux'"]
    )
    return Distributions(installed=[own, Distribution(name="nvidia-nccl-cu13", version=version)])


def test_another_nccl_than_the_wheels_is_loaded():
    _, [finding] = run(torch=torch("2.18.1"), distributions=wheels("2.30.7"))
    assert (
        "torch runs with NCCL 2.18.1, and the installed wheel nvidia-nccl-cu13 is of version 2.30.7"
        in finding.message
    )


def test_a_wheel_older_than_the_one_torch_was_built_with():
    _, [finding] = run(torch=torch("2.27.3"), distributions=wheels("2.27.3"))
    assert "was built with 2.30.7" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"torch": torch("2.30.7"), "distributions": wheels("2.30.7")},
        {"torch": torch("2.31.0"), "distributions": wheels("2.31.0")},  # upgraded on purpose
        {
            "torch": torch("2.27.5", libraries=["/a/libcudnn.so.9"]),
            "distributions": wheels("2.30.7"),
        },  # inside torch
        {"torch": torch("2.27.5"), "distributions": Distributions()},
    ],
)
def test_environment_passed(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(torch=torch(None), distributions=wheels("2.30.7"))[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(("other", "differs"), [("2.27.3", True), ("2.30.7", False), (None, False)])
def test_reports_of_two_ranks(other, differs):
    own = Torch(imported=True, version="2.15.0+cu132", cuda="13.2", nccl="2.30.7")
    theirs = Torch(imported=True, version="2.8.0+cu128", cuda="12.8", nccl=other)
    ranks = Ranks(each=[Rank.of("/a/r0.json", [own]), Rank.of("/a/r1.json", [theirs])])
    facts = {"torch": own, "distributions": Distributions(), "ranks": ranks}
    _, found = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    says = "NCCL 2.30.7 (torch 2.15.0+cu132) in r0.json and NCCL 2.27.3 (torch 2.8.0+cu128) in r1.json: NCCL refuses"
    assert [says in finding.message for finding in found] == [True] * differs
