"""What the wheels' RECORD files and the loader say of CUDA's libraries, in real environments made to order."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Distributions, Python, Toolkit, Torch, WheelFile
from gpudoctor.registry import Registry
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]


def install(folder: Path, name: str, version: str, files: dict[str, int]) -> None:
    """Write what an installer leaves of a wheel: its files, and its metadata with their sizes."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{path},sha256=x,{size}\n" for path, size in files.items()))
    for path, size in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x" * size)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the patient's Python searches first."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def test_the_sizes_of_the_record_and_of_what_lies_there(ask: Ask, site: Path) -> None:
    path = "nvidia/nccl/lib/libnccl.so.2"
    install(site, "nvidia-nccl-cu13", "2.30.7", {path: 50, "nvidia/nccl/include/nccl.h": 5})
    install(site, "nvidia-nccl-cu12", "2.27.5", {path: 60})
    (site / "nvidia/nccl/lib/libnccl.so.2").write_bytes(b"y" * 60)
    known = ask("distributions").get(Distributions)
    assert known is not None
    [cu13] = [d for d in known.named("nvidia-nccl-cu13") if d.location == str(site)]
    assert cu13.libraries == [WheelFile(path=str(site / path), bytes=50, bytes_there=60)]
    (site / path).unlink()
    known = ask("distributions").get(Distributions)
    assert known is not None
    [cu12] = [d for d in known.named("nvidia-nccl-cu12") if d.location == str(site)]
    assert cu12.libraries[0].bytes_there is None


def test_wheels_of_two_cudas_are_found(ask: Ask, registry: Registry, site: Path) -> None:
    for cuda in ("12", "13"):
        install(site, f"nvidia-cudnn-cu{cuda}", "9.1", {"nvidia/cudnn/lib/libcudnn.so.9": 10})
    snapshot = ask("distributions", "python")
    snapshot.facts["torch"] = Torch(imported=True, version="2.15.0", cuda="13.2", libraries=[])
    report = diagnose(snapshot, [registry.check("cuda-library-conflict")])
    assert "nvidia-cudnn-cu12 and nvidia-cudnn-cu13 are both installed" in report.findings[0].message


def test_what_the_loader_leaves_out_of_ld_preload(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/gone/libjemalloc.so.2:librt.so.1")
    python = ask("python").get(Python)
    assert python is not None
    assert python.not_preloaded == ["/gone/libjemalloc.so.2"]


def test_the_compiler_and_the_headers_are_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/opt/bin/cc")
    python = ask("python").get(Python)
    assert python is not None
    assert python.compiler == "/opt/bin/cc"
    assert python.headers is not None
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "/nowhere")
    python = ask("python").get(Python)
    assert python is not None
    assert python.compiler == ""


def test_a_preloaded_copy_is_seen(
    ask: Ask,
    registry: Registry,
    torch_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = next(iter((torch_folder.parent / "nvidia").rglob("libcudart.so.*")), None)
    if own is None:
        pytest.skip("the installed torch brings no CUDA runtime")
    copy = shutil.copy(own, tmp_path / own.name)
    monkeypatch.setenv("LD_PRELOAD", str(copy))
    report = diagnose(ask("torch", "distributions", "launch"), [registry.check("cuda-library-conflict")])
    finding = report.findings[0]
    assert str(copy) in finding.message
    assert finding.evidence[0].text == f"LD_PRELOAD={copy}"


def test_the_toolkit_that_torch_would_take(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").touch()
    (tmp_path / "version.json").write_text(
        '{"cuda": {"version": "12.4.20240312"}, "cuda_nvcc": {"version": "12.4.99"}}'
    )
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "g++-99 -m64")
    toolkit = ask("toolkit").get(Toolkit)
    assert toolkit is not None
    assert (toolkit.home, toolkit.variable, toolkit.nvcc) == (str(tmp_path), "CUDA_HOME", True)
    assert (toolkit.version, toolkit.cxx, toolkit.cxx_found) == ("12.4.99", "g++-99 -m64", False)
    (tmp_path / "version.json").write_text("{")
    (tmp_path / "version.txt").write_text("CUDA Version 10.2.89\n")
    toolkit = ask("toolkit").get(Toolkit)
    assert toolkit is not None
    assert toolkit.version == "10.2.89"
