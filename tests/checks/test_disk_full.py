"""disk-full: in logs and in facts."""

import pytest

from gpudoctor.facts import Folder, Storage
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "the disk is full"
EXAMPLES = {
    "ResourceExhaustedError: disk quota exceeded [Op:SaveV2]": "the disk is full, by the user's quota: disk quota exceeded",
    "OSError: [Errno 28] No space left on device": MESSAGE,
    "[rank0]: OSError: [Errno 28] No space left on device: '/out/ckpt.pt'": (
        "the disk under /out/ckpt.pt is full"
    ),
    "RuntimeError: write(): fd 29 failed with No space left on device": MESSAGE,
    "safetensors_rust.SafetensorError: Error while serializing: I/O error: No space left on device (os error 28)": MESSAGE,
    "tee: train.log: No space left on device": MESSAGE,
    "Error response from daemon: write /var/lib/docker/tmp/a: no space left on device": MESSAGE,
    'SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "full" })': MESSAGE,
    "OSError: [Errno 122] Disk quota exceeded: '/home/me/.triton/cache'": (
        "the disk under /home/me/.triton/cache is full, by the user's quota: Disk quota exceeded"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:445] . PytorchStreamWriter failed writing file data/176: file write failed": (
        MESSAGE + " or went away while data/176 was written"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 704 vs 598": (
        MESSAGE + ", or a limit on the size of a file is reached: unexpected pos 704 vs 598"
    ),
    "OSError: Not enough disk space. Needed: 12.3 GiB (download: 4.1 GiB, generated: 8.2 GiB, post-processed: Unknown size)": (
        MESSAGE + ": 12.3 GiB are needed"
    ),
    (
        "UserWarning: Not enough free disk space to download the file. The expected file size is: 4943.16 MB. The target "
        "location /root/.cache only has 102.00 MB free disk space."
    ): MESSAGE + ": 4943.16 MB are needed",
    "OSError: 100000 requested and 83936 written": MESSAGE + ": 83936 of 100000 items could be written",
    "sqlite3.OperationalError: database or disk is full": MESSAGE,
    "FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp', '/var/tmp', '/usr/tmp', '/out']": MESSAGE,
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi.": MESSAGE,
    "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.": MESSAGE,
    "RuntimeError: write(): fd 29 failed with Input/output error": MESSAGE,
    "OSError: [WinError 112] There is not enough space on the disk": "the disk is full",
}
NOT_THIS = [
    "RuntimeError: unable to write to file </torch_4711_12345>: No space left on device (28)",
    "NCCL WARN Error: failed to extend /dev/shm/nccl-abc to 9637892 bytes\nNCCL WARN posix_fallocate failed: No space left on device",
    (
        '  File "/opt/lib/multiprocessing/synchronize.py", line 57, in __init__\n    sl = self._semlock = _multiprocessing.SemLock(\n'
        "OSError: [Errno 28] No space left on device"
    ),
    "OSError: [Errno 28] No space left on device.  joblib will operate in serial mode",
    "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
]


def run(**facts):
    return examine(Registry().check("disk-full"), Source.ENVIRONMENT, Snapshot(facts))


GIB = 1 << 30


def folder(use="working folder", **fields):
    known = {
        "mount": "/",
        "kind": "ext4",
        "total_bytes": 100 * GIB,
        "free_bytes": 50 * GIB,
        "read_only": False,
    }
    return Storage(folders=[Folder(use=use, path="/x", **{**known, **fields})], temporary="/tmp")


@pytest.mark.parametrize(
    ("fields", "severity", "says"),
    [
        (
            {"free_bytes": 0},
            Severity.ERROR,
            "the file system of the working folder (/) has 0 B of 100.0 GiB left",
        ),
        ({"free_bytes": 500 << 20}, Severity.WARNING, "500 MiB of 100 GiB"),
        ({"inodes": 1000000, "inodes_free": 0}, Severity.ERROR, "0 of 1000000 inodes left"),
        ({"inodes": 1000000, "inodes_free": 10}, Severity.WARNING, "10 of 1000000 inodes"),
        (
            {"read_only": True, "file_system_read_only": True},
            Severity.WARNING,
            "read-only, as the kernel makes one",
        ),
        ({"read_only": True, "kind": "squashfs", "free_bytes": 0}, Severity.NOTE, "mounted read-only"),
    ],
)
def test_found(fields, severity, says):
    _, [finding] = run(storage=folder(**fields))
    assert finding.severity is severity
    assert says.replace("100.0 GiB", "100 GiB") in finding.message


def test_a_file_system_is_named_once():
    two = [
        Folder(use=use, path="/x", mount="/", total_bytes=GIB, free_bytes=0)
        for use in ("working folder", "home")
    ]
    _, found = run(storage=Storage(folders=two, temporary="/tmp"))
    assert len(found) == 1


def test_a_folder_for_temporary_files_that_is_not_there():
    missing = Folder(
        use="temporary files", path="/scratch/1", variable="TMPDIR", error="No such file", error_code=2
    )
    _, [finding] = run(storage=Storage(folders=[missing], temporary="/tmp"))
    assert finding.message.startswith("TMPDIR is /scratch/1, and there is no such folder")


def test_no_folder_for_temporary_files():
    _, [finding] = run(storage=Storage())
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"total_bytes": 512 << 20, "free_bytes": 500 << 20},  # small, and empty
        {"free_bytes": 2 * GIB},
        {"inodes": 500, "inodes_free": 480},
        {"use": "mount", "free_bytes": 0},  # somebody's, and not what training writes to
        {"total_bytes": None, "free_bytes": None},
    ],
)
def test_passes(fields):
    assert run(storage=folder(**fields))[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


def test_a_working_folder_that_was_deleted():
    gone = Storage(
        folders=[Folder(use="working folder", path="/w", error_code=2, error="No such file or directory")],
        temporary="/tmp",
    )
    _, [finding] = examine(Registry().check("disk-full"), Source.ENVIRONMENT, Snapshot({"storage": gone}))
    assert (finding.severity, "the working folder /w" in finding.message) == (Severity.WARNING, True)
