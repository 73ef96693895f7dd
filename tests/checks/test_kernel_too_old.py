"""kernel-too-old: seen in logs."""

from gpudoctor.facts import Gpu, Gpus, Host
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Sighting, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("kernel-too-old")
WARNING = (
    "Detected kernel version 5.4.0, which is below the recommended minimum of 5.5.0; this can cause the process to hang. "
    "It is recommended to upgrade the kernel to the minimum version or higher."
)
EXAMPLES = {
    WARNING: (
        "the kernel is 5.4.0, and accelerate recommends 5.5.0 or later: with older ones training hangs on some machines, and "
        "runs on most"
    ),
    "FATAL: kernel too old": "this program's C library was built for a newer Linux kernel than this machine runs",
}
NOT_THIS = ["Detected CUDA version 11.8", "kernel version: 6.1.0-13-amd64"]


def test_accelerates_words_are_a_warning():
    groups = {"version": "5.4.0", "minimum": "5.5.0"}
    _, [finding] = examine(CHECK, Source.LOG, Snapshot({"sighting": Sighting(line=WARNING, groups=groups)}))
    assert finding.severity is Severity.WARNING


TWO = Gpus(devices=[Gpu(index=0, name="A100"), Gpu(index=1, name="A100")])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_an_old_kernel_under_several_gpus_is_a_note():
    result, [finding] = run(host=Host(system="Linux", kernel="5.4.0-200-generic"), gpus=TWO)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("the kernel is 5.4.0-200-generic")


def test_one_that_nobody_mends_any_more_is_a_warning():
    _, [finding] = run(host=Host(system="Linux", kernel="3.10.0-1160.el7.x86_64"), gpus=TWO)
    assert finding.severity is Severity.WARNING


def test_passes():
    for facts in (
        {"host": Host(system="Linux", kernel="6.1.0-13-amd64"), "gpus": TWO},
        {"host": Host(system="Linux", kernel="5.5.0"), "gpus": TWO},
        {"host": Host(system="Linux", kernel="4.18.0-553.el8_10.x86_64"), "gpus": TWO},
        {"host": Host(system="Linux", kernel="4.18.0"), "gpus": Gpus(devices=TWO.devices[:1])},
        {"host": Host(system="Darwin", kernel="4.1"), "gpus": TWO},
        {"host": Host(system="Linux", kernel="unknown"), "gpus": TWO},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown_without_the_host():
    assert run(gpus=TWO)[0].status is CheckStatus.UNKNOWN
