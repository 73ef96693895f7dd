"""rendezvous-no-host: seen in logs."""

ERROR = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. "
    "See inner exception for details."
)
TIMEOUT = "[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to (10.0.0.1, 1234)."
MESSAGE = "the node that should host the rendezvous tried to connect to it instead: none opened it"
EXAMPLES = {
    (
        "+ torchrun --nnodes=1 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:1234 train.py\n"
        f"{TIMEOUT}\n{ERROR}"
    ): (
        "the node that should host the rendezvous tried to connect to it instead, at 10.0.0.1 port 1234: none "
        "opened it"
    ),
    "  min_nodes                : 1\n  max_nodes                : 1\n  rdzv_backend             : c10d\n"
    + ERROR: MESSAGE,
    "torchrun --nnodes 2 --node_rank=0 --rdzv_backend c10d --rdzv_endpoint gate:29400 train.py\n"
    + ERROR: MESSAGE,
    (
        "[c10d] The client socket has timed out after 60000ms while trying to connect to (node0, 29400).\n"
        f"{ERROR}\nsrun: error: node0: task 0: Exited with exit code\n"
    ): (
        "the node that should host the rendezvous tried to connect to it instead, at node0 port 29400: none "
        "opened it"
    ),
    "0: " + ERROR: MESSAGE,
}
NOT_THIS = [
    ERROR,
    "1: " + ERROR,
    "torchrun --nnodes 2 --node_rank=1 --rdzv_backend c10d --rdzv_endpoint node0:29400 train.py\n" + ERROR,
    "torchrun --nnodes=16 --rdzv_backend c10d --rdzv_endpoint node0:29400 train.py\n" + ERROR,
    "torchrun --nnodes=1 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:1234 train.py\n"
    '  File "/opt/env/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 112, in _call_store\n'
    + ERROR,
]
