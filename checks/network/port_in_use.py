"""The rendezvous port is already taken.

## What happens

The process of rank 0 opens a TCP store on MASTER_PORT for the other ranks to meet at. Another process listens on that
port already, so the store cannot start: `EADDRINUSE`, "Address already in use". The other ranks may connect to the
stranger, and then hang until their time-out.

## Why

Usually one of: a second job on the same machine with the same port (29500 is torchrun's default); ranks of an earlier
job that never ended; a literal port in the script; every task of a Slurm step starting torchrun's store itself.

## How to tell

`ss -ltnp 'sport = :29500'` names the owner. If it is a Python process of yours that no job of yours explains, it is a
rank left over from an earlier run.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--standalone`, `--rdzv-endpoint`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity
from gpudoctor.facts import Interfaces, Launch, Names, Sockets

# The port of torchrun's static rendezvous when none is given (torch/distributed/run.py: --master-port).
TORCHRUN_DEFAULT = 29500

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # c10d's TCPStore since 1.10; the port stands in the line since 2.1
        r"server socket has failed to listen on any local network address(\. port: (?P<port>\d+))?",
        r"server socket has failed to bind to \S{1,64}:(?P<port>\d+)(?! \(errno: 99)\b",
        r"\(errno: (98|48|10048) - Address already in use\)",
        r"EADDRINUSE",
        # Python's own socket, gloo, and c10d before 1.10
        r"(OSError|RuntimeError|error): .{0,40}Address already in use",
    ],
    message="another process listens on the port[ <port>] of the rendezvous already, so rank 0 cannot open its "
    "store there",
    fixes=[
        Fix("Let torchrun choose a free port", "torchrun --standalone --nproc-per-node=gpu train.py"),
        Fix(
            "Or choose another port for this job",
            "torchrun --master-port=29501 --nproc-per-node=gpu train.py",
        ),
    ],
)


@check.environment
def environment(
    launch: Launch, sockets: Sockets, names: Names | None, interfaces: Interfaces | None
) -> Iterator[Finding]:
    """The port that this launch will bind has a listener already."""
    malformed = "MASTER_PORT" in launch.variables and launch.master_port is None
    if malformed or launch.number("RANK") not in (None, 0) or not _opens_here(launch, names, interfaces):
        return  # another process opens the store; a listener on the port is what this rank needs
    port = TORCHRUN_DEFAULT if launch.master_port is None else launch.master_port
    owner = sockets.listener(port)
    if port == 0 or owner is None or owner.own:
        return
    free = next(p for p in range(port + 1, port + 1000) if sockets.listener(p) is None)
    fixes = [
        Fix("Let torchrun choose a free port", "torchrun --standalone --nproc-per-node=gpu train.py"),
        Fix(f"Or take a port that is free now, {free}", f"export MASTER_PORT={free}"),
    ]
    if owner.pid is not None:
        look = f"ps -o pid,user,lstart,args -p {owner.pid}"
        fixes.append(Fix("See whether that process is left over from an earlier run", look))
    if launch.master_port is None:
        message = (
            f"port {port}, torchrun's default, is held by {owner.owner}: a launch that names no port fails"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=fixes)
    else:
        message = f"MASTER_PORT {port} is held by {owner.owner}: rank 0 cannot open its store there"
        yield check.found(message, fixes=fixes)


def _opens_here(launch: Launch, names: Names | None, interfaces: Interfaces | None) -> bool:
    """Return whether rank 0 opens its store on this machine; in doubt, it does."""
    return launch.number("RANK") == 0 or names is None or names.master_is_here(interfaces) is not False
