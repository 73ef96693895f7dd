"""Another service answers on the rendezvous port.

## What happens

The connection succeeds, and then "Ping failed, invalid value returned from server. Expected: 26380, Got: 1347703880".
torch tries again until its time-out. The number is the first four bytes of what came back: 1347703880 is "HTTP". Torch 2.6
says "Ping failed, invalid nonce returned". Torch 2.0 reads the answer as a length, and the rank ends with "std::bad_alloc".

## Why

The store sends a number and wants it back. Something else listens where this rank was sent:

- MASTER_PORT is the port of a web server, Jupyter, TensorBoard, Ray's dashboard or ssh.
- MASTER_ADDR is another machine than rank 0's, and that one runs a service on this port.
- A proxy or load balancer is in between and answers for itself.

A service that waits for a whole line before it answers says nothing: then the ranks hang until the time-out, and only
the service's own log shows a "bad request".

## How to tell

On the machine that MASTER_ADDR names: `ss -ltnp 'sport = :PORT'` shows whose the port is. From here
`curl -m 3 http://ADDRESS:PORT` prints the answer of a web server, `nc -w 3 ADDRESS PORT` the greeting of an ssh server.

## See also

- [TCPStore](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore): server, clients and their time-out
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--rdzv-endpoint`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting
from gpudoctor.facts import Interfaces, Launch, Names, Sockets

# What the first four bytes of an answer give away.
KNOWN = {
    b"HTTP": "a web server",
    b"SSH-": "an ssh server",
    b"RFB ": "a VNC server",
    b"-ERR": "a Redis server",
}
# Services that no rank is: by the name of their process.
SERVICES = ("nginx", "apache2", "httpd", "sshd", "node", "redis-server", "mongod", "postgres", "mysqld", "envoy", "haproxy",
            "jupyter-lab", "jupyter-noteboo", "tensorboard", "grafana", "prometheus", "etcd", "docker-proxy")  # fmt: skip

OTHER = Fix(
    "Give rank 0 a port that nobody uses, and tell all nodes",
    "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29501 train.py",
)
ALONE = Fix(
    "On one machine, let torchrun choose a free port", "torchrun --standalone --nproc-per-node=N train.py"
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        (
            r"(?:to host (?P<host>[\w.:-]+):(?P<port>\d+) - .{0,200})?Ping failed, invalid value returned from server\. "
            r"Expected: \d+, Got: (?P<got>-?\d+)"
        ),
        r"Ping failed, invalid nonce returned",  # 2.6
    ],
    fixes=[
        Fix("See whose the port is, on the machine that MASTER_ADDR names", "ss -ltnp 'sport = :<port>'"),
        OTHER,
        ALONE,
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Read the number as the four bytes that it is."""
    number = int(sighting.groups.get("got", 0))
    if not -(1 << 31) <= number < 1 << 32:
        return
    answer = (number & 0xFFFFFFFF).to_bytes(4, "little")
    port = sighting.groups.get("port")
    where = f"{sighting.groups['host']} port {port}" if port else "the rendezvous port"
    message = f"what answers at {where} is no store of torch"
    if answer in KNOWN:
        message = f"{KNOWN[answer]} answers at {where}, not rank 0's store"
    elif answer.isascii() and answer.decode().isprintable():
        message += f": it says {answer.decode()!r}"
    look = Fix(
        "See whose the port is, on the machine that MASTER_ADDR names",
        f"ss -ltnp 'sport = :{port or 'PORT'}'",
    )
    yield check.found(message, fixes=[look, OTHER, ALONE])


@check.environment
def environment(
    launch: Launch, sockets: Sockets, names: Names | None, interfaces: Interfaces | None
) -> Iterator[Finding]:
    """Find a well-known service on the port of this machine that this rank will connect to."""
    if launch.number("RANK") in (None, 0) or names is None or not names.master_is_here(interfaces):
        return  # rank 0 opens the port: port-in-use
    owner = sockets.listener(launch.master_port)
    if owner is not None and owner.command in SERVICES:
        message = f"MASTER_PORT {owner.port} belongs to {owner.owner} here: this rank would talk to it instead of rank 0"
        yield check.found(message, fixes=[OTHER, ALONE])
