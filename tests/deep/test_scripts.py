"""The scripts that measure, on the processor: the code that runs on GPUs, with another device."""

import runpy
import subprocess
import sys
from typing import Any

import pytest

from gpudoctor.deep.bench import SCRIPTS
from tests.late_import import late_import

torch = late_import("torch")


@pytest.fixture(scope="module")
def speed() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / "device_speed.py"))


@pytest.fixture(scope="module")
def copies() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / "peer_copies.py"))


@pytest.fixture(scope="module")
def reduce() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / "all_reduce.py"))


class TestCopies:
    def test_what_arrives_as_it_was_sent_is_right(self, copies: dict[str, Any]) -> None:
        found = copies["verify"](torch, torch.device("cpu"), torch.device("cpu"), 4096)
        assert found == {"wrong_elements": 0, "checked_elements": 3 * 4096, "sample": ""}

    def test_every_element_is_another_one_in_every_round(self, copies: dict[str, Any]) -> None:
        sent = torch.cat([copies["pattern"](torch, 1000, seed) for seed in range(3)])
        assert len(sent.unique()) == 3000
        assert not (sent == 0).any()

    @pytest.mark.parametrize(
        ("harm", "wrong", "sample"),
        [
            (lambda data: data.zero_(), 1000, "element 0 is 0 and was sent as 1"),
            (
                lambda data: data.fill_(-7),
                1000,
                "element 0 is the value from before the copy and was sent as 1",
            ),
            (lambda data: data[500:].zero_(), 500, "element 500 is 0 and was sent as 501"),
            (lambda data: data.copy_(data.roll(1)), 1000, "element 0 is 1000 and was sent as 1"),
            (lambda data: data[17:18].bitwise_xor_(1 << 20), 1, "element 17 is 1048594 and was sent as 18"),
        ],
        ids=["zeros", "nothing came", "half came", "shifted", "one bit"],
    )
    def test_wrong_data_is_found(self, copies: dict[str, Any], harm: Any, wrong: int, sample: str) -> None:
        sent = copies["pattern"](torch, 1000, 0)
        received = sent.clone()
        harm(received)
        assert copies["compare"](torch, received, sent) == (wrong, sample)

    def test_a_copy_that_hangs_ends_the_process(self) -> None:
        code = "import runpy, sys, time; runpy.run_path(sys.argv[1])['watched'](0.2); time.sleep(20)"
        done = subprocess.run([sys.executable, "-c", code, SCRIPTS / "peer_copies.py"], timeout=15)
        assert done.returncode == 3

    def test_speed(self, copies: dict[str, Any]) -> None:
        assert copies["speed"](torch, torch.device("cpu"), torch.device("cpu"), 1 << 16, rounds=2) > 0


class TestDevice:
    def test_products_of_whole_numbers_are_right(self, speed: dict[str, Any]) -> None:
        for kind in (torch.float32, torch.bfloat16, torch.float16):
            assert speed["exact_products"](torch, torch.device("cpu"), kind, 128, rounds=2) == (
                0,
                2 * 16 * 128,
            )

    def test_one_wrong_element_is_found_and_a_nan_too(self, speed: dict[str, Any]) -> None:
        wanted = torch.arange(6.0).reshape(2, 3)
        made = wanted.clone()
        assert speed["differing"](made, wanted) == 0
        made[1, 2] += 1
        made[0, 0] = float("nan")
        assert speed["differing"](made, wanted) == 2

    def test_figures(self, speed: dict[str, Any]) -> None:
        there, back = speed["host_copies"](torch, torch.device("cpu"), 1 << 20)
        assert min(there, back) > 0.01
        assert speed["memory_copy"](torch, torch.device("cpu"), 1 << 20) > 0
        assert speed["matrix_products"](torch, torch.device("cpu"), torch.float32, 64, 0.05) > 0

    @pytest.mark.parametrize(("text", "numbers"), [("0-3,8\n", {0, 1, 2, 3, 8}), ("5", {5})])
    def test_the_kernels_lists(self, speed: dict[str, Any], text: str, numbers: set[int]) -> None:
        assert speed["processors"](text) == numbers

    def test_turns_are_taken(self, speed: dict[str, Any], tmp_path: Any) -> None:
        path = str(tmp_path / "turn")
        second = speed["turn"](path, patience=0.1)
        with speed["turn"](path), pytest.raises(RuntimeError, match="another GPU's copies did not end"):
            second.__enter__()
        with speed["turn"](path, patience=0.1):
            pass

    def test_an_address_as_the_kernel_writes_it(self, speed: dict[str, Any]) -> None:
        class Properties:
            pci_domain_id, pci_bus_id, pci_device_id = 0, 0x3B, 0

        assert speed["pci_address"](Properties()) == "0000:3b:00.0"
        assert speed["pci_address"](object()) == ""


class Nvml:
    """Answers as libnvidia-ml does: into what it is given a reference to; a call that is missing raises."""

    def __init__(self, clocks: list[int], masks: list[int]) -> None:
        self.clocks, self.masks = clocks, masks

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int, into: Any) -> int:
        into._obj.value = self.clocks.pop(0)
        return 0

    def nvmlDeviceGetMaxClockInfo(self, handle: Any, kind: int, into: Any) -> int:
        into._obj.value = 1980
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, into: Any) -> int:
        into._obj.value = self.masks.pop(0)
        return 0

    def nvmlDeviceGetViolationStatus(self, handle: Any, policy: int, into: Any) -> int:
        self.asked = getattr(self, "asked", 0) + 1
        into._obj.time = {0: 7_000, 1: self.asked * 10**15}.get(policy, 0)
        return 0 if policy < 5 else 3

    def nvmlDeviceGetTemperature(self, handle: Any, kind: int, into: Any) -> int:
        return 3  # NVML_ERROR_NOT_SUPPORTED


def test_clocks_and_the_share_of_each_reason(speed: dict[str, Any]) -> None:
    sampler = speed["Clocks"](Nvml([1980, 1200, 1100, 1100], [0, 0x4, 0x44, 0x40]), None)
    sampler.start()
    sampler.enough.set()
    for _ in range(4):
        sampler.sample()
    told = sampler.told()
    assert told["sm_clocks"] == [1980, 1200, 1100, 1100]
    assert told["sm_clock_max"] == 1980
    assert told["throttled"] == {"sw_power_cap": 0.5, "hw_thermal_slowdown": 0.5}
    assert (told["temperature_celsius"], told["power_watts"]) == (None, None)
    assert told["violations"] == {"thermal": 1.0}


class TestAllReduce:
    @pytest.mark.parametrize("ranks", [2, 8, 16])
    @pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32", "int64"])
    def test_the_sum_is_exact_in_each_type_and_order(
        self, reduce: dict[str, Any], ranks: int, name: str
    ) -> None:
        kind = getattr(torch, name)
        parts = [reduce["contribution"](torch, 50, rank, kind, "cpu") for rank in range(ranks)]
        wanted = reduce["total"](torch, 50, ranks, kind)
        for order in (parts, parts[::-1]):
            received = torch.zeros(50, dtype=kind)
            for part in order:
                received += part
            assert reduce["compare"](torch, received, wanted) == ""

    def test_ranks_bring_different_numbers(self, reduce: dict[str, Any]) -> None:
        one, other = (reduce["contribution"](torch, 50, rank, torch.int32, "cpu") for rank in (0, 1))
        assert (one != other).all()

    def test_a_wrong_sum_says_where(self, reduce: dict[str, Any]) -> None:
        wanted = reduce["total"](torch, 10, 2, torch.float32)
        received = wanted.clone()
        received[4:6] = 0
        assert reduce["compare"](torch, received, wanted) == "2 of 10 elements, element 4 is 0 and must be 11"
