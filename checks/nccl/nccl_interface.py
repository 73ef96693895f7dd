"""NCCL finds no network interface, or one that the other ranks cannot reach.

## What happens

"Bootstrap : no socket interface found", "connecting to address  with family 59936 is neither AF_INET nor AF_INET6", or
"Connect to 172.17.0.1<43211> failed : No route to host", when the first communicator is made.

## Why

NCCL opens TCP sockets to set itself up, even on one machine and with InfiniBand:

- NCCL_SOCKET_IFNAME names an interface of another machine (eth0 where this one has ens5, enp1s0 or bond0).
- NCCL took an interface that means nothing elsewhere: docker0, virbr0, veth…, a VPN's.
- The container has a network of its own, or only `lo`.
- A firewall between the nodes closes the ports, which are chosen at random.
- "Connection refused": the other process is gone already; its own error is then the cause.

## How to tell

`ip -br addr` lists what there is; `echo $NCCL_SOCKET_IFNAME; cat /etc/nccl.conf ~/.nccl.conf` what was asked for. With
`NCCL_DEBUG=INFO` the line "Bootstrap: Using …" names interface and address that were chosen: that address must answer from the others.

## See also

- [NCCL_SOCKET_IFNAME](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname): names, prefixes, and `^` to leave some out
- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): interfaces that are up and lead nowhere; ports
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

PEER = r"(?P<address>[^\s<>]{1,80})(?:<\d+>)?"
REASON = r"(?P<reason>[A-Z][a-z]+(?: \w+){0,6})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Bootstrap ?: ?no socket interface found",
        r"NET/Socket ?: ?(?:no interface found|No usable listening interface found)",
        r"NET/IB ?: ?No IP interface found",
        # an interface that is not there leaves an address of a random family; a forced one is address-family
        Symptom(
            r"connecting to address .{0,80}?with family \d+ is neither AF_INET", unless="NCCL_SOCKET_FAMILY"
        ),
        rf"No interface found in the same subnet as remote address {PEER}",
        r"Invalid NCCL_COMM_ID, please use format",
        # 2.4 to 2.10 bare, then after "Net : ", "socketStartConnect: " and, in small letters, the function's name
        rf"(?:NCCL WARN|Net ?:|ocketStartConnect:|ocketPollConnect:) ?[Cc]onnect to {PEER} failed ?: {REASON}",
        rf"socketPollConnect: Connect to {PEER} returned \d+\({REASON}\)",
        rf"[Ss]ocket\w{{0,16}}: connect (?:to {PEER} )?returned {REASON}, exceeded error retry count",
        rf"ncclOsSocketPollConnect to {PEER} failed with error {REASON}",
        r"socket(?:Start|Poll)Connect: exceeded (?:retries|timeouts)",
        rf"\bWARN Call to connect failed ?: {REASON}",  # until 2.2
    ],
    message="NCCL has no network interface that reaches the other ranks[ at <address>][: <reason>]",
    follows=["interface-down", "duplicate-hostname", "address-family"],
    fixes=[
        Fix(
            "See which interfaces there are, and which one NCCL was told to take",
            "ip -br addr; env | grep NCCL; cat /etc/nccl.conf ~/.nccl.conf",
        ),
        Fix(
            "Take the interface that leads to another node, whose address is ADDRESS (on one machine alone: lo)",
            "export NCCL_SOCKET_IFNAME=$(ip -o route get ADDRESS | sed 's/.* dev \\([^ ]*\\).*/\\1/')",
        ),
        Fix("Or keep NCCL off the virtual ones", "export NCCL_SOCKET_IFNAME=^lo,docker,virbr,veth,br-"),
        Fix("Give the container the host's network", "docker run --gpus all --network=host --ipc=host IMAGE"),
        Fix(
            "Open all ports between the nodes: NCCL takes any of net.ipv4.ip_local_port_range",
            "sudo ufw allow from SUBNET",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a GPU",
)
