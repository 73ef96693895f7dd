"""rank-desync: seen in logs."""

EXAMPLES = [
    "Ranks 1, 2 failed to pass monitoredBarrier in 120000 ms",
    "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms",
    "RuntimeError: Rank 0 timed out waiting for 1 rank(s): 3",
    "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.",
    "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting to hear from rank 0.",
]
NOT_THIS = [
    "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 10 milliseconds"
]
SAYS = {EXAMPLES[2]: "rank 0 waited for rank 3, which did not come to the barrier"}
