"""NCCL's configuration files, read as NCCL reads them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts import ConfigurationFile, Launch, settings
from gpudoctor.probes.nccl_configuration import probe


@pytest.fixture(autouse=True)
def no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCCL_CONF_FILE", raising=False)


def write(root: Path, path: str, text: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


TEXT = """# NCCL_DEBUG=TRACE
NCCL_DEBUG=WARN
NCCL_SOCKET_IFNAME==ens1f0
 NCCL_IB_HCA = mlx5

export NCCL_NET=Socket
NCCL_IB_DISABLE
AWS_SECRET_ACCESS_KEY=planted
NCCL_PSK=planted
NCCL_DEBUG=INFO
"""


def test_a_line_is_name_and_value_to_the_letter(tmp_path: Path) -> None:
    write(tmp_path, "/etc/nccl.conf", TEXT)
    assert probe(tmp_path).files == [
        ConfigurationFile(
            path="/etc/nccl.conf",
            settings={
                "NCCL_DEBUG": "WARN",
                "NCCL_SOCKET_IFNAME": "=ens1f0",
                " NCCL_IB_HCA ": " mlx5",
                "export NCCL_NET": "Socket",
            },
            without_equals=[7],
        )
    ]


def test_the_users_file_comes_first_and_the_environment_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "/etc/nccl.conf", "NCCL_DEBUG=WARN\nNCCL_NET=IB\nNCCL_IB_TC=1\n")
    write(tmp_path, "/own.conf", "NCCL_DEBUG=INFO\nNCCL_NET=Socket\n")
    monkeypatch.setenv("NCCL_CONF_FILE", "/own.conf")
    found = settings(Launch(variables={"NCCL_DEBUG": "TRACE"}), probe(tmp_path))
    assert {name: (s.value, s.where) for name, s in found.items()} == {
        "NCCL_DEBUG": ("TRACE", ""),
        "NCCL_NET": ("Socket", "/own.conf"),
        "NCCL_IB_TC": ("1", "/etc/nccl.conf"),
    }


def test_no_file_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe(tmp_path).files == []
    monkeypatch.setenv("NCCL_CONF_FILE", "/nowhere")
    assert probe(tmp_path).files == []


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "etc/nccl.conf").mkdir(parents=True)
    [file] = probe(tmp_path).files
    assert file.error == "Is a directory"
    assert file.settings == {}


NCCL = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclGetUniqueId(ctypes.create_string_buffer(128))
for name in sys.argv[2:]:
    print(repr((libc.getenv(name.encode()) or b"").decode()))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NCCL is Linux's")
def test_nccl_itself_reads_it_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_folder: Path) -> None:
    """NCCL puts what it reads into its process's environment, where it can be asked for."""
    library = torch_folder.parent / "nvidia/nccl/lib/libnccl.so.2"
    if not library.exists():
        pytest.skip("no NCCL here")
    write(tmp_path, "own.conf", TEXT + "NCCL_SOCKET_IFNAME=lo\n")
    monkeypatch.setenv("NCCL_CONF_FILE", str(tmp_path / "own.conf"))
    [file, *_] = probe().files
    names = list(file.settings)
    clean = {n: v for n, v in os.environ.items() if not n.startswith("NCCL_") or n == "NCCL_CONF_FILE"}
    done = subprocess.run(
        [sys.executable, "-c", NCCL, str(library), *names],
        capture_output=True,
        text=True,
        env=clean,
        timeout=60,
    )
    values = [line.strip("'\"") for line in done.stdout.splitlines() if line.startswith(("'", '"'))]
    # A file is read from its top, and setenv keeps what is there.
    assert dict(zip(names, values, strict=True)) == file.settings


def test_files_that_variables_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topo.xml").write_text("<system/>")
    gone = "No such file or directory"
    values = {
        "NCCL_TOPO_FILE": (f"{tmp_path}/topo.xml", None),
        "NCCL_GRAPH_FILE": (f"{tmp_path}/graph.xml", gone),
        "NCCL_DEBUG_FILE": (f"{tmp_path}/gone/log.%h.%p", gone),
        "TORCH_FR_DUMP_TEMP_FILE": (f"{tmp_path}/trace_", None),
        "TORCHELASTIC_ERROR_FILE": (f"{tmp_path}/gone/error.json", gone),
        "NCCL_TUNER_PLUGIN": (f"{tmp_path}/libtuner.so", gone),
    }
    for name, (value, _) in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NCCL_NET_PLUGIN", "ofi")  # the loader looks for it
    named = {file.variable: (file.path, file.error) for file in probe(tmp_path).named}
    assert named == values
    assert sorted(os.listdir(tmp_path)) == ["topo.xml"]


def test_a_folder_in_the_place_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_TOPO_FILE", str(tmp_path))
    monkeypatch.setenv("NCCL_DEBUG_FILE", str(tmp_path))
    assert [file.error for file in probe(tmp_path).named] == ["Is a directory", "Is a directory"]
