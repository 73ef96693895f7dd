"""A rank cannot connect to the rendezvous or to rank 0.

## What happens

"The client socket has timed out after 600000ms while trying to connect to (node0, 29500)", "Connection refused", "No
route to host". The process gives up before any training begins.

## Why

- Rank 0 has not started, died at once, or sits on another machine than MASTER_ADDR says.
- Another port: MASTER_PORT or `--rdzv-endpoint` differs between the nodes.
- A firewall, or a container network, drops or refuses the port. Silence until the time-out is a firewall; "refused" is
  a machine on which nothing listens.
- MASTER_ADDR is an address that this node does not reach: a public one, 127.0.0.1, another network's.

## How to tell

From the node that fails: `getent hosts HOST` and `nc -vz HOST PORT` while rank 0 waits. On rank 0's machine:
`ss -ltnp 'sport = :PORT'` shows whether it listens, and on which address.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): the rendezvous endpoint
- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization)
"""

from gpudoctor import Check, Fix, Kind, Severity

PEER = r"\(?\[?(?P<host>[\w.:-]+?)\]?[,:] ?(?P<port>\d+)\)?"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"client socket has timed out after (?P<ms>\d+)ms while trying to connect to {PEER}",
        rf"client socket has failed to connect to (?:any network address of )?{PEER}(?!.{{0,80}}gai error)",
        r"The connection to the C10d store has failed",
        r"\[c10d\] The client socket cannot be initialized to connect to",
        r"\bconnect\b.{0,60}: (?:No route to host|Network is unreachable)",
        r"TCPStore.{0,80}(?:Connection refused|Connection timed out|No route to host)",
    ],
    message="this process could not connect to[ <host> port <port>][ within <ms> ms]: nothing answered there",
    follows=["hostname-resolution", "port-in-use", "rendezvous-no-host"],
    fixes=[
        Fix("Try the connection from the node that fails, while rank 0 waits", "nc -vz <host> <port>"),
        Fix("See on rank 0's machine whether it listens, and where", "ss -ltnp 'sport = :<port>'"),
        Fix(
            "Name one node and one free port for all, by an address that every node reaches",
            "torchrun --nnodes=2 --nproc-per-node=gpu --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE0:29500 train.py",
        ),
        Fix(
            "Open the port between the nodes",
            "sudo ufw allow from SUBNET to any port 29500 proto tcp",
            Kind.ADMIN,
        ),
    ],
)
