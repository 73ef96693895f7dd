"""interface-down: seen in logs."""

MESSAGE = "a network interface is down: connections over it fail"
EXAMPLES = {
    "[Fri Nov 20 09:12:01 2026] ixgbe 0000:01:00.0 eth0: NIC Link is Down": (
        "a network interface, eth0, is down: connections over it fail"
    ),
    "Nov 20 09:12:01 node0 kernel: e1000e: eth1 NIC: eno1: Link is Down": (
        "a network interface, eno1, is down: connections over it fail"
    ),
    "[84211.1] mlx5_core 0000:3b:00.0 ens3f0: Link down": (
        "a network interface, ens3f0, is down: connections over it fail"
    ),
    "bond0: (slave eth1): link status definitely down for interface eth1, disabling slave": (
        "a network interface, eth1, is down: connections over it fail"
    ),
    "[W socket.cpp:558] [c10d] The client socket has failed to connect to [node0]:1234 (errno: 100 - Network is down).": MESSAGE,
    "OSError: [Errno 100] Network is down": MESSAGE,
    (
        "[W socket.cpp:436] [c10d] The server socket has failed to bind to 10.0.0.9:29500 (errno: 99 - Cannot assign requested "
        "address)."
    ): "a network interface is down, or none has the address 10.0.0.9: connections over it fail",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/listener.cc:40] bind: Cannot assign requested address": MESSAGE,
}
NOT_THIS = [
    "ixgbe 0000:01:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
    "3: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN",
    "[W socket.cpp:558] [c10d] The client socket has failed to connect to [node0]:1234 (errno: 113 - No route to host).",
    "node1:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error",
    "OSError: [Errno 99] Cannot assign requested address",
]
