"""nccl-timeout: seen in logs."""

EXAMPLES = [
    "[rank2]:[E ProcessGroupNCCL.cpp:523] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15074, "
    "OpType=_ALLGATHER_BASE, NumelIn=8388608, NumelOut=67108864, Timeout(ms)=1800000) ran for 1800218 milliseconds "
    "before timing out.",
    "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, "
    "Timeout(ms)=1800000) ran for 1806986 milliseconds before timing out.",
    "RuntimeError: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=BROADCAST, TensorSh",
    "Watchdog caught collective operation timeout",
    "[E ProcessGroupNCCL.cpp:537] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA",
    "[PG ID 0 PG GUID 0 Rank 5] Received a dump signal due to a collective timeout from rank 3 and we will try our best",
    "[PG 1 Rank 0] Process group watchdog thread terminated with exception: NCCL operation timed out",
]
NOT_THIS = [
    "[E ProcessGroupNCCL.cpp:1896] Process group watchdog thread terminated with exception: CUDA error: an illegal memory",
    "torch.distributed.init_process_group(backend='nccl', timeout=datetime.timedelta(seconds=1800))",
    "RuntimeError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.",
]
SAYS = {
    EXAMPLES[0]: "_ALLGATHER_BASE number 15074 did not finish within 1800218 ms: not every rank came to it",
    EXAMPLES[4]: "did not finish: not every rank came to it",
}
