"""The rendezvous port is already taken.

## What happens

The process of rank 0 opens a TCP store on MASTER_PORT for the other ranks to meet at. Another process listens on that
port already, so the store cannot start: `EADDRINUSE`, "Address already in use". The other ranks may connect to the
stranger, and then hang until their time-out.

## Why

- A second job on the same machine uses the same port. Without a port of your own it is 29500, in each launch on several
  nodes; on a single node torchrun takes a free one since pytorch#175699 (early 2026), and 29500 before.
- Ranks of an earlier job never ended.
- The port lies among those that Linux gives to outgoing connections (`sysctl net.ipv4.ip_local_port_range`, 32768 to
  60999 as a rule), and one of them has it just now: take a lower one.
- The port is written in the script, as with mp.spawn or `init_method="tcp://…"`: two runs at a time get the same.
- Every task of a Slurm step opens the store itself: torchrun was started once for each GPU and not once for each node.

## How to tell

`ss -atnp 'sport = :PORT'` names the owner, if it is yours. A Python process that no job of yours explains is a rank that
an earlier run left over. Without a name it is another user's: take another port.

## See also

- [pytorch#175699](https://github.com/pytorch/pytorch/pull/175699): a free port for single-node launches
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--standalone`, `--rdzv-endpoint`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Interfaces, Known, Launch, Names, Script, Sockets, Torch, Value
from gpudoctor.wordings import A_FRAME, SOMEBODY

# The port of torchrun's static rendezvous when none is given (torch/distributed/run.py: --master-port).
TORCHRUN_DEFAULT = 29500
# pytorch#175699, opened in February 2026; 2.15 has it (tried). In between it is taken for granted: a note, no warning.
FREE_PORT = (2, 11)
# Servers of a training's own, whose ports are no rendezvous.
OTHER_SERVER = r"prometheus|http[./\\]server|socketserver|uvicorn|aiohttp|flask|werkzeug|tornado|tensorboard|jupyter|gradio|listen EADDRINUSE"
STANDALONE = Fix(
    "With torchrun on one machine: let it choose a free port",
    "torchrun --standalone --nproc-per-node=N train.py",
    proof="--standalone",
)
# torchrun around a script that calls mp.spawn hangs: spawn-in-torchrun.
SPAWNED = Fix(
    "Where the script starts the ranks itself (mp.spawn): let it ask for a free port, once, before it does",
    'with socket.socket() as s:\n    s.bind(("", 0))\n    os.environ["MASTER_PORT"] = str(s.getsockname()[1])\n'
    "mp.spawn(worker, args=(world_size,), nprocs=world_size)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for the default port, where no launch names it; a note for a port that a script has fixed",
    symptoms=[
        # c10d's TCPStore since 1.10; the port stands in the line since 2.1
        Symptom(
            r"server socket has failed to listen on any local network address(?!.{0,80}EACCES)(\. port: (?P<port>\d+))?",
            unless=r"\(errno: 13 - |\(system error: 10013 - ",  # that is port-privileged
        ),
        r"server socket has failed to bind to \S{1,64}:(?P<port>\d+)(?! \((?:errno: (?:99|13)|system error: 100(?:13|49))\b)\b",
        r"\(errno: (98|48|10048) - Address already in use\)",
        r"(?:port: (?P<port>\d+), .{0,40})?code: -\d+, name: EADDRINUSE",
        # gloo, and c10d before 1.10: no other library raises this as a RuntimeError
        r"(?:RuntimeError|what\(\)): .{0,120}Address already in use",
        # Python's own socket, which a metrics server or a dashboard may have opened as well
        Symptom(
            # the system words it in the user's language; the number stays
            r"(?:OSError|error): (?:\[Errno (?:98|48)\] |\[WinError 10048\] |Address already in use)",
            near=r"c10d|TCPStore|torch[./\\](?:distributed|multiprocessing)|gloo|torchrun|init_process_group|MASTER_PORT",
            unless=OTHER_SERVER,
        ),
        # somebody's words
        Symptom(
            rf"{SOMEBODY}(?:address|port) (?:\d+ )?(?:is|was) (?:already )?(?:taken|in use|used|occupied)\b",
            near=r"\bDDP\b|[Dd]istributed|torchrun|master_port|MASTER_PORT|init_process_group|[Mm]ulti-?(?:GPU|gpu)|\btcp\b",
            asked=True,
        ),
        # accelerate looks before it starts the ranks
        r"on port `?(?P<port>\d+)`?, but another process is utilizing it",
        r"\bPort `?(?P<port>\d+)`? is already in use\. ",
        r"Error: on [\w.:-]{1,80}, port: (?P<port>\d+) already in use",  # torch.distributed.elastic.utils
        r"RuntimeError: .{0,120}Only one usage of each socket address",  # Windows
        # the line alone
        Symptom(
            r"OSError: \[(?:Errno (?:98|48)|WinError 10048)\]|\berrno: 10048 - ",
            unless=rf"{A_FRAME}|[Tt]ensor[Bb]oard|[Gg]radio|[Jj]upyter|uvicorn|[Ff]lask",
        ),
    ],
    follows=["spawn-in-torchrun", "stray-ranks"],
    message="another process listens on the port[ <port>] of the rendezvous already, so rank 0 cannot open its "
    "store there",
    fixes=[
        STANDALONE,
        SPAWNED,
        Fix(
            "On several nodes: another port for this job, the same on all of them",
            "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29501 train.py",
        ),
        Fix(
            "See what an earlier run left over; `kill PID` ends it",
            "ps -u $(id -u) -o pid,ppid,lstart,args | grep '[t]rain.py'",
        ),
    ],
)


@check.environment
def environment(
    launch: Launch, sockets: Sockets, names: Names | None, interfaces: Interfaces | None, torch: Torch | None
) -> Iterator[Finding]:
    """The port that this launch will bind is held already."""
    malformed = "MASTER_PORT" in launch.variables and launch.master_port is None
    if malformed or launch.number("RANK") not in (None, 0) or not _opens_here(launch, names, interfaces):
        return  # another process opens the store; a listener on the port is what this rank needs
    port = TORCHRUN_DEFAULT if launch.master_port is None else launch.master_port
    owner = sockets.holder(port)
    # One port may have several: of each address family, or of processes that share it.
    if port == 0 or owner is None or any(s.own for s in sockets.listeners if s.port == port):
        return
    free = next(p for p in range(port + 1, port + 1000) if sockets.holder(p) is None)
    fixes = [
        STANDALONE,
        Fix(
            f"Or name a port that is free now, {free}; torchrun does not read MASTER_PORT",
            f"torchrun --master-port={free} --nproc-per-node=N train.py",
        ),
        Fix("The same for a script that is started without torchrun", f"export MASTER_PORT={free}"),
    ]
    if owner.pid is not None:
        look = f"ps -o pid,user,lstart,args -p {owner.pid}"
        fixes.append(Fix("See whether that process is left over from an earlier run", look))
    if launch.master_port is None:
        kind = "any launch" if _has_a_fixed_default(torch) else "a launch on several nodes"
        several = (launch.nodes or 1) > 1
        message = (
            f"port {port}, torchrun's default, is held by {owner.owner}: {kind} that names no port fails"
        )
        severe = several or _has_a_fixed_default(torch)
        yield check.found(message, severity=Severity.WARNING if severe else Severity.NOTE, fixes=fixes)
    else:
        message = f"MASTER_PORT {port} is held by {owner.owner}: rank 0 cannot open its store there"
        yield check.found(message, fixes=fixes)


def _opens_here(launch: Launch, names: Names | None, interfaces: Interfaces | None) -> bool:
    """Return whether rank 0 opens its store on this machine; in doubt, it does."""
    return launch.number("RANK") == 0 or names is None or names.master_is_here(interfaces) is not False


def _has_a_fixed_default(torch: Torch | None) -> bool:
    """Return whether this torch's torchrun takes 29500 on a single node too, as it did until early 2026."""
    version = re.match(r"(\d+)\.(\d+)", (torch.version or "") if torch else "")
    return version is not None and (int(version[1]), int(version[2])) < FREE_PORT


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A port that is written into the script: the second job on the machine cannot have it."""
    for call in script.calls:
        port, at = None, call.place
        if call.name == "os.environ.__setitem__" and call.value("key").literal == "MASTER_PORT":
            port = call.value("value").literal
        elif call.name == "torch.distributed.init_process_group":
            method = call.value("init_method")
            port = _tcp_port(method)
            option = next((v for v in (method, *method.items[-1:]) if v.known is Known.ARGUMENT), None)
            if port is not None and option is not None:
                at = (_option(script, option.text) or call).place
        elif call.name.startswith(("subprocess.", "os.system")):
            port = _launched_port(call)
        if port is not None and str(port) != "0":
            yield check.found(
                f"the port {port} is fixed in the script: two jobs on one machine cannot both have it",
                severity=Severity.NOTE,
                location=at,
                fixes=[STANDALONE],
            )


def _tcp_port(method: Value) -> str | None:
    """Return the port of an address like ``tcp://host:port``, ``None`` where it is not written out."""
    if isinstance(method.literal, str):
        found = re.fullmatch(r"tcp://[^:]+:(\d+)", method.literal)
        return found[1] if found else None
    written = re.fullmatch(r"tcp://\{\}:(\d+)", method.text)
    if written is not None:
        return written[1]
    last = method.items[-1].literal if method.text.startswith("tcp://") and method.items else None
    return str(last) if str(last).isdecimal() else None


def _launched_port(call: Call) -> str | None:
    """Return the port that a launcher's command line names, ``None`` where it is not written out."""
    for argument in call.arguments.values():
        for item in (argument.value, *argument.value.items):
            found = (
                re.search(r"--master[_-]port[= ](\d+)", item.literal)
                if isinstance(item.literal, str)
                else None
            )
            if found:
                return found[1]
    return None


def _option(script: Script, name: str) -> Call | None:
    """Return the call that defines an option of the command line."""
    for call in script.methods("add_argument"):
        if any(str(a.value.literal).lstrip("-").replace("-", "_") == name for a in call.arguments.values()):
            return call
    return None
