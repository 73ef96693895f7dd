"""storage-stalled: file systems that do not answer."""

import pytest

from gpudoctor.facts import Folder, KernelEvent, KernelLog, Storage
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("storage-stalled")
GONE = "a network disk does not answer: {}; its server, or the program behind the mount, is gone"
EXAMPLES = {
    "[ 812.1] nfs: server 10.0.0.9 not responding, still trying": (
        "a network disk does not answer: its server 10.0.0.9 is gone or overloaded"
    ),
    "OSError: [Errno 116] Stale file handle: '/data/a.tar'": GONE.format("/data/a.tar"),
    "ls: cannot access '/data': Stale file handle": GONE.format("/data"),
    "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/bucket'": GONE.format("/mnt/bucket"),
    "ls: cannot access '/mnt/bucket': Transport endpoint is not connected": GONE.format("/mnt/bucket"),
    "OSError: [Errno 5] Input/output error: '/mnt/nas/shards/0017.tar'": "a network disk does not answer: /mnt/nas/shards/0017.tar; its server, or the program behind the mount, is gone",
    "OSError: [Errno 107] Transport endpoint is not connected": "a network disk does not answer",
}
NOT_THIS = [
    "[ 812.1] nfs: server 10.0.0.9 not responding, still trying\n[ 815.1] nfs: server 10.0.0.9 OK",
    "OSError: [Errno 116] Stale file handle: '/home/u/.cache/huggingface/a.lock'",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def storage(**fields):
    return Storage(folders=[Folder(**fields)], waited_seconds=4.0)


def test_stalled():
    _, [finding] = run(storage=storage(use="home", path="/home/u", mount="/home", kind="nfs4", stalled=True))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("the home /home/u (nfs4) did not answer in 4 s")
    assert not any("fusermount" in fix.command for fix in finding.fixes)


@pytest.mark.parametrize(
    ("code", "error"), [(116, "Stale file handle"), (107, "Transport endpoint is not connected")]
)
def test_dead(code, error):
    _, [finding] = run(
        storage=storage(use="mount", path="/data", kind="fuse.sshfs", error=error, error_code=code)
    )
    assert finding.severity is Severity.WARNING
    assert error in finding.message
    assert "fusermount" in finding.fixes[0].command


def test_slow():
    _, [finding] = run(storage=storage(use="working folder", path="/lustre/u", kind="lustre", seconds=2.5))
    assert finding.severity is Severity.WARNING
    assert "took 2.5 s" in finding.message


def test_the_kernels_last_word():
    log = KernelLog(
        source="/dev/kmsg", events=[KernelEvent(kind="nfs", text="nfs: server s not responding, timed out")]
    )
    _, [finding] = run(storage=Storage(), kernel_log=log)
    assert finding.evidence[0].where == "/dev/kmsg"


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "nfs4", "seconds": 0.3},
        {"kind": "ext4", "seconds": 3.0},  # a sleeping disk
        {"kind": "fuse.portal", "error": "Permission denied", "error_code": 13},
        {"error": "No such file or directory", "error_code": 2},
    ],
)
def test_passes(fields):
    log = KernelLog(events=[KernelEvent(kind="nfs", text="nfs: server s OK")])
    assert (
        run(storage=storage(use="mount", path="/x", **fields), kernel_log=log)[0].status is CheckStatus.PASSED
    )


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
