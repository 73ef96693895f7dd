"""mtu-mismatch: seen in logs."""

MESSAGE = "packets are larger than the network between the nodes allows: small messages pass, large ones hang"
EXAMPLES = {
    "ping: local error: message too long, mtu=1450": (
        "packets are larger than the network between the nodes allows (1450 bytes): small messages pass, large "
        "ones hang"
    ),
    "ping: local error: Message too long, mtu: 1500": (
        "packets are larger than the network between the nodes allows (1500 bytes): small messages pass, large "
        "ones hang"
    ),
    "From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1450)": (
        "packets are larger than the network between the nodes allows (1450 bytes): small messages pass, large "
        "ones hang"
    ),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:309] writev [10.0.0.2]:1234: Message too long": MESSAGE,
    "preflight: MTU mismatch between node0 (9000) and node1 (1500)": MESSAGE,
    "Error: mtu greater than device maximum.": MESSAGE,
}
NOT_THIS = [
    "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP",
    "node1:4711:4790 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 58 mtu 3 GID 3 (0/A10B0A0AFFFF0000)",
    "node1:4711:4790 [0] bootstrap.cc:300 NCCL WARN Message truncated : received 1024 bytes instead of 256",
    "OSError: [Errno 36] File name too long",
]
REST = ": small messages pass, large ones hang"
