"""rank-desync: seen in logs."""

import pytest

from gpudoctor import explain

MESSAGE = "not every rank came to a common call"
WORK = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType={}, Timeout(ms)=600000) ran for 600017 ms"
GROUP = "PG ID 2 PG GUID 4(data) "
EXAMPLES = {
    f"[Rank 0] {WORK.format('ALLREDUCE')}\n[Rank 1] {WORK.format('BROADCAST')}": (
        "the ranks wait in different collectives, here in ALLREDUCE, number 9"
    ),
    f"[{GROUP}Rank 0] {WORK.format('BROADCAST')}\n[{GROUP}Rank 1] {WORK.format('ALLREDUCE')}": (
        "the ranks wait in different collectives, here in BROADCAST, number 9"
    ),
    "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: save_step_20. Timed out task names:": MESSAGE,
    "HorovodAllreduce_acc_0 [missing ranks: 1, 3]": MESSAGE + "; missing: rank 1, 3",
    "RuntimeError: [1] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Timeout waiting for key: default_pg/0/0 after 60000 ms": (
        MESSAGE + "; missing: rank 0"
    ),
    "Ranks 1, 2 failed to pass monitoredBarrier in 120000 ms": (
        MESSAGE + " for 120000 ms; missing: rank 1, 2"
    ),
    "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms": (
        MESSAGE + ": rank 0 waited for 2000 ms; missing: rank 1"
    ),
    "RuntimeError: Rank 0 timed out waiting for 1 rank(s): 3": MESSAGE + ": rank 0 waited; missing: rank 3",
    "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting to hear from rank 0.": (
        MESSAGE + ": rank 1 waited"
    ),
    (
        "[rank0]:[E1120 12:03:08.370908973 ProcessGroupGloo.cpp:2949] [Rank 0]: Rank 1 failed to pass monitoredBarrier in "
        "3000 ms"
    ): MESSAGE + ": rank 0 waited for 3000 ms; missing: rank 1",
    (
        "RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
        "rank 0. Please check rank 0 logs for faulty rank."
    ): MESSAGE + ": rank 2 waited; missing: rank 0",
    "RuntimeError: [Rank 0]: Rank 3 timed out in monitoredBarrier after 30000 ms. Successfully processed ranks: 1, 2": (
        MESSAGE + " for 30000 ms; missing: rank 3"
    ),
    (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for "
        "recv operation to complete"
    ): MESSAGE + " for 1800000 ms",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:133] Application timeout caused pair closure": MESSAGE,
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:446] Read timeout [10.0.0.2]:3333": MESSAGE,
    (
        "\t - To our best knowledge, ranks [1, 3] are the lagging ranks that caused this timeout. They never joined any "
        "collectives"
    ): MESSAGE + "; missing: rank 1, 3",
    "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:": MESSAGE,
    "\t   - [1] joined but didn't finish collective #7 (count from 1)": MESSAGE + "; missing: rank 1",
    (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: "
        "store_based_barrier_key:2 (world_size=8, worker_count=1, timeout=0:30:00)"
    ): MESSAGE + ": rank 0 waited",
    (
        "torch.distributed.DistStoreError: Timed out waiting on barrier on rank 0, for key prefix: "
        "torch.rendezvous.job.worker (world_size=4, missing_ranks=[2], timeout=300)"
    ): MESSAGE + ": rank 0 waited; missing: rank 2",
    "  Communicator ranks have different AllGather operation counts": MESSAGE,
    (
        "[W stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of "
        "ranks and are waiting for remainder of ranks for more than 60 seconds."
    ): MESSAGE,
    "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout": (
        MESSAGE + "; missing: rank 0"
    ),
    (
        "Exception: Unable to unpickle data from other workers. all_gather_list requires all workers to enter the function "
        "together, so this error usually indicates that the workers have fallen out of sync somehow."
    ): MESSAGE,
    (
        '  File "fairseq/distributed_utils.py", line 169, in all_gather_list\n'
        "    result.append(pickle.loads(bytes(out_buffer[2 : size + 2].tolist())))\n"
        "_pickle.UnpicklingError: could not find MARK"
    ): MESSAGE,
}
NOT_THIS = [
    "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 10 milliseconds",
    (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: "
        "store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)"
    ),
    "W1120 Running all_reduce on global rank 3 which does not belong to the given group.",
    "E1120 12:00:00 api.py:900] Error waiting on exit barrier. Elapsed: 300.1 seconds",
    "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='node9', port=443): Read timed out. (read timeout=10)",
]


@pytest.mark.parametrize(
    ("call", "waited", "first"),
    [
        ("dist.barrier()", 90000, "timeout=datetime.timedelta(hours=2)"),
        ("dist.barrier()", 1800000, "dist.all_reduce(loss)  # on every rank"),
        ("loss.backward()", 90000, "DistributedSampler(dataset, drop_last=True)"),
        ("dist.all_gather(parts, mine)", 90000, "dist.all_reduce(loss)  # on every rank"),
    ],
)
def test_the_first_fix_is_for_the_call_in_which_the_rank_waited(call, waited, first):
    text = (
        f'Traceback (most recent call last):\n  File "/home/ana/fit.py", line 40, in <module>\n    {call}\n'
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
        f"{waited}ms for recv operation to complete"
    )
    [finding] = explain(text).findings
    assert first in finding.fixes[0].command
