"""gloo has no usable network interface, or one that other nodes cannot reach.

## What happens

`init_process_group("gloo")`, or any library that makes a gloo group beside NCCL, fails with "ifa != nullptr. Unable to
find address for: eth9", say. With the wrong interface, ranks of other nodes time out on an address such as 172.17.0.1.

## Why

- GLOO_SOCKET_IFNAME was copied from another machine: the interface is called eth0 there and ens5 or bond0 here.
- It holds what only NCCL understands: a prefix, `^docker0`, `=eth0`, or an address. gloo takes full names alone.
- The interface has no address, since it is down.
- Without the variable gloo takes the address of the machine's own name; that may be Docker's bridge (172.17.0.1),
  libvirt's (192.168.122.1) or a link-local one (169.254.x.x), which exist on every machine.

## How to tell

`echo $GLOO_SOCKET_IFNAME; ip -br addr` on each node: the name must be in the list, UP, with an address that the other
nodes can ping. `ip route get ADDRESS` names the interface that leads to another node.

## See also

- [Choosing the interface](https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use): GLOO_SOCKET_IFNAME
- [YOLOX#139](https://github.com/Megvii-BaseDetection/YOLOX/issues/139): Unable to find address for: ib0
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

PAIR = r"gloo/transport/\w+/\w+\.(?:cc|h):\d+\] "
# Docker's and libvirt's bridges, and link-local addresses: each machine has its own.
OWN = r"(?P<address>172\.1[78]\.[\d.]+|192\.168\.122\.\d+|169\.254\.[\d.]+)"

check = Check(
    severity=Severity.ERROR,
    follows=["interface-down"],
    symptoms=[
        r"ifa != nullptr\. Unable to find address for: (?P<interface>[^\s,]{1,60})",
        r"Unable to find interface for: (?P<interface>[^\s,]{1,60})",
        rf"{PAIR}connect \[{OWN}\]:\d+: ",
        rf"SO_ERROR: .{{1,60}}, remote=\[{OWN}\]:\d+",
        (
            rf"{PAIR}connect \[(?P<address>[\w.:%]+)\]:\d+: (?P<reason>No route to host|Network is "
            rf"unreachable|Connection timed out)"
        ),
        rf"{PAIR}Connect timeout \[(?!none\])(?P<address>[\w.:%]+)\]",
        # where ranks meet at a port; with a file it is file-store-stale
        Symptom(
            r"connectFullMesh failed with .{0,200}Connect timeout \[none\]",
            near=r"tcp://|TCPStore|MASTER_ADDR|MASTER_PORT|torchrun|torch[./\\]distributed[./\\](?:run|elastic)|\[c10d\]",
            unless=r"file://|FileStore|_file_rendezvous_handler",
        ),
        # torch.distributed.rpc
        r"EADDRNOTAVAIL: address not available \(this error originated at tensorpipe",
    ],
    message=(
        "gloo has no way to the other ranks[: no interface <interface> with an address][: it tried "
        "<address>][, <reason>]"
    ),
    fixes=[
        Fix(
            "See the interfaces and what gloo was told",
            "env | grep -E 'GLOO|TP_SOCKET|NCCL_SOCKET'; ip -br addr",
        ),
        Fix(
            "Take the interface that leads to another node, whose address is ADDRESS",
            "export GLOO_SOCKET_IFNAME=$(ip -o route get ADDRESS | sed 's/.* dev \\([^ ]*\\).*/\\1/')",
        ),
        Fix("On one machine the loopback will do", "export GLOO_SOCKET_IFNAME=lo"),
        Fix(
            "For torch.distributed.rpc there is a variable of its own",
            "export TP_SOCKET_IFNAME=$GLOO_SOCKET_IFNAME",
        ),
        Fix(
            "Let the machine's own name mean its address on that network",
            'echo "ADDRESS $(hostname)" | sudo tee -a /etc/hosts',
            Kind.ADMIN,
        ),
    ],
    no_reproduction="not written yet",
)
