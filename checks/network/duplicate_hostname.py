"""Several nodes have one name, so the address that is passed on means another node.

## What happens

There is no error text of its own. torchrun's nodes find each other, and then the workers of all nodes but the first
fail with "The client socket has failed to connect to [localhost.localdomain]:42649": a port that nobody chose, on a name
that means a different machine on each node. NCCL takes ranks of two such nodes for neighbours, and reports duplicate GPUs or missing shared memory.

## Why

torchrun hands the name of rank 0's machine (`socket.getfqdn()`) to all nodes as MASTER_ADDR, and NCCL tells machines
apart by host name and boot id.

- Machines cloned from one image are all called localhost.localdomain, ubuntu or the like.
- Containers were started with the same `--hostname`, or the same name is twice in DeepSpeed's hostfile.

## How to tell

Run `hostname; hostname -I; cat /proc/sys/kernel/random/boot_id` on every node: the names must differ. In a log with
NCCL_DEBUG=INFO, lines that begin with one name and say "Bootstrap: Using" two addresses are two nodes of one name.

## See also

- [pytorch#85300](https://github.com/pytorch/pytorch/issues/85300): torchrun puts names in the place of addresses
- [pytorch#150532](https://github.com/pytorch/pytorch/issues/150532): torchrun where names cannot be resolved, and what helps in each version
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Interfaces, Launch, Names, spans_nodes

LOCAL = r"localhost\d?(?:\.localdomain\d?)?"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        (
            r"client socket has (?:failed to connect to|timed out after \d+m?s while trying to connect to) "
            r"(?:any network address of )?[\[(]{1,2}(?P<host>localhost\d?\.localdomain\d?)\]?[:,] ?(?P<port>\d+)"
        ),
        # torchrun with LOGLEVEL=INFO: the name of rank 0's machine, given to several nodes
        Symptom(rf"\bmaster_addr=(?P<host>{LOCAL})$", near=r"group_world_size=(?P<nodes>[2-9]|[1-9]\d+)\b"),
        # DeepSpeed's hostfile, new and old
        r"Hostfile contains multiple entries for (?P<host>[^\s,]+), unable to proceed",
        r"Hostfile contains duplicate hosts, unable to proceed",
    ],
    message=(
        "several nodes have one name[: <host>][ (the launch has <nodes>)][; the connection went "
        "to port <port> of a wrong one]"
    ),
    fixes=[
        Fix("See what the nodes are called", "hostname; hostname -I; cat /proc/sys/kernel/random/boot_id"),
        Fix(
            "Pass on addresses instead of names: --local-addr is each node's own, the endpoint the first node's; is_host=false "
            "on the others, and gloo is told each node's own interface",
            "GLOO_SOCKET_IFNAME=INTERFACE torchrun --local-addr=ADDRESS --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d "
            "--rdzv-id=JOB --rdzv-conf=is_host=true --rdzv-endpoint=ADDRESS:29500 train.py",
            proof="--local-addr=",
        ),
        Fix(
            "Or number the nodes yourself (--node-rank=1 on the second), and name the first by its address",
            "GLOO_SOCKET_IFNAME=INTERFACE torchrun --nnodes=2 --node-rank=0 --master-addr=ADDRESS --master-port=29500 "
            "--nproc-per-node=N train.py",
        ),
        Fix(
            "Give containers names of their own",
            "docker run --hostname NODE --gpus all --network=host IMAGE",
        ),
        Fix(
            "Give each machine its own name, and its address in /etc/hosts",
            'sudo hostnamectl set-hostname NODE && echo "ADDRESS NODE" | sudo tee -a /etc/hosts',
            Kind.ADMIN,
        ),
    ],
)


@check.environment
def environment(names: Names, launch: Launch | None, interfaces: Interfaces | None) -> Iterator[Finding]:
    """The own name is one that any machine may have, and the launch spans nodes."""
    name = names.own.name
    if re.fullmatch(LOCAL, name) and spans_nodes(launch, names, interfaces):
        message = (
            f"this machine is called {name}, as any other may be, and this launch spans nodes: torchrun passes that name on, and "
            "each node takes it for itself"
        )
        yield check.found(message)
