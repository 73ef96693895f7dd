"""No node takes itself for the host of torchrun's rendezvous.

## What happens

With `--rdzv-backend=c10d` every node, the one that is named as the endpoint too, waits 60 seconds and fails with
"RendezvousConnectionError: The connection to the C10d store has failed". No node prints "Process 4711 hosts the TCP
store for the C10d rendezvous backend" (shown with LOGLEVEL=INFO).

## Why

torchrun compares the endpoint with the node's own name and addresses, and the node that matches opens the store. It
does not match where

- the endpoint is an alias (CNAME), a service's or load balancer's address, or a public address in front of the machine;
- it is the address of a second interface, such as the InfiniBand one, and the node's name resolves to another;
- the node's name resolves to 127.0.1.1, as Debian and Ubuntu write it into /etc/hosts.

Without the first node's own time-out in the log, the same words are `rendezvous-unreachable`.

## How to tell

On the first node: `getent hosts "$(hostname)"` and `hostname -I`; the endpoint should be among what they print, and
`ss -ltn 'sport = :PORT'` shows no listener while torchrun waits.

## See also

- [pytorch#73656](https://github.com/pytorch/pytorch/issues/73656): the endpoint and the host name do not match
- [Rendezvous](https://docs.pytorch.org/docs/stable/elastic/rendezvous.html): `is_host` of the c10d backend
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Interfaces, Launch, Names, is_loopback

FAILED = r"The connection to the C10d store has failed"
# The same words as rendezvous-unreachable's; these show that the node that should be the host prints them: it is the
# only one, the first, or has the endpoint's name.
LONE = r"(?:--nnodes[= ]\"?1(?::\d+)?(?!\d)|min_nodes\s*: 1\b|--node[_-]rank[= ]\"?0\b)"
TARGET = r"trying to connect to \(?(?P<host>[\w.:-]+?)[,:] ?(?P<port>\d+)"
SAME = r"trying to connect to \((?P<host>[\w.-]+), (?P<port>\d+)\)[\s\S]{0,6000}?srun: error: (?P=host): task"
# The store was there and went away.
LATER = r"in _call_store|in num_nodes_waiting"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(FAILED, near=rf"{LONE}(?:[\s\S]{{0,6000}}?{TARGET})?", unless=LATER),
        Symptom(FAILED, near=SAME, unless=LATER),
        Symptom(rf"\A\s{{0,3}}0: .{{0,300}}{FAILED}", unless=LATER),  # srun --label: the first node's task
    ],
    message=(
        "the node that should host the rendezvous tried to connect to it instead[, at <host> port "
        "<port>]: none opened it"
    ),
    fixes=[
        Fix(
            "Say it: is_host=true on the first node, is_host=false on the others",
            "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 "
            "--rdzv-conf is_host=true train.py",
            proof="is_host=",
        ),
        Fix("Use as endpoint the name that the first node itself prints", "hostname; hostname -I"),
        Fix("On one machine no endpoint is needed", "torchrun --standalone --nproc-per-node=N train.py"),
        Fix(
            "Or number the nodes yourself: node rank 0 is the host (--node-rank=1 on the second)",
            "torchrun --nnodes=2 --node-rank=0 --master-addr=ADDRESS --master-port=29500 --nproc-per-node=N train.py",
        ),
        Fix(
            "Let the node's name mean its address instead of 127.0.1.1",
            "sudo sed -i 's/^127\\.0\\.1\\.1\\s/ADDRESS /' /etc/hosts",
            Kind.ADMIN,
        ),
    ],
)


@check.environment
def environment(names: Names, launch: Launch, interfaces: Interfaces | None) -> Iterator[Finding]:
    """The endpoint that torchrun was told is this machine by an address that its own name does not lead to."""
    endpoint, own = names.endpoint, names.own
    variables = launch.variables
    if endpoint is None or not endpoint.addresses or variables.get("PET_RDZV_BACKEND", "static") != "c10d":
        return
    if "is_host" in variables.get("PET_RDZV_CONF", "") or launch.number("PET_NODE_RANK") not in (None, 0):
        return
    # torchrun's rule: the name itself, or an address that both names lead to
    if endpoint.name in ("localhost", own.name) or is_loopback(endpoint.name):
        return
    if set(endpoint.addresses) & set(own.addresses) or not endpoint.is_here(interfaces):
        return
    leads = f"is {', '.join(own.addresses)}" if own.addresses else f"does not resolve ({own.error})"
    message = (
        f"the endpoint {endpoint.name} is this machine, and its own name {own.name} {leads}: torchrun compares the two, "
        "takes itself for a guest, and nobody opens the rendezvous"
    )
    yield check.found(message)
