"""Storage: small, full, read-only and missing folders, and a file system that does not answer."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.facts import Storage
from gpudoctor.probes.storage import ask, probe

# A FUSE file system whose program never reads a request: whoever asks it waits. In a namespace of its own.
STALL = """
import ctypes, json, os, sys, time, msgspec
from gpudoctor.probes import storage
libc, folder = ctypes.CDLL(None, use_errno=True), sys.argv[1]
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"stall", folder.encode(), b"fuse.stall", 0, options):
    raise SystemExit("mount: " + os.strerror(ctypes.get_errno()))
storage.PATIENCE = 1.0
storage.ask.__defaults__ = (1.0, storage.look)
begun = time.monotonic()
stalled = storage.probe()
seconds = time.monotonic() - begun
os.close(fuse)
dead = storage.probe()
print(json.dumps([seconds, msgspec.to_builtins(stalled), msgspec.to_builtins(dead)]))
"""


def in_namespace(script: str, *arguments: str) -> str:
    """Run a shell script in a mount namespace; the test is skipped where there is no right to."""
    answer = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *arguments],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if answer.returncode and ("unshare" in answer.stderr or "mount" in answer.stderr):
        pytest.skip(f"needs a mount namespace (root): {answer.stderr.strip()[-200:]}")
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def told(output: str) -> Storage:
    import msgspec

    line = next(line for line in output.splitlines() if line.startswith("gpudoctor "))
    return msgspec.convert(json.loads(line.removeprefix("gpudoctor "))["facts"], Storage)


PROBE = f"exec {sys.executable} -m gpudoctor.probes gpudoctor.probes.storage"


def test_the_facts_agree_with_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setenv("HOME", "/")
    storage = probe()
    here, temporary, home = (storage.of(use) for use in ("working folder", "temporary files", "home"))
    assert here is not None
    assert temporary is not None
    assert home is not None
    assert (here.path, here.stalled, here.error, here.writable) == (str(tmp_path), False, None, True)
    assert here.total_bytes == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
    assert (temporary.variable, temporary.error_code) == ("TMPDIR", 2)
    assert home.mount == "/"
    assert storage.temporary in ("/tmp", "/var/tmp", "/usr/tmp", str(tmp_path))


def test_a_working_folder_that_was_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("PWD", str(gone))
    gone.rmdir()
    here = probe().of("working folder")
    assert here is not None
    assert here.error_code == 2


def test_without_home_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert probe().of("home") is None


def test_a_cache_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "new" / "triton"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/proc/inductor")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "file" / "extensions"))
    found = {folder.variable: folder for folder in probe().folders}
    assert found["TRITON_CACHE_DIR"].makeable is True
    assert found["TORCHINDUCTOR_CACHE_DIR"].makeable is False
    assert found["TORCH_EXTENSIONS_DIR"].error == "Not a directory"


def test_a_full_file_system() -> None:
    script = (
        f"mount -t tmpfs -o size=1m tmpfs /mnt && head -c 2m /dev/zero > /mnt/x 2>/dev/null; cd /mnt; {PROBE}"
    )
    here = told(in_namespace(script)).of("working folder")
    assert here is not None
    assert (here.mount, here.kind, here.total_bytes, here.free_bytes) == ("/mnt", "tmpfs", 1 << 20, 0)


def test_read_only_mounts_and_no_place_for_temporary_files() -> None:
    if any(Path(sys.executable).is_relative_to(folder) for folder in ("/tmp", "/mnt")):
        pytest.skip("needs this Python elsewhere than in /tmp, which the test hides")
    script = (
        "cd / && mount -t tmpfs -o ro tmpfs /mnt && mount -t tmpfs -o ro tmpfs /tmp && mount --bind /mnt /var/tmp && "
        f"mount -o remount,ro,bind /var/tmp && cd /mnt && {PROBE}"
    )
    storage = told(in_namespace(script))
    here = storage.of("working folder")
    assert here is not None
    assert (here.read_only, here.file_system_read_only, here.writable) == (True, True, False)
    assert storage.temporary is None


def test_a_file_system_that_does_not_answer_and_one_whose_program_is_gone(tmp_path: Path) -> None:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs /dev/fuse")
    output = in_namespace(f'exec {sys.executable} -c "$1" "$2"', STALL, str(tmp_path))
    seconds, stalled, dead = json.loads(output.splitlines()[-1])
    found = {f["path"]: f for f in stalled["folders"]}[str(tmp_path)]
    assert (found["use"], found["kind"], found["stalled"]) == ("mount", "fuse.stall", True)
    assert seconds < 3
    gone = {f["path"]: f for f in dead["folders"]}[str(tmp_path)]
    assert (gone["stalled"], gone["error_code"]) == (False, 107)


def test_one_that_hangs_keeps_nobody_waiting_for_the_others() -> None:
    def look(path: str) -> dict[str, object]:
        time.sleep(30 if path == "/slow" else 0)
        return {"error": "x"}

    begun = time.monotonic()
    answers = ask(["/slow", "/fast"], 0.5, look)
    assert time.monotonic() - begun < 3
    assert answers.keys() == {"/fast", ""}


def test_mounts_of_a_recorded_machine(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
        "90 22 0:40 / /net/my\\040data ro,nosuid - nfs4 filer:/data rw,vers=4.2\n"
        "91 22 0:41 / /run/auto rw - autofs systemd-1 rw\n"
    )
    folder = next(f for f in probe(tmp_path).folders if f.use == "mount")
    assert (folder.path, folder.kind, folder.read_only, folder.file_system_read_only) == (
        "/net/my data", "nfs4", True, False,
    )  # fmt: skip
    assert folder.error_code == 2
