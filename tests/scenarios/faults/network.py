"""The network: interfaces, names, families, proxies, and RDMA adapters."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import Filter, Infiniband, Interface, Listener, Proxy, Resolution, Route, Rule
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, Variant, both, edit, put, variables
from tests.scenarios.healthy import POD, SRUN
from tests.scenarios.topics.names import resolution

TWO_NODES = {"SLURM_NNODES": "2", "SLURM_NTASKS": "16"}
BOARD, RANK, LAPTOP = "board-8xh100", "srun-rank", "laptop-without-gpu"
CLOSED = "NVIDIA UNIX x86_64 Kernel Module  580.82.07  Release Build"
PROXY = Proxy(variable="http_proxy", scheme="http", host="proxy.example", port=3128)


def interface(name: str, **fields: Any) -> Change:
    """Replace fields of one interface."""
    if fields.get("running"):
        fields.setdefault("operstate", "up")

    def change(snapshot: Snapshot) -> Snapshot:
        known: Any = snapshot.facts["interfaces"]
        made = [replace(i, **fields) if i.name == name else i for i in known.all]
        return edit("interfaces", all=made)(snapshot)

    return change


def added(*more: Interface) -> Change:
    """Add interfaces."""
    return edit("interfaces", all=lambda known: [*known, *more])


def only(*kept: str) -> Change:
    """Take away all interfaces but these."""
    return edit("interfaces", all=lambda known: [i for i in known if i.name in kept])


def own(name: str, address: str, source: str | None = None) -> Change:
    """Let the own name resolve to another address."""
    route = Route(address=address, source=source or ("10.0.0.4" if address != "10.0.0.4" else address))
    return edit("names", own=Resolution(name=name, addresses=[address], routes=[route]))


def master(name: str, *addresses: str, source: str | None = "10.0.0.4", error: str | None = None) -> Change:
    """Set MASTER_ADDR, and what it resolves to."""
    routes = [Route(address=a, source=source if error is None else None, error=error) for a in addresses]
    answer = Resolution(name=name, addresses=list(addresses), routes=routes)
    return both(variables(MASTER_ADDR=name, MASTER_PORT="29500"), edit("names", master=answer))


def port(*indices: int, **fields: Any) -> Change:
    """Replace fields of the first port of some adapters, of all without an index."""

    def change(snapshot: Snapshot) -> Snapshot:
        known: Any = snapshot.facts["infiniband"]
        made = [
            replace(d, ports=[replace(d.ports[0], **fields), *d.ports[1:]])
            if n in indices or not indices
            else d
            for n, d in enumerate(known.devices)
        ]
        return edit("infiniband", devices=made)(snapshot)

    return change


def adapters(**fields: Any) -> Change:
    """Replace fields of every adapter."""
    return edit("infiniband", devices=lambda known: [replace(d, **fields) for d in known])


def count(number: int) -> Change:
    """Leave the first adapters alone."""
    return edit("infiniband", devices=lambda known: known[:number])


DOWN: dict[str, Any] = {"up": False, "running": False, "operstate": "down"}
DARK: dict[str, Any] = {"running": False, "operstate": "down"}
PULLED: dict[str, Any] = {"state": "DOWN", "phys_state": "Polling", "rate_gbps": 10.0, "speed": "SDR"}
BRIDGE = Interface(
    name="br-4f1d2c", up=True, running=True, index=2, kind="bridge", virtual=True, addresses=["172.18.0.1"]
)
CLOSED_PORT = Rule(target="drop", ports=[(29500, 29500)])
SSH = Rule(target="accept", ports=[(22, 22)])
SUBNET = Rule(target="accept", conditional=True)
NO_ROUTE = "Network is unreachable"
RAILS = "cloud-8xa100-roce"
SIX = "fd00:7::9"

FAULTS = [
    # loopback and interfaces that are down
    Fault("lo-down", LAPTOP, interface("lo", **DOWN), "interface-down", says="lo is down"),
    Fault(
        "lo-without-address", BOARD, interface("lo", addresses=[]), "interface-down", says="has no address"
    ),
    Fault(
        "gloo-told-one-that-is-down",
        LAPTOP,
        both(interface("eth1", **DOWN), variables(GLOO_SOCKET_IFNAME="eth1")),
        "interface-down",
        says="GLOO_SOCKET_IFNAME=eth1",
    ),
    Fault(
        "gloo-told-one-without-a-cable",
        BOARD,
        variables(GLOO_SOCKET_IFNAME="eth1"),
        "interface-down",
        says="has no carrier",
    ),
    Fault(
        "nccl-told-one-that-is-down",
        BOARD,
        variables(NCCL_SOCKET_IFNAME="eth1"),
        "interface-down",
        says="NCCL_SOCKET_IFNAME=eth1",
    ),
    Fault(
        "own-address-on-one-that-is-down",
        BOARD,
        interface("eth0", **DOWN),
        "interface-down",
        says="the own name node1 is the address of eth0",
    ),
    Fault(
        "own-address-without-a-cable",
        BOARD,
        both(interface("eth0", **DARK), variables(**TWO_NODES)),
        "interface-down",
        says="has no carrier",
    ),
    Fault(
        "bond-with-one-leg",
        BOARD,
        added(
            Interface(
                name="bond0",
                up=True,
                running=True,
                kind="bond",
                addresses=["10.2.0.4"],
                virtual=True,
                parts=["e0", "e1"],
            ),
            Interface(name="e0", up=True, running=True, kind="ethernet", master="bond0"),
            Interface(name="e1", up=True, running=False, kind="ethernet", master="bond0"),
        ),
        "interface-down",
        says="a part of bond0",
    ),
    Fault(
        "rail-without-a-cable",
        RAILS,
        both(interface("eth5", **DARK), variables(**TWO_NODES)),
        "interface-down",
        says="eth5 has an address and has no carrier",
    ),
    # gloo
    Fault(
        "gloo-missing",
        LAPTOP,
        variables(GLOO_SOCKET_IFNAME="ens5"),
        "gloo-interface",
        says="no interface ens5; it has eth0",
    ),
    Fault(
        "gloo-with-nccls-grammar",
        BOARD,
        variables(GLOO_SOCKET_IFNAME="^docker0"),
        "gloo-interface",
        says="NCCL's",
    ),
    Fault(
        "gloo-prefix", BOARD, variables(GLOO_SOCKET_IFNAME="eth"), "gloo-interface", says="no interface eth;"
    ),
    Fault("gloo-address", BOARD, variables(GLOO_SOCKET_IFNAME="10.0.0.4"), "gloo-interface"),
    Fault(
        "gloo-list-with-a-space",
        BOARD,
        variables(GLOO_SOCKET_IFNAME="eth0, lo"),
        "gloo-interface",
        says="space",
    ),
    Fault(
        "gloo-lo-on-two-nodes",
        RANK,
        variables(GLOO_SOCKET_IFNAME="lo"),
        "gloo-interface",
        says="is loopback, and the launch spans nodes",
    ),
    Fault(
        "gloo-without-address",
        BOARD,
        both(interface("eth1", running=True), variables(GLOO_SOCKET_IFNAME="eth1")),
        "gloo-interface",
        says="eth1 has no address",
    ),
    Fault(
        "gloo-takes-dockers-bridge",
        RANK,
        both(interface("docker0", running=True), own("node2", "172.17.0.1", "172.17.0.1")),
        "gloo-interface",
        says="the address of docker0",
    ),
    # NCCL
    Fault(
        "nccl-missing",
        BOARD,
        variables(NCCL_SOCKET_IFNAME="ens5"),
        "nccl-interface",
        says="fits no interface",
    ),
    Fault("nccl-exact-missing", BOARD, variables(NCCL_SOCKET_IFNAME="=eth"), "nccl-interface"),
    Fault(
        "nccl-list-with-spaces",
        BOARD,
        variables(NCCL_SOCKET_IFNAME="ib0, eth0"),
        "nccl-interface",
        says="space",
    ),
    Fault("nccl-nothing-left", BOARD, variables(NCCL_SOCKET_IFNAME="^lo,eth,docker"), "nccl-interface"),
    Fault(
        "nccl-lo-on-two-nodes",
        RANK,
        variables(NCCL_SOCKET_IFNAME="lo"),
        "nccl-interface",
        says="takes lo first",
    ),
    Fault(
        "nccl-dockers-bridge",
        RANK,
        both(interface("docker0", running=True), variables(NCCL_SOCKET_IFNAME="docker0")),
        "nccl-interface",
    ),
    Fault(
        "nccl-would-take-a-bridge",
        RANK,
        both(
            only("lo"),
            added(
                BRIDGE,
                Interface(
                    name="ens3",
                    up=True,
                    running=True,
                    index=9,
                    kind="ethernet",
                    addresses=["10.0.0.4"],
                    default_route=True,
                ),
            ),
        ),
        "nccl-interface",
        says="br-4f1d2c first",
    ),
    Fault(
        "nccl-has-lo-alone",
        RANK,
        both(only("lo"), own("node2", "127.0.1.1", "127.0.0.1")),
        "nccl-interface",
        also=("hostname-resolution",),
    ),
    # families
    Fault(
        "master-ipv6-and-none-here",
        LAPTOP,
        both(
            only("lo", "docker0"),
            added(Interface(name="eth0", up=True, index=2, addresses=["10.0.0.4"])),
            edit("interfaces", ipv6=False),
            master(SIX, SIX, error=NO_ROUTE),
        ),
        "address-family",
        also=("hostname-resolution",),
        says="IPv6 is switched off",
    ),
    Fault(
        "master-loopback-ipv6-and-none-here",
        BOARD,
        both(
            interface("lo", addresses=["127.0.0.1"]),
            edit("interfaces", ipv6=False),
            master("::1", "::1", error="Cannot assign requested address"),
        ),
        "address-family",
        says="no ::1",
    ),
    Fault(
        "master-link-local",
        BOARD,
        master("fe80::1", "fe80::1", error="Invalid argument"),
        "address-family",
        says="link-local",
    ),
    Fault(
        "master-ipv4-on-an-ipv6-machine",
        BOARD,
        both(
            interface("eth0", addresses=["2001:db8::4"]),
            own("node1", "2001:db8::4", "2001:db8::4"),
            master("10.9.9.9", "10.9.9.9", error=NO_ROUTE),
        ),
        "address-family",
    ),
    Fault(
        "nccl-family-ipv6",
        BOARD,
        both(interface("eth0", addresses=["10.0.0.4"]), variables(NCCL_SOCKET_FAMILY="AF_INET6")),
        "address-family",
    ),
    Fault(
        "nccl-family-ipv4",
        BOARD,
        both(
            only("lo", "eth0"),
            interface("eth0", addresses=["2001:db8::4"]),
            interface("lo", addresses=["127.0.0.1"]),
            own("node1", "2001:db8::4", "2001:db8::4"),
            variables(NCCL_SOCKET_FAMILY="AF_INET", NCCL_SOCKET_IFNAME="eth0"),
        ),
        "address-family",
    ),
    # the rendezvous
    Fault(
        "no-way-to-master",
        BOARD,
        master("10.99.0.1", "10.99.0.1", error=NO_ROUTE),
        "rendezvous-unreachable",
        says="Network is unreachable",
    ),
    Fault(
        "no-way-to-master-and-own-name-is-loopback",
        LAPTOP,
        master("10.99.0.1", "10.99.0.1", error="No route to host"),
        "rendezvous-unreachable",
        says="No route to host",
    ),
    Fault(
        "nobody-answers-for-master",
        BOARD,
        both(
            master("10.0.0.77", "10.0.0.77"),
            edit(
                "names",
                master=Resolution(
                    name="10.0.0.77",
                    addresses=["10.0.0.77"],
                    routes=[Route(address="10.0.0.77", source="10.0.0.4", silent=True)],
                ),
            ),
        ),
        "rendezvous-unreachable",
        says="nobody answered",
    ),
    Fault(
        "rank-0-here-master-elsewhere",
        LAPTOP,
        both(master("10.0.0.77", "10.0.0.77"), variables(RANK="0", WORLD_SIZE="2")),
        "rendezvous-unreachable",
        says="no address of this machine",
    ),
    Fault(
        "one-node-master-elsewhere",
        BOARD,
        both(
            master("node7", "10.0.0.77"),
            variables(RANK="3", WORLD_SIZE="8", LOCAL_WORLD_SIZE="8", LOCAL_RANK="3"),
        ),
        "rendezvous-unreachable",
        says="node7 (10.0.0.77)",
    ),
    Fault(
        "endpoint-by-another-address",
        RANK,
        both(
            added(
                Interface(
                    name="ib0", up=True, running=True, kind="infiniband", addresses=["10.5.0.4"], index=7
                )
            ),
            edit(
                "names",
                endpoint=Resolution(
                    name="10.5.0.4",
                    addresses=["10.5.0.4"],
                    routes=[Route(address="10.5.0.4", source="10.5.0.4")],
                ),
            ),
            variables(PET_RDZV_BACKEND="c10d", PET_RDZV_ENDPOINT="10.5.0.4:29500"),
        ),
        "rendezvous-no-host",
        says="takes itself for a guest",
    ),
    # firewalls
    Fault(
        "firewall-closes-the-port",
        RANK,
        both(
            master("10.0.0.4", "10.0.0.4", source="10.0.0.4"),
            edit("firewall", filters=[Filter(source="iptables", chains={"INPUT": [CLOSED_PORT]})]),
        ),
        "rendezvous-unreachable",
        says="lets no other node in to MASTER_PORT 29500",
    ),
    Fault(
        "firewall-lets-ssh-in-alone",
        RANK,
        edit(
            "firewall", filters=[Filter(source="nft", policy="drop", start="input", chains={"input": [SSH]})]
        ),
        "rendezvous-unreachable",
        says="ports 32768 to 60999",
    ),
    # names
    Fault(
        "own-name-elsewhere",
        BOARD,
        own("node1", "10.66.0.1"),
        "hostname-resolution",
        says="no interface of this machine has",
    ),
    Fault("own-name-elsewhere-laptop", LAPTOP, own("laptop", "10.66.0.1"), "hostname-resolution"),
    Fault(
        "own-name-elsewhere-two-nodes",
        RANK,
        own("node2", "10.66.0.1"),
        "hostname-resolution",
        says="spans nodes",
    ),
    Fault("own-name-loopback-two-nodes", RANK, own("node2", "127.0.1.1", "127.0.0.1"), "hostname-resolution"),
    Fault(
        "own-name-unknown",
        BOARD,
        edit("names", own=Resolution(name="node1", error="Name or service not known")),
        "hostname-resolution",
    ),
    Fault(
        "master-misspelt",
        RANK,
        both(
            variables(MASTER_ADDR="nod1"),
            edit("names", master=Resolution(name="nod1", error="Name or service not known")),
        ),
        "hostname-resolution",
    ),
    Fault(
        "master-loopback-two-nodes",
        RANK,
        master("localhost", "127.0.0.1", source="127.0.0.1"),
        "hostname-resolution",
    ),
    Fault(
        "everybody-is-localhost",
        RANK,
        own("localhost.localdomain", "127.0.0.1", "127.0.0.1"),
        "duplicate-hostname",
        says="localhost.localdomain",
    ),
    # MTU
    Fault(
        "one-rail-with-another-mtu",
        RAILS,
        interface("eth5", mtu=1500),
        "mtu-mismatch",
        says="eth5 has an MTU of 1500",
    ),
    Fault("tiny-mtu", BOARD, interface("eth0", mtu=576), "mtu-mismatch", says="MTU of 576"),
    Fault(
        "own-address-on-a-dead-link",
        BOARD,
        both(interface("eth0", operstate="lowerlayerdown"), variables(**TWO_NODES)),
        "interface-down",
    ),
    # proxies
    Fault(
        "proxy-without-a-name",
        LAPTOP,
        edit("proxies", all=[replace(PROXY, error="Name or service not known")]),
        "proxy-in-the-way",
    ),
    Fault(
        "proxy-here-and-nobody-listens",
        BOARD,
        edit(
            "proxies",
            all=[replace(PROXY, host="127.0.0.1", port=7890, local=True)],
            bypassed={"localhost": True},
        ),
        "proxy-in-the-way",
        says="7890",
    ),
    Fault(
        "proxy-catches-localhost",
        BOARD,
        edit("proxies", all=[PROXY], bypassed={"localhost": False, "own": False}),
        "proxy-in-the-way",
        says="localhost",
    ),
    Fault(
        "proxy-is-no-address", BOARD, edit("proxies", all=[Proxy(variable="https_proxy")]), "proxy-in-the-way"
    ),
    Fault(
        "proxy-catches-master",
        RANK,
        both(
            master("node1", "10.0.0.4"),
            edit("proxies", all=[PROXY], bypassed={"localhost": True, "master": False}),
        ),
        "proxy-in-the-way",
        note=True,
    ),
    # a service on the port
    Fault(
        "web-server-on-the-port",
        BOARD,
        both(
            master("10.0.0.4", "10.0.0.4"),
            variables(RANK="1", WORLD_SIZE="2", MASTER_PORT="8080"),
            edit("sockets", listeners=[Listener(port=8080, address="0.0.0.0", pid=9, command="nginx")]),
        ),
        "port-foreign-service",
    ),
    # InfiniBand
    Fault(
        "one-port-down",
        BOARD,
        port(3, **PULLED),
        "infiniband-port-down",
        says="mlx5_3 is down (DOWN, Polling)".replace("DOWN", "Down"),
    ),
    Fault(
        "two-ports-down", "board-8xh200", port(0, 5, **PULLED), "infiniband-port-down", says="mlx5_0, mlx5_5"
    ),
    Fault(
        "port-disabled", "board-8xa100", port(7, state="DOWN", phys_state="Disabled"), "infiniband-port-down"
    ),
    Fault(
        "port-down-among-unknown-boards",
        BOARD,
        both(count(8), adapters(board="", model=""), port(2, **PULLED)),
        "infiniband-port-down",
    ),
    Fault("roce-port-down", RAILS, port(4, state="DOWN", phys_state="Disabled"), "infiniband-port-down"),
    Fault(
        "no-subnet-manager",
        BOARD,
        port(*range(8), state="INIT"),
        "infiniband-port-down",
        says="subnet manager",
    ),
    Fault("one-port-initializing", BOARD, port(6, state="INIT"), "infiniband-port-down", says="mlx5_6"),
    Fault("all-ports-down-two-nodes", RANK, port(*range(8), **PULLED), "infiniband-port-down"),
    Fault(
        "asked-port-down",
        BOARD,
        both(port(8, 9, state="DOWN"), variables(NCCL_IB_HCA="=mlx5_9")),
        "infiniband-port-down",
    ),
    Fault(
        "slow-port",
        BOARD,
        port(1, rate_gbps=200, speed="HDR"),
        "infiniband-slow-port",
        says="mlx5_1 runs at 200 Gb/s",
    ),
    Fault(
        "port-with-one-lane", BOARD, port(1, rate_gbps=100, lanes=1), "infiniband-slow-port", says="1X NDR"
    ),
    Fault("slow-roce-port", RAILS, port(1, rate_gbps=100, lanes=2), "infiniband-slow-port"),
    Fault(
        "symbol-errors",
        BOARD,
        port(2, counters={"symbol_error": 48213}),
        "infiniband-errors",
        says="48213 symbol errors",
    ),
    Fault("flapping-link", BOARD, port(2, counters={"link_downed": 640}), "infiniband-errors"),
    Fault(
        "growing-errors",
        BOARD,
        port(2, counters={"port_rcv_errors": 80}, growing={"port_rcv_errors": 3}),
        "infiniband-errors",
        says="3 more",
    ),
    Fault("unanswered-roce", RAILS, port(0, counters={"local_ack_timeout_err": 911000}), "infiniband-errors"),
    Fault(
        "closed-module-without-peermem",
        BOARD,
        both(edit("driver", description=CLOSED), edit("infiniband", peermem=False)),
        "gpudirect-unavailable",
    ),
    Fault(
        "pod-without-verbs",
        "pod-8",
        edit("infiniband", verbs=[]),
        "nccl-infiniband",
        note=True,  # on one node it needs none
        says="/dev/infiniband",
    ),
    Fault(
        "verbs-refused",
        BOARD,
        edit("infiniband", verbs_refused=lambda _: [f"uverbs{n}" for n in range(10)]),
        "nccl-infiniband",
        says="may not open",
    ),
    Fault(
        "verbs-library-missing",
        "pod-8",
        edit("infiniband", libibverbs=False),
        "nccl-infiniband",
        note=True,
        says="libibverbs",
    ),
    Fault(
        "gid-empty",
        RAILS,
        variables(NCCL_IB_GID_INDEX="7"),
        "nccl-infiniband",
        says="RoCE v2 with its IPv4 address is 3",
    ),
    Fault("gid-of-roce-v1", RAILS, variables(NCCL_IB_GID_INDEX="2"), "nccl-infiniband", says="RoCE v1"),
    Fault("hca-missing", BOARD, variables(NCCL_IB_HCA="mlx4_0"), "nccl-infiniband", says="fits no adapter"),
    Fault("net-without-adapter", "cloud-8xh100-efa", variables(NCCL_NET="IB"), "nccl-net-plugin"),
    Fault("net-of-another-cloud", BOARD, variables(NCCL_NET="AWS Libfabric"), "nccl-net-plugin", says="EFA"),
    Fault("plugin-missing", BOARD, variables(NCCL_NET_PLUGIN="aws-ofi"), "nccl-net-plugin"),
    Fault(
        "efa-without-plugin",
        "cloud-8xh100-efa",
        both(edit("plugins", found=[]), variables(**TWO_NODES)),
        "nccl-net-plugin",
    ),
    Fault(
        "nccl-ranks-without-gpu",
        "cloud-vm-without-gpu",
        both(
            master("127.0.0.1", "127.0.0.1", source="127.0.0.1"),
            variables(
                NCCL_IB_TIMEOUT="22",
                SLURM_GPUS_ON_NODE="4",
                RANK="0",
                WORLD_SIZE="4",
                LOCAL_RANK="0",
                LOCAL_WORLD_SIZE="4",
            ),
        ),
        "nccl-no-gpu",
        also=(),
    ),
]

VARIANTS = [
    Variant(
        "spare-port-that-kept-its-address",
        RANK,
        interface("eth1", addresses=["10.3.0.4"]),
    ),
    Variant(
        "firewall-lets-the-subnet-in",
        RANK,
        edit(
            "firewall",
            filters=[Filter(source="nft", policy="drop", start="input", chains={"input": [SSH, SUBNET]})],
        ),
    ),
    Variant(
        "firewall-of-a-single-machine",
        LAPTOP,
        edit(
            "firewall", filters=[Filter(source="iptables", policy="drop", chains={"INPUT": [SSH]})], ufw=True
        ),
    ),
    Variant("gloo-told-its-interface", RANK, variables(GLOO_SOCKET_IFNAME="eth0", NCCL_SOCKET_IFNAME="eth0")),
    Variant(
        "gloo-told-two",
        RANK,
        both(
            interface("eth1", addresses=["10.3.0.4"], running=True), variables(GLOO_SOCKET_IFNAME="eth0,eth1")
        ),
    ),
    Variant(
        "gloo-told-a-label",
        BOARD,
        both(interface("eth0", labels=["eth0:1"]), variables(GLOO_SOCKET_IFNAME="eth0:1")),
    ),
    Variant("gloo-lo-on-one-node", BOARD, variables(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")),
    Variant("nccl-leaves-out-some", RANK, variables(NCCL_SOCKET_IFNAME="^docker0,lo")),
    Variant("nccl-exactly-one", RANK, variables(NCCL_SOCKET_IFNAME="=eth0")),
    Variant("nccl-asks-for-eth-and-ib", RANK, variables(NCCL_SOCKET_IFNAME="ib,eth")),
    Variant("nccl-family-as-it-is", BOARD, variables(NCCL_SOCKET_FAMILY="AF_INET")),
    Variant("nccl-leaves-out-an-adapter", BOARD, variables(NCCL_IB_HCA="^mlx5_8,mlx5_9")),
    Variant("adapters-by-prefix", BOARD, variables(NCCL_IB_HCA="mlx5")),
    Variant(
        "no-ipv6",
        BOARD,
        both(
            edit("interfaces", ipv6=False),
            interface("lo", addresses=["127.0.0.1"]),
            interface("eth0", addresses=["10.0.0.4"]),
        ),
    ),
    Variant(
        "no-ipv6-localhost",
        BOARD,
        both(
            edit("interfaces", ipv6=False),
            interface("lo", addresses=["127.0.0.1"]),
            master("localhost", "127.0.0.1", source="127.0.0.1"),
            variables(RANK="0", WORLD_SIZE="8", LOCAL_RANK="0", LOCAL_WORLD_SIZE="8"),
        ),
    ),
    Variant(
        "localhost-of-both-families",
        LAPTOP,
        both(
            interface("lo", addresses=["127.0.0.1"]),
            master("localhost", "::1", "127.0.0.1", source="127.0.0.1"),
            variables(RANK="0", WORLD_SIZE="1"),
        ),
    ),
    Variant(
        "offline-laptop",
        LAPTOP,
        both(
            interface("eth0", addresses=[], running=False),
            edit("names", own=resolution("laptop", "127.0.1.1")),
        ),
    ),
    Variant(
        "wireless-laptop",
        LAPTOP,
        added(
            Interface(
                name="wlp2s0",
                up=True,
                running=True,
                kind="wireless",
                addresses=["192.168.1.7"],
                default_route=True,
            )
        ),
    ),
    Variant(
        "wireless-is-off", LAPTOP, added(Interface(name="wlan0", up=False, running=False, kind="wireless"))
    ),
    Variant(
        "vpn",
        LAPTOP,
        added(
            Interface(name="tun0", up=True, running=True, kind="tun", addresses=["10.8.0.2"]),
            Interface(name="wg0", up=False, running=False, kind="wireguard", addresses=["10.9.0.2"]),
        ),
    ),
    Variant(
        "veths-of-containers",
        BOARD,
        both(
            interface("docker0", running=True),
            added(
                *(
                    Interface(
                        name=f"veth{n}a",
                        up=True,
                        running=True,
                        kind="veth",
                        virtual=True,
                        addresses=["fe80::1"],
                        master="docker0",
                    )
                    for n in range(12)
                )
            ),
        ),
    ),
    Variant(
        "kubernetes-node",
        BOARD,
        added(
            Interface(name="cni0", up=True, running=True, kind="bridge", addresses=["10.244.1.1"], mtu=1450),
            Interface(
                name="flannel.1", up=True, running=True, kind="vxlan", addresses=["10.244.1.0"], mtu=1450
            ),
            Interface(name="cali12ab", up=False, running=False, kind="veth"),
        ),
    ),
    Variant(
        "bond-of-two",
        BOARD,
        added(
            Interface(name="bond0", up=True, running=True, kind="bond", addresses=["10.2.0.4"], virtual=True),
            Interface(name="e0", up=True, running=True, master="bond0"),
            Interface(name="e1", up=True, running=True, master="bond0"),
        ),
    ),
    Variant(
        "jumbo-frames-on-one-of-two",
        BOARD,
        both(interface("eth1", running=True, addresses=["10.3.0.4"], mtu=9000, speed_mbps=25000)),
    ),
    Variant("google-mtu", "cloud-l4", interface("eth0", mtu=1460)),
    Variant(
        "several-addresses",
        BOARD,
        edit("names", own=Resolution(name="node1", addresses=["127.0.1.1", "10.0.0.4"])),
    ),
    Variant("own-name-by-another-route", BOARD, own("node1", "10.0.0.200", "10.0.0.200")),
    Variant(
        "own-name-link-local",
        LAPTOP,
        edit("names", own=Resolution(name="laptop", addresses=["fe80::20d:3aff:fe12:3456%eth0"])),
    ),
    Variant("names-not-read", BOARD, put(names=None)),
    Variant("interfaces-not-read", BOARD, put(interfaces=None)),
    Variant(
        "service-in-front-of-the-pod",
        "pod-8",
        both(
            variables(**POD, RANK="0", WORLD_SIZE="16", LOCAL_RANK="0", LOCAL_WORLD_SIZE="8"),
            master("train-master-0", "10.96.7.7"),
        ),
    ),
    Variant("rank-of-another-node", RANK, master("node1", "10.0.0.9")),
    Variant(
        "static-rendezvous",
        RANK,
        both(
            variables(**SRUN, RANK="9", WORLD_SIZE="16", LOCAL_RANK="1", LOCAL_WORLD_SIZE="8"),
            master("node1", "10.0.0.9"),
        ),
    ),
    Variant(
        "endpoint-of-the-other-node",
        RANK,
        both(
            edit("names", endpoint=resolution("node1", "10.0.0.9")),
            variables(PET_RDZV_BACKEND="c10d", PET_RDZV_ENDPOINT="node1:29500"),
        ),
    ),
    Variant(
        "proxy-with-exceptions",
        BOARD,
        edit("proxies", all=[PROXY], bypassed={"localhost": True, "own": False}),
    ),
    Variant(
        "https-proxy-alone",
        BOARD,
        edit("proxies", all=[replace(PROXY, variable="https_proxy")], bypassed={"localhost": False}),
    ),
    Variant(
        "proxy-of-this-machine",
        BOARD,
        both(
            edit(
                "proxies",
                all=[replace(PROXY, host="127.0.0.1", port=8888, local=True)],
                bypassed={"localhost": True},
            )
        ),
    ),
    Variant(
        "proxy-of-windows",
        "wsl-4090",
        edit(
            "proxies",
            all=[replace(PROXY, host="127.0.0.1", port=7890, local=True)],
            bypassed={"localhost": True},
        ),
    ),
    Variant("single-node-without-infiniband-cables", BOARD, port(state="DOWN", phys_state="Polling")),
    Variant(
        "spare-infiniband-port",
        BOARD,
        edit(
            "infiniband",
            devices=lambda known: [
                *known,
                replace(
                    known[0],
                    name="mlx5_12",
                    pci_address="0000:b0:00.0",
                    ports=[replace(known[0].ports[0], state="DOWN", phys_state="Polling")],
                ),
            ],
        ),
    ),
    Variant(
        "one-of-two-ports-cabled",
        "server-2xh100-pcie-bridged",
        put(infiniband=Infiniband(devices=[], peermem=False)),
    ),
    Variant("storage-ports-slower", BOARD, adapters(board="", model="")),
    Variant("split-cables", BOARD, port(*range(8), rate_gbps=200, lanes=2)),
    Variant(
        "old-errors", BOARD, port(2, counters={"symbol_error": 4, "link_downed": 3, "port_rcv_errors": 11})
    ),
    Variant("closed-module-with-peermem", BOARD, edit("driver", description=CLOSED)),
    Variant("ethernet-server-with-closed-module", "server-8xl40s", edit("driver", description=CLOSED)),
    Variant(
        "efa-without-peermem",
        "cloud-8xh100-efa",
        both(edit("driver", description=CLOSED), edit("infiniband", peermem=False)),
    ),
    Variant("container-without-verbs", "container-2-of-8", edit("infiniband", verbs=[])),
    Variant(
        "gid-of-roce-v2",
        RAILS,
        variables(
            NCCL_IB_GID_INDEX="3", NCCL_IB_HCA="=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"
        ),
    ),
    Variant("soft-roce", LAPTOP, put(infiniband=Infiniband(devices=[]))),
    Variant(
        "google-plugin",
        BOARD,
        both(
            edit("plugins", found=["libnccl-net_internal.so", "libnccl-net.so"]),
            variables(NCCL_NET_PLUGIN="none"),
        ),
    ),
    Variant("plugin-there", "cloud-8xh100-efa", variables(NCCL_NET="AWS Libfabric", NCCL_NET_PLUGIN="ofi")),
]
