"""slow-gpu: seen in measurements."""

from gpudoctor.facts import DeviceSpeed, Gpu, Gpus, Measurements, Missing
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

H100 = "NVIDIA H100 80GB HBM3"
OWN = "NVIDIA Unheard Of"


def device(ordinal, name=H100, product=640.0, memory=2900.0, **more):
    return DeviceSpeed(
        ordinal=ordinal,
        name=name,
        pci_address=f"0000:{ordinal:02x}:00.0",
        matrix_product=product,
        matrix_type=more.pop("matrix_type", "bfloat16"),
        memory=memory,
        **more,
    )


def run(*devices, gpus=None, missing=()):
    facts = {"measurements": Measurements(devices=list(devices), missing=list(missing))}
    return examine(
        Registry().check("slow-gpu"), Source.ENVIRONMENT, Snapshot(facts | ({"gpus": gpus} if gpus else {}))
    )


def test_below_the_model():
    result, [finding] = run(device(0, product=400.0))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "GPU 0 (0000:00:00.0) reaches 400 TFLOPS in bfloat16 products, 50 % of the 794 that its model gives: "
        "every rank waits for the slowest"
    )
    assert any("-i 0000:00:00.0" in fix.command for fix in finding.fixes)


def test_several_figures_are_one_finding_with_each_as_evidence():
    _, [finding] = run(device(0, memory=1500.0), device(1, memory=1500.0, product=300.0))
    assert "45 % of the 3350" in finding.message
    assert "so does another one" in finding.message
    assert len(finding.evidence) == 3


def test_below_its_siblings_where_the_model_is_unknown():
    fine = [device(n, OWN, product=50.0, memory=400.0) for n in range(3)]
    _, [finding] = run(*fine, device(3, OWN, product=36.0, memory=400.0))
    assert "reaches 36 TFLOPS in bfloat16 products, 72 % of the 50 of its siblings" in finding.message


def test_gpus_of_one_model_may_differ_by_22_per_cent():
    fine = [device(n, OWN, product=50.0) for n in range(3)]
    result, findings = run(*fine, device(3, OWN, product=39.0))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_gpus_of_another_model_are_no_siblings():
    fast = [device(n, OWN, product=500.0) for n in range(3)]
    result, _ = run(*fast, device(3, "NVIDIA Slower Model", product=36.0))
    assert result.status is CheckStatus.PASSED


def test_held_back_by_hardware_in_most_samples():
    held = {"hw_thermal_slowdown": 0.8, "sw_power_cap": 1.0}
    _, [finding] = run(device(0, OWN, throttled=held, sm_clocks=[900, 960, 930], sm_clock_max=1980))
    assert (
        "held back by its hardware at 930 of 1980 MHz while it computes (hw_thermal_slowdown)"
        in finding.message
    )


def test_a_power_cap_and_a_moment_of_heat_are_normal():
    result, findings = run(device(0, throttled={"sw_power_cap": 1.0, "hw_thermal_slowdown": 0.1}))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_float16_is_not_held_against_figures_of_bfloat16():
    result, findings = run(device(0, product=300.0, matrix_type="float16"))
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_a_gpu_that_others_use_is_not_judged():
    busy = Gpus(devices=[Gpu(index=0, pci_address="0000:00:00.0", utilization_percent=97)])
    result, _ = run(device(0, product=100.0), gpus=busy)
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "another process computed on the GPUs")


def test_a_mig_instance_is_not_judged_as_the_whole():
    result, _ = run(device(0, "NVIDIA A100-SXM4-80GB MIG 1g.10gb", product=35.0, memory=210.0))
    assert result.status is CheckStatus.UNKNOWN
    assert "no figures are known for NVIDIA A100-SXM4-80GB MIG 1g.10gb" in result.reason


def test_unknown_where_a_gpu_could_not_be_measured():
    result, _ = run(device(0), missing=[Missing(what="GPU 1", why="no answer in 45 s during memory")])
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "no answer in 45 s during memory")
    result, _ = run(missing=[Missing(what="GPUs and copies between them", why="torch can use none")])
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "torch can use none")


def test_unknown_where_nobody_measured():
    result, _ = examine(Registry().check("slow-gpu"), Source.ENVIRONMENT, Snapshot({}))
    assert result.status is CheckStatus.UNKNOWN
