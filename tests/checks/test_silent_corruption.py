"""silent-corruption: seen in measurements, and in a training that was held against one device."""

from gpudoctor.facts import Collective, DeviceSpeed, Disk, Measurements, Missing
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

GRADIENTS = (
    "the gradients of the first step differ from those of one device by 0.25 of their size in conv1.weight; float32 "
    "additions in another order explain up to 1e-05"
)
PARAMETERS = (
    "after training, the parameters of rank 1 (6d3b0c2f9a11) are not those of the other 2 (f8826bd9a461), by the SHA-256 of "
    "every bit"
)
ACCURACY = "the accuracy is 91.2%, and 98.4% after the same batches on one device; other random numbers and roundings explain up to 2%"
EXAMPLES = {
    f"wrong result: {text}": f"a training came to other numbers than one device would: {text}"
    for text in (GRADIENTS, PARAMETERS, ACCURACY)
}
NOT_THIS = ["wrong result: 404", GRADIENTS]
RIGHT = DeviceSpeed(ordinal=0, wrong_elements=0, checked_elements=262144)
WRONG = DeviceSpeed(ordinal=3, pci_address="0000:3b:00.0", wrong_elements=2, checked_elements=262144)


def run(**measured):
    facts = {"measurements": Measurements(**measured)}
    return examine(Registry().check("silent-corruption"), Source.ENVIRONMENT, Snapshot(facts))


def test_wrong_products():
    _, [finding] = run(devices=[RIGHT, WRONG])
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "2 of 262144 elements of matrix products of GPU 3 (0000:3b:00.0) are wrong: whatever it computes cannot be trusted"
    )
    assert finding.fixes[-1].command.startswith("export CUDA_VISIBLE_DEVICES")


def test_a_processor_cannot_be_left_out():
    _, [finding] = run(devices=[DeviceSpeed(ordinal=-1, wrong_elements=1, checked_elements=9)])
    assert "matrix products of the processor are wrong" in finding.message
    assert not any("CUDA" in fix.command for fix in finding.fixes)


def test_wrong_sums():
    wrong = "rank 1, int32: 1 of 9 elements, element 4 is 3 and must be 11"
    _, [finding] = run(collectives=[Collective(backend="gloo", ranks=2, interface="eth0", wrong=[wrong])])
    assert f"an all-reduce of gloo over eth0 gave wrong sums ({wrong})" in finding.message


def test_wrong_files():
    _, [finding] = run(devices=[RIGHT], disks=[Disk(folder="/data", size=100, wrong_bytes=7)])
    assert "7 of 100 bytes written to /data were read back otherwise" in finding.message


def test_right_results_pass():
    result, findings = run(
        devices=[RIGHT],
        collectives=[Collective(backend="gloo", ranks=2, checked=["float32"])],
        disks=[Disk(folder="/data", wrong_bytes=0)],
    )
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_unknown_where_nothing_was_computed():
    result, _ = run(missing=[Missing(what="GPUs", why="torch was not imported")])
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "torch was not imported")
