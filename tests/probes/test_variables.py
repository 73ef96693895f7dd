"""Which variables the libraries of an environment read, out of the files themselves."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Variables
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Message, answer, asking
from gpudoctor.snapshot import Snapshot

SCRIPT = Path(__file__).parents[2] / "gpudoctor/patient/variable_names.py"


def library(path: Path, *names: str, prose: str = "") -> None:
    """Write an ELF file with names in its read-only data, and others in another section that nobody reads."""
    data = b"\0" + b"\0".join(name.encode() for name in names) + b"\0" + prose.encode() + b"\0"
    elsewhere = b"\0NCCL_NOT_READ_ONLY_DATA\0"
    strings = b"\0.rodata\0.debug_str\0.shstrtab\0"
    begins = 64
    offsets = [begins, begins + len(data), begins + len(data) + len(elsewhere)]
    sizes = [len(data), len(elsewhere), len(strings)]
    table = offsets[2] + len(strings)
    headers = struct.pack("<IIQQQQIIQQ", *[0] * 10)
    for name, offset, size in zip((1, 9, 20), offsets, sizes, strict=True):
        headers += struct.pack("<IIQQQQIIQQ", name, 1, 2, 0, offset, size, 0, 0, 1, 0)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, 4, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + data + elsewhere + strings + headers)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path with a torch and an NCCL of few names, and nothing of this shell's variables."""
    for name in os.environ:
        if name.startswith(("NCCL", "TORCH", "GLOO", "PYTORCH", "LD_")):
            monkeypatch.delenv(name)
    site = tmp_path / "site"
    library(site / "torch/lib/libtorch_cpu.so", "TORCH_DISTRIBUTED_DEBUG", "GLOO_SOCKET_IFNAME")
    library(site / "torch/lib/libc10.so", "PYTORCH_ALLOC_CONF", "max_split_size_mb", "backend")
    library(
        site / "nvidia/nccl/lib/libnccl.so.2",
        "NCCL_P2P_LEVEL",
        "NCCL_TOPO_FILE",
        prose="NCCL version 2.28.3+cuda13.0",
    )
    (site / "torch/__init__.py").write_text("raise ImportError('nobody imports torch to find it')\n")
    (site / "torch/distributed").mkdir()
    reads = "NAME = 'TORCHELASTIC_RUN_ID'\nos.environ['NCCL_SET_HERE'] = '1'\n"
    (site / "torch/distributed/launcher.py").write_text(reads)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return site


def look(*arguments: str) -> Variables:
    command = asking(Patient(sys.executable, "a test"), SCRIPT, *arguments)
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    said = [answer(line, Message) for line in done.stdout.splitlines()]
    facts = [message["facts"] for message in said if message and "topic" in message]
    return msgspec.convert(facts[-1], Variables)


def test_a_name_is_a_whole_string_of_the_read_only_data(environment: Path) -> None:
    path = environment / "nvidia/nccl/lib/libnccl.so.2"
    library(
        path,
        "NCCL_P2P_LEVEL",
        "NCCL_TOPO_FILE",
        "XNCCL_TAIL",
        "say NCCL_MENTIONED in passing",
        "TORCH_NCCL_BLOCKING_WAIT",
    )
    found = look()
    nccl = found.nccl
    assert nccl is not None
    assert nccl.path == str(path)
    # A tail of a longer string may be one that the linker has put there: of torch's own old names it is known.
    assert nccl.names == [
        "NCCL_BLOCKING_WAIT",
        "NCCL_P2P_LEVEL",
        "NCCL_TOPO_FILE",
        "TORCH_NCCL_BLOCKING_WAIT",
    ]
    assert found.torch
    assert {"GLOO_SOCKET_IFNAME", "PYTORCH_ALLOC_CONF"} <= found.names
    assert found.allocator_options == ["backend", "max_split_size_mb"]


def test_nccl_says_its_own_version(environment: Path) -> None:
    nccl = look().nccl
    assert nccl is not None
    assert nccl.version == "2.28.3+cuda13.0"


def test_what_was_read_is_kept_until_the_file_changes(environment: Path, tmp_path: Path) -> None:
    look()
    kept = tmp_path / "cache/gpudoctor/variable-names.json"
    path = str(environment / "torch/lib/libtorch_cpu.so")
    entries = json.loads(kept.read_text())
    entries[path]["library"]["names"].append("TORCH_FROM_THE_CACHE")
    kept.write_text(json.dumps(entries))
    assert "TORCH_FROM_THE_CACHE" in look().names
    assert "TORCH_FROM_THE_CACHE" not in look("--no-cache").names
    library(Path(path), "TORCH_DISTRIBUTED_DEBUG", "TORCH_OF_THE_NEW_FILE")
    assert "TORCH_OF_THE_NEW_FILE" in look().names
    assert "TORCH_FROM_THE_CACHE" not in look().names


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', "\0", "[" * 5000])
def test_a_spoilt_cache_is_read_anew(environment: Path, tmp_path: Path, content: str) -> None:
    kept = tmp_path / "cache/gpudoctor/variable-names.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(content)
    assert look().torch
    assert len(json.loads(kept.read_text())) == 3


def test_no_place_for_a_cache_is_fine(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder")
    assert look().torch
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert look().torch
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "never"))
    look("--no-cache")
    assert not (tmp_path / "never").exists()


def test_who_reads_what_no_library_holds(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_ins = tmp_path / "plug-ins"
    library(plug_ins / "libnccl-net-own.so", "NCCL_OWN_SETTING")
    (tmp_path / "train.py").write_text("limit = os.environ.get('NCCL_TIMEOUT', 30)\n")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(plug_ins))
    for name in ("NCCL_OWN_SETTING", "NCCL_TIMEOUT", "TORCHELASTIC_RUN_ID", "NCCL_SET_HERE", "NCCL_NOBODY"):
        monkeypatch.setenv(name, "1")
    found = look()
    assert found.searched
    assert found.readers == {
        "NCCL_OWN_SETTING": str(plug_ins / "libnccl-net-own.so"),
        "NCCL_TIMEOUT": "a script in the working folder",
        "TORCHELASTIC_RUN_ID": "torch",
    }


def test_a_library_on_the_loaders_path_counts_too(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(tmp_path / "other/libnccl.so.2", "NCCL_P2P_LEVEL", "NCCL_TOPO_FILE", "NCCL_OF_ANOTHER_BUILD")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "other"))
    assert "NCCL_OF_ANOTHER_BUILD" in look().names


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"no library" * 20])
def test_what_is_no_library_does_no_harm(environment: Path, content: bytes) -> None:
    (environment / "torch/lib/libtorch_cpu.so").write_bytes(content)
    found = look()
    assert found.nccl is not None
    assert not found.torch


def test_without_torch_nothing_is_known(
    environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = [sys.executable, "-I", "-S", "-B", "-c", asking(Patient("", ""), SCRIPT)[3], str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert b'"libraries": []' in done.stdout


def test_the_installed_torch_knows_its_variables(torch_folder: Path, ask: Callable[..., Snapshot]) -> None:
    found = ask("variables").get(Variables)
    assert found is not None
    assert found.torch
    assert {"TORCH_DISTRIBUTED_DEBUG", "GLOO_SOCKET_IFNAME"} <= found.names
    assert not {"NCCL_SOCKET_IFACE", "TORCH_NCCL_AVOID_RECORD_STREAMS"} & found.names
