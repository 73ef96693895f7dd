"""cpu-governor: a governor that keeps the clock low."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Numa
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cpu-governor")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def gpus(count):
    return Gpus(devices=[Gpu(index=n) for n in range(count)])


def host(governors, driver="acpi-cpufreq"):
    return Host(numa=Numa(governors=governors, governor_driver=driver))


def test_found_as_a_note():
    _, [finding] = run(host=host({"performance": 4, "powersave": 12}), gpus=gpus(1))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("12 processors of 16 run under the governor powersave (acpi-cpufreq)")


def test_a_server_under_intels_powersave():
    _, [finding] = run(host=host({"powersave": 128}, "intel_pstate"), gpus=gpus(8))
    assert "wake up slowly" in finding.message


@pytest.mark.parametrize(
    "known",
    [
        host({"performance": 8}),
        host({}),
        host({"schedutil": 8}),
        host({"powersave": 8}, "intel_pstate"),
        Host(),
    ],
)
def test_passes(known):
    assert run(host=known, gpus=gpus(1))[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(
    ("source", "slow"), [("hpet", True), ("acpi_pm", True), ("tsc", False), ("kvm-clock", False), ("", False)]
)
def test_a_clock_that_is_read_slowly(source, slow):
    found = run(host=Host(numa=Numa(clocksource=source)), gpus=gpus(8))[1]
    assert bool(found) is slow
    assert all(f"time from {source}" in finding.message for finding in found)
    assert run(host=Host(numa=Numa(clocksource=source)), gpus=Gpus())[1] == []


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


def test_a_text_that_tells_of_no_gpu():
    _, [finding] = run(host=host({"powersave": 1}, "intel_pstate"))
    assert finding.severity is Severity.NOTE
    assert run(host=host({"powersave": 1}), gpus=Gpus())[1] == []
