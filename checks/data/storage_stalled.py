"""A network disk does not answer.

## What happens

Training hangs without a message: a rank waits inside the kernel for a file (state D), and the others wait for it
until `nccl-timeout`. `ls` and `df` hang as well. Or every access fails at once, with "Stale file handle" or "Transport
endpoint is not connected".

## Why

- The server is down or overloaded, or the network to it is; a hard NFS mount waits for it without end.
- "Stale file handle" (ESTALE): the folder was removed or exported again on the server; open it again, or mount it again.
- "Transport endpoint is not connected" (ENOTCONN): the program behind a FUSE mount (sshfs, gcsfuse, s3fs) has ended.

## How to tell

`timeout -s KILL 5 stat /PATH; echo $?` prints 137 for one that does not answer (another signal may not reach it). `sudo dmesg -T | grep -i 'not responding'` shows
the kernel's own words; `ps -eo pid,stat,wchan:32,args | awk '$2 ~ /^D/'` who waits for it.

## See also

- [nfs(5)](https://man7.org/linux/man-pages/man5/nfs.5.html): hard and soft mounts, timeo
"""

import errno
from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Folder, KernelLog, Storage
from gpudoctor.wordings import A_FRAME

# What a dead server or a dead program behind a mount gives.
DEAD = {errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN, errno.ETIMEDOUT, errno.EIO, errno.EREMOTEIO}
SLOW = 1.0
"""Seconds; a healthy network file system answers within milliseconds, a sleeping disk within a second."""

LOCAL = Fix("Meanwhile, train on another node, or from a copy of the data on a local disk")
WAITS = Fix("See who waits for it", "ps -eo pid,stat,wchan:32,args | awk '$2 ~ /^D/'")
FUSE = Fix(
    "A FUSE mount that you made yourself (sshfs, gcsfuse, s3fs): take it off, without root, and mount it again",
    "fusermount -uz /PATH",
    source="https://man.archlinux.org/man/fusermount.1",
)
REMOUNT = Fix(
    "Mount it again, when its server is there", "sudo umount -l /PATH; sudo mount /PATH", Kind.ADMIN
)
KERNEL = Fix(
    "See what the kernel says of the server", "sudo dmesg -T | grep -iE 'nfs|lustre|ceph'", Kind.ADMIN
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning for a slow one, and for one that training need not use",
    symptoms=[
        Symptom(r"\bnfs: server (?P<server>\S{1,80}) not responding", unless=r"nfs: server \S+ OK"),
        r"\[Errno 116\] Stale file handle(?!: ['\"][^'\"]{1,300}\.lock)(?:: ['\"](?P<path>[^'\"]{1,300}))?",
        r"(?:cannot access|cannot open|cannot stat) '?(?P<path>/[^' ]{1,200})'?: Stale (?:NFS )?file handle",
        r"\[Errno 107\] Transport endpoint is not connected: ['\"](?P<path>/[^'\"]{1,300})",
        r"(?:cannot access|cannot open|cannot stat) '?(?P<path>/[^' ]{1,200})'?: Transport endpoint is not connected",
        r"\[Errno (?:5|108|121)\] (?:Input/output error|Cannot send after transport endpoint shutdown|Remote I/O error): ['\"](?P<path>/(?:mnt|nfs|lustre|gpfs|beegfs|efs|fsx|scratch|net|gdrive|content/drive)\b[^'\"]{0,300})",
        Symptom(
            r"OSError: \[Errno 10[78]\] (?:Transport endpoint is not connected|Cannot send after transport endpoint shutdown)\W{0,3}$",
            unless=A_FRAME,
        ),
    ],
    message="a network disk does not answer[: its server <server> is gone or overloaded][: <path>; its server, or the program "
    "behind the mount, is gone]",
    fixes=[LOCAL, WAITS, FUSE, KERNEL, REMOUNT],
    no_reproduction="needs a server that does not answer",
)


@check.environment
def environment(storage: Storage, kernel_log: KernelLog | None) -> Iterator[Finding]:
    """A file system did not answer, answers as a dead one does, or takes long."""
    told: set[str] = set()
    for folder in storage.folders:
        place = folder.mount or folder.path
        words = _words(folder, storage.waited_seconds)
        if words is None or place in told:
            continue
        told.add(place)
        used = folder.use != "mount"
        what = f"{_use(folder)} {folder.path}" + (f" ({folder.kind})" if folder.kind else "")
        slow = not folder.stalled and folder.error is None
        severity = Severity.ERROR if used and not slow else Severity.WARNING
        # whoever started the program behind a FUSE mount may take it off again
        own = folder.error_code == errno.ENOTCONN or folder.kind.startswith("fuse")
        fixes = [FUSE, LOCAL, WAITS] if own else [LOCAL, WAITS, KERNEL, REMOUNT]
        yield check.found(f"{what} {words}", severity=severity, evidence=_evidence(kernel_log), fixes=fixes)
    if not told:
        yield from _kernel(kernel_log)


def _use(folder: Folder) -> str:
    if folder.use == "mount":
        return "the network disk"
    return f"the {folder.use}" if not folder.variable or folder.use == "home" else folder.variable


def _words(folder: Folder, waited: float | None) -> str | None:
    if folder.stalled:
        return (
            f"did not answer in {waited or 0:g} s: whoever touches it waits, and `kill -9` alone may end that"
        )
    if folder.error_code in DEAD:
        return f"cannot be read ({folder.error}): its server, or the program behind the mount, is gone"
    if folder.networked and folder.seconds is not None and folder.seconds >= SLOW:
        return f"took {folder.seconds:.1f} s to answer: data and checkpoints come as slowly, and ranks wait"
    return None


def _kernel(log: KernelLog | None) -> Iterator[Finding]:
    """Note what the kernel last said of an NFS server: "not responding", and not yet "OK"."""
    for event in log.of("nfs") if log else []:
        if "not responding" in event.text:
            message = "the kernel's last word on a network disk's server is that it does not respond"
            yield check.found(message, severity=Severity.WARNING, evidence=_evidence(log))
            return


def _evidence(log: KernelLog | None) -> list[Evidence]:
    return [Evidence(event.text, log.source) for event in log.of("nfs")[:2]] if log else []
