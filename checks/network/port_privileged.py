"""The rendezvous port is below 1024, which only root may open.

## What happens

"The server socket has failed to bind. port: 80, useIpv6: 0, code: -13, name: EACCES, message: permission denied"; before
the store used libuv, "failed to bind to [::]:80 (errno: 13 - Permission denied)". Rank 0 ends, and the others wait.

## Why

Linux lets a process open a port below 1024 only with the right CAP_NET_BIND_SERVICE, which root has and users do not.
As root in a container the same script works, so it often shows only when the job moves to a cluster. The number comes
from MASTER_PORT, `--master-port` or `init_method="tcp://…"`.

## How to tell

`echo $MASTER_PORT`. `cat /proc/sys/net/ipv4/ip_unprivileged_port_start` prints the first port that everybody may open,
mostly 1024.

## See also

- [IP sysctl](https://docs.kernel.org/networking/ip-sysctl.html): ip_unprivileged_port_start
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--standalone`, or an endpoint with port 0 for any free one
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting, Symptom
from gpudoctor.facts import Host, Launch

# ip(7): ip_unprivileged_port_start, 1024 unless the administrator says otherwise.
FIRST_FOR_ALL = 1024
FREE = Fix(
    "On one machine, let torchrun choose a free port", "torchrun --standalone --nproc-per-node=N train.py"
)
VARIABLE = Fix(
    "Where the script or the launcher reads MASTER_PORT: a port between 1024 and 32767 that nobody uses, the same on all nodes",
    "export MASTER_PORT=29500",
    proof="MASTER_PORT=",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in facts, a note where everybody may open it",
    symptoms=[
        r"server socket has failed to (?:bind|listen).{0,60}port: (?P<port>\d+).{0,60}name: EACCES",
        r"server socket has failed to bind to \S{1,64}:(?P<port>\d+) \(errno: 13 - ",
        Symptom(
            r"(?:PermissionError: \[Errno 13\]|RuntimeError:) Permission denied$",
            near=r"TCPStore\(|\.bind\(|socketserver\.py",
        ),
        # Windows: WSAEACCES, https://learn.microsoft.com/en-us/windows/win32/winsock/windows-sockets-error-codes-2
        r"server socket has failed to bind to \S{1,64}:(?P<port>\d+) \((?P<windows>system error: 10013) - ",
    ],
    fixes=[
        FREE,
        VARIABLE,
        Fix(
            "On several nodes",
            "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 train.py",
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name what Windows means: no port is root's there."""
    port = f" {sighting.groups['port']}" if "port" in sighting.groups else ""
    message = f"a user may not open the port{port}: those below 1024 are root's"
    if "windows" in sighting.groups:
        message = f"Windows does not let this process open the port{port}: it keeps the port back, or another program has it for itself"
    yield check.found(message)


@check.environment
def environment(launch: Launch, host: Host | None) -> Iterator[Finding]:
    """MASTER_PORT is a port that only root may open; that this process is root's does not say whose the training is."""
    port = launch.master_port
    first = (
        host.unprivileged_port if host is not None and host.unprivileged_port is not None else FIRST_FOR_ALL
    )
    if port is None or not 0 < port < FIRST_FOR_ALL or launch.number("RANK") not in (None, 0):
        return
    if first <= port:  # docker lets everybody, since 20.10
        message = f"MASTER_PORT is {port}: here everybody may open it, and on most machines root alone"
        yield check.found(message, severity=Severity.NOTE, fixes=[VARIABLE, FREE])
        return
    message = (
        f"MASTER_PORT is {port}: ports below {first} are root's, and rank 0 of any other user cannot "
        "open its store there"
    )
    yield check.found(message, severity=Severity.WARNING, fixes=[VARIABLE, FREE])
