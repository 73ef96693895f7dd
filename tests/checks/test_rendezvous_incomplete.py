"""rendezvous-incomplete: seen in logs."""

BARRIER = "RuntimeError: Timed out initializing process group in store based barrier on rank"
MESSAGE = "not all nodes came to the rendezvous before its time was over"
WAITS = "the log ends while this process waits for the others to come to the rendezvous"
JAX = "not every process came to JAX's coordination service in time, or it cannot be reached"
EXAMPLES = {
    "torchrun had printed nothing for 92 s when it was ended, and stood still: torchrun had started no rank, and waited for other nodes": (
        "torchrun had started no rank, and waited for other nodes, until it was ended: not all of them came, or not to this place"
    ),
    "TimeoutError: timed out waiting for all 6 members to join": (
        "not all of the 6 processes came to the store before its time was over"
    ),
    "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:": JAX,
    "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually happens": JAX,
    "Stopping the service as cluster registration failed. This may be due to 1) tasks that crashed": JAX,
    "RPC: /tensorflow.CoordinationService/RegisterTask\nstatus: DEADLINE_EXCEEDED": JAX,
    "torch.distributed.DistStoreError: Socket Timeout": MESSAGE,
    "INFO:torch.distributed.distributed_c10d:Added key: store_based_barrier_key:1 to store for rank: 0": WAITS,
    "INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)": "1 of 8 processes came: the others are missing",
    "I0312 10:21:07.816000 1402 torch/distributed/elastic/agent/server/api.py:660] [default] Rendezvous'ing worker group": WAITS,
    "I encountered RendezvousTimeoutError when using 2 nodes": (
        "not all nodes came to the rendezvous before its time was over"
    ),
    "[rank: 0] Seed set to 42\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/5": (
        "1 of 5 processes have come, and the log ends while they wait for the others"
    ),
    "[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.": (
        "1 of 2 processes came within 601 s: the others are missing"
    ),
    "RuntimeError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.": (
        "4 of 8 processes came within 1801 s: the others are missing"
    ),
    f"{BARRIER}: 0, for key: store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:30:00)": (
        "1 of 2 processes came: the others are missing"
    ),
    f"{BARRIER} 3, for key: store_based_barrier_key:0 (world_size=8, num_workers_joined=4, timeout=0:30:00 error=timeout)": (
        "4 of 8 processes came: the others are missing"
    ),
    "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError": MESSAGE,
    "torch.distributed.elastic.rendezvous.api.RendezvousClosedError": "the rendezvous had been closed when this node came to it: another node's launcher had ended, and its output says why",
    '    "message": "RendezvousTimeoutError: ",': MESSAGE,
    "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /torch.rendezvous.job/rank": (
        "a rank waited for 300000 ms for /torch.rendezvous.job/rank, which another rank should have written "
        "and did not"
    ),
    "RuntimeError: Timeout waiting for key: default_pg/0/1 after 1800000 ms": (
        "a rank waited for 1800000 ms for default_pg/0/1, which another rank should have written and did not"
    ),
    "RuntimeError: Wait timeout for name(s): default_pg/0": (
        "a rank waited for default_pg/0, which another rank should have written and did not"
    ),
    "torch.distributed.elastic.rendezvous.static_tcp_rendezvous\nRuntimeError: Socket Timeout": MESSAGE,
    (
        "horovod.runner.common.util.timeout.TimeoutException: Timed out waiting for tasks to start. Please check "
        "connectivity between servers. You may need to increase the --start-timeout parameter."
    ): MESSAGE,
    "INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)\nINFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)\nINFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)": (
        "1 of 8 processes came: the others are missing"
    ),
    "Timed out after 901 seconds waiting for clients": MESSAGE,
}
NOT_THIS = [
    "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: save_step_20. Timed out task names:",
    "RPC: /tensorflow.CoordinationService/RegisterTask\nstatus: OK",
    "torch.distributed.DistStoreError: wait timeout after 2000ms, keys: /my/config",
    "Completed store-based barrier for key:store_based_barrier_key:1 with 2 nodes.\nAdded key: store_based_barrier_key:1 to store for rank: 0",
    f"{BARRIER}: 0, for key: store_based_barrier_key:2 (world_size=8, worker_count=1, timeout=0:30:00)",
    f"{BARRIER}: 0, for key: store_based_barrier_key:1 (world_size=8, worker_count=16, timeout=0:30:00)",
    (
        "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
        "store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0"
    ),
    "RuntimeError: The client socket has timed out after 60s while trying to connect to (10.0.0.4, 29500).",
    "E1120 api.py:900] Error waiting on exit barrier. Elapsed: 300.1 seconds\nrendezvous\nRuntimeError: Socket Timeout",
]
