"""nccl-timeout: seen in logs."""

MESSAGE = "a collective did not finish; mostly not every rank came to it"
EXAMPLES = {
    "torch.distributed.DistBackendError: NCCL timeout in communicator initialization.": (
        "a collective did not finish; mostly not every rank came to it"
    ),
    "[rank3]:[E612 04:05:06.7 ProcessGroupNCCL.cpp:1187] [PG 0 Rank 3] ProcessGroupNCCL's watchdog detected a dump signal from rank 5 and notified the current rank.": (
        "a collective did not finish; mostly not every rank came to it"
    ),
    "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long> >) + 0x1 (0x7f)": (
        "a collective did not finish; mostly not every rank came to it"
    ),
    "Whenever I evaluate on rank 0 alone the watchdog always times out": MESSAGE,
    "(Actor pid=28) Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:618 (most recent call first):": (
        MESSAGE
    ),
    "RuntimeError: NCCL communicator was aborted on rank 2.  Original reason for failure was: [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=10, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1805457 milliseconds before timing out.": (
        "a collective did not finish: BROADCAST, number 10, after 1805457 ms; mostly not every rank came to it"
    ),
    (
        "[rank2]:[E ProcessGroupNCCL.cpp:523] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15074, "
        "OpType=_ALLGATHER_BASE, NumelIn=8388608, NumelOut=67108864, Timeout(ms)=1800000) ran for 1800218 milliseconds "
        "before timing out."
    ): (
        "a collective did not finish: _ALLGATHER_BASE, number 15074, after 1800218 ms; mostly not every rank "
        "came to it"
    ),
    (
        "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, "
        "Timeout(ms)=1800000) ran for 1806986 milliseconds before timing out."
    ): "a collective did not finish: ALLREDUCE, after 1806986 ms; mostly not every rank came to it",
    "RuntimeError: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=BROADCAST, TensorSh": MESSAGE,
    "Watchdog caught collective operation timeout": MESSAGE,
    "step 24 [rank5]:[E602 11:17:52.185 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught collective op": MESSAGE,
    "[E ProcessGroupNCCL.cpp:537] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA": MESSAGE,
    "[PG ID 0 PG GUID 0 Rank 5] Received a dump signal due to a collective timeout from rank 3 and we will try our best": MESSAGE,
    "[PG 1 Rank 0] Process group watchdog thread terminated with exception: NCCL operation timed out": MESSAGE,
    "Watchdog caught collective operation timeout: NCCL operation timed out": MESSAGE,
    (
        "RuntimeError: [Rank 0] Caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, "
        "TensorShape=[1], Timeout(ms)=60000) ran for 60012 milliseconds before timing out."
    ): "a collective did not finish: ALLREDUCE, number 3, after 60012 ms; mostly not every rank came to it",
    (
        "[E ProcessGroupNCCL.cpp:400] [Rank 1] Work WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
        "Timeout(ms)=5000) timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1)."
    ): "a collective did not finish: ALLREDUCE, number 4; mostly not every rank came to it",
    "[PG 0 Rank 1] Received a dump signal due to a collective timeout from this local rank and we will try our best": MESSAGE,
    (
        "[PG 0 Rank 1] ProcessGroupNCCL's watchdog detected a collective timeout from the local rank. This is most likely "
        "caused by incorrect usages of collectives, e.g., wrong sizes used across ranks"
    ): MESSAGE,
    "[PG 0 Rank 1] Observed flight recorder dump signal from another rank via TCPStore.": MESSAGE,
    "[PG 1 Rank 0] Timeout at NCCL work: 5, last enqueued NCCL work: 5, last completed NCCL work: 4.": (
        "a collective did not finish, number 5; mostly not every rank came to it"
    ),
    (
        "[E ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: NCCL operation timed out\n"
        "[E ProcessGroupNCCL.cpp:620] [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: "
        "1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579."
    ): MESSAGE,
    (
        "[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: NCCL operation timed out\n"
        "[E ProcessGroupNCCL.cpp:620] [PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence "
        "id: 808 PG status: last enqueued work: 811, last completed work: 807"
    ): MESSAGE,
    "RuntimeError: NCCL AllReduce failed\nOperation timed out after 600000 ms": (
        "a collective did not finish, after 600000 ms; mostly not every rank came to it"
    ),
    "Aborting process on rank 3 due to timeout": MESSAGE,
    "torch.distributed.DistBackendError: NCCL timeout when waiting for nonblocking call to become successful.": MESSAGE,
    (
        '  File "/opt/env/lib/python3.7/site-packages/torch/distributed/distributed_c10d.py", line 902, in all_reduce\n'
        "RuntimeError: Operation timed out!"
    ): MESSAGE,
    "[E ProcessGroupNCCL.cpp:700] To avoid data inconsistency, we are taking the entire process down.": "a collective did not finish; mostly not every rank came to it",
    "[PG ID 0 Rank 1] Exception (either an error or timeout) detected by watchdog at work: 77, last enqueued NCCL work: 79, last completed NCCL work: 76.": "a collective did not finish, number 77; mostly not every rank came to it",
}
NOT_THIS = [
    "[E ProcessGroupNCCL.cpp:1896] Process group watchdog thread terminated with exception: CUDA error: an illegal memory",
    "torch.distributed.init_process_group(backend='nccl', timeout=datetime.timedelta(seconds=1800))",
    "RuntimeError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.",
    "curl: (28) Operation timed out after 300000 milliseconds with 0 bytes received",
    "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete",
    (
        "[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence id: 808 PG status: last "
        "enqueued work: 811, last completed work: 807"
    ),
]
REST = "; mostly not every rank came to it"
