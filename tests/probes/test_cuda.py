"""The CUDA driver library, asked by the real script under a stand-in libcuda.so.1; and what torch makes of it."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Cuda, CudaDevice, Torch
from gpudoctor.report import ProbeStatus
from gpudoctor.snapshot import Snapshot

H100 = "gpu name=NVIDIA H100 80GB HBM3 capability=9.0 memory=85899345920 pci=0000:{}B:00.0 units=132"
THREE = "\n".join(["version 13000", *(H100.format(n) for n in (3, 5, 9))])
Ask = Callable[..., Snapshot]
Set = Callable[[str], None]


@pytest.fixture(autouse=True)
def _all_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def asked(ask: Ask) -> Cuda:
    cuda = ask("cuda").get(Cuda)
    assert cuda is not None
    return cuda


def test_every_device_is_told(ask: Ask, with_cuda: Set, cuda_library: Path) -> None:
    with_cuda(THREE)
    cuda = asked(ask)
    assert (cuda.init, cuda.version, cuda.count, cuda.stage) == (0, "13.0", 3, "done")
    assert cuda.library == str(cuda_library / "libcuda.so.1")
    assert cuda.devices[2] == CudaDevice(
        ordinal=2,
        name="NVIDIA H100 80GB HBM3",
        pci_address="0000:9b:00.0",
        capability="9.0",
        memory_bytes=85899345920,
    )
    assert cuda.visible is None


def test_what_is_visible_is_told_beside_all(
    ask: Ask, with_cuda: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cuda(THREE)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    cuda = asked(ask)
    assert cuda.count == 3
    assert cuda.visible_init == 0
    assert [device.pci_address for device in cuda.visible or []] == ["0000:9b:00.0", "0000:3b:00.0"]


def test_nothing_visible_is_an_error_of_the_chosen_ones_alone(
    ask: Ask, with_cuda: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cuda(THREE)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    cuda = asked(ask)
    assert (cuda.init, cuda.visible_init, cuda.visible) == (0, 100, None)


@pytest.mark.parametrize("code", [3, 34, 46, 100, 101, 802, 803, 804, 999])
def test_an_error_of_cuinit_is_a_fact(ask: Ask, with_cuda: Set, code: int) -> None:
    with_cuda(f"init {code}")
    cuda = asked(ask)
    assert (cuda.init, cuda.count, cuda.devices) == (code, None, [])


def test_a_device_that_fails_says_with_what(ask: Ask, with_cuda: Set) -> None:
    with_cuda(f"{THREE}\nfail cuDeviceGetName 999")
    assert [device.error for device in asked(ask).devices] == [999] * 3


def test_no_library_is_a_fact_in_the_words_of_the_loader(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    cuda = asked(ask)
    if cuda.library is not None:
        pytest.skip("this machine has a CUDA driver")
    assert "libcuda.so.1" in (cuda.error or "")
    assert cuda.init is None


def test_a_call_that_ends_the_process_is_named(ask: Ask, with_cuda: Set) -> None:
    with_cuda("crash cuInit")
    cuda = asked(ask)
    assert (cuda.stage, cuda.interrupted) == ("cuInit", "killed by SIGSEGV")


def test_a_call_that_hangs_costs_the_deadline_and_is_named(ask: Ask, with_cuda: Set) -> None:
    with_cuda("hang cuInit")
    begun = time.monotonic()
    snapshot = ask("cuda", timeout=2)
    assert time.monotonic() - begun < 6
    cuda = snapshot.get(Cuda)
    assert cuda is not None
    assert (cuda.stage, cuda.interrupted) == ("cuInit", "no answer in 2 s")
    assert snapshot.probes[0].status is ProbeStatus.TIMEOUT


def test_a_file_beside_does_not_break_it(
    ask: Ask, with_cuda: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cuda(THREE)
    for name in ("json.py", "ctypes.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    assert asked(ask).count == 3


@pytest.mark.parametrize("code", [34, 802, 804])
def test_torch_follows_the_library(ask: Ask, with_cuda: Set, torch_folder: Path, code: int) -> None:
    """The real torch says of the stand-in what it says of a driver that fails so."""
    with_cuda(f"init {code}")
    torch = ask("torch").get(Torch)
    assert torch is not None
    if torch.cuda is None:
        pytest.skip("the installed torch is a CPU build")
    assert torch.cuda_available is False
    assert torch.cuda_error is not None
    assert f"Error {code}" in torch.cuda_error.message


def test_a_torch_that_hangs_in_the_driver_keeps_the_rest(
    ask: Ask, with_cuda: Set, torch_folder: Path
) -> None:
    with_cuda("hang cuInit")
    begun = time.monotonic()
    torch = ask("torch").get(Torch)
    assert torch is not None
    if torch.cuda is None:
        pytest.skip("the installed torch is a CPU build")
    assert time.monotonic() - begun < max(16.0, (torch.seconds or 0) + 8)
    assert torch.stage == "torch.cuda.is_available()"
    assert (torch.interrupted or "").startswith("no answer in")
    assert torch.version
    assert torch.libraries


def test_the_stand_in_is_built_without_warnings(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    import subprocess

    source = Path(__file__).parents[1] / "cuda" / "libcuda.c"
    command = [compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "a.so", source]
    subprocess.run(command, check=True, timeout=60)
