"""rendezvous-unreachable: seen in logs."""

EXAMPLES = [
    "RuntimeError: The client socket has timed out after 600000ms while trying to connect to (nid005216, 29500).",
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection refused).",
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed.",
    "[c10d] The client socket cannot be initialized to connect to [node0]:29500",
    "RuntimeError: connect() timed out: No route to host",
    "ValueError: TCPStore(host=10.0.0.1, port=29500): Connection refused",
]
NOT_THIS = [
    "[c10d] The IPv6 network addresses of (node0, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
    "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.",
]
SAYS = {
    EXAMPLES[
        0
    ]: "this process could not connect to nid005216 port 29500 within 600000 ms: nothing answered there"
}
