"""duplicate-hostname: seen in logs."""

MESSAGE = "one name, localhost.localdomain, stands for several nodes; the connection went to port 42649 of a wrong one"
EXAMPLES = {
    (
        "[W socket.cpp:601] [c10d] The client socket has failed to connect to [localhost.localdomain]:42649 (errno: 111 - "
        "Connection refused)."
    ): MESSAGE,
    "RuntimeError: The client socket has timed out after 1800s while trying to connect to (localhost.localdomain, 42649).": MESSAGE,
    (
        "[E socket.cpp:610] [c10d] The client socket has failed to connect to any network address of "
        "(localhost.localdomain, 42649)."
    ): MESSAGE,
    (
        "[I api.py:525] [default] Rendezvous complete for workers. Result:\n  restart_count=0\n"
        "  master_addr=localhost.localdomain\n  master_port=42649\n  group_rank=1\n  group_world_size=2\n"
    ): "one name, localhost.localdomain, stands for several nodes (the launch has 2)",
    "ValueError: Hostfile contains multiple entries for node1, unable to proceed with launching": (
        "one name, node1, stands for several nodes"
    ),
    "[ERROR] [runner.py:190] Hostfile contains duplicate hosts, unable to proceed with training.": (
        "one name stands for several nodes"
    ),
}
NOT_THIS = [
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node0]:42649 (errno: 111 - Connection refused).",
    "  restart_count=0\n  master_addr=localhost\n  master_port=29500\n  group_rank=0\n  group_world_size=1\n",
    "  restart_count=0\n  master_addr=node0\n  master_port=29500\n  group_rank=0\n  group_world_size=2\n",
    "ValueError: Hostfile contains a bad entry: node1 slots, unable to proceed with launching",
]
