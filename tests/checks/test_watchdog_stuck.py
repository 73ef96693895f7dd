"""watchdog-stuck: seen in logs."""

MESSAGE = (
    "NCCL's watchdog thread made no progress: a CUDA or NCCL call, or Python's lock, is stuck in this process"
)
EXAMPLES = {
    "ProcessGroupNCCL's watchdog got stuck": (
        "NCCL's watchdog thread made no progress: a CUDA or NCCL call, or Python's lock, is stuck in this process"
    ),
    (
        "[F ProcessGroupNCCL.cpp:1107] [PG 0 Rank 5] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making "
        "progress in monitoring enqueued collectives."
    ): (
        "NCCL's watchdog thread made no progress for 480 s: a CUDA or NCCL call, or Python's lock, is stuck in this process"
    ),
    (
        "[rank2]:[E704 13:48:58.260494728 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 2] ProcessGroupNCCL's "
        "watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically "
        "indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog"
    ): (
        "NCCL's watchdog thread made no progress for 480 s: a CUDA or NCCL call, or Python's lock, is stuck in this process"
    ),
    (
        "[E ProcessGroupNCCL.cpp:900] Heartbeat monitor timed out! Process will be terminated after dumping debug info. "
        "workMetaList_.size()=1"
    ): MESSAGE,
    "[PG 3 Rank 7] First PG on this rank that detected no heartbeat of its watchdog.": MESSAGE,
    (
        "[F ProcessGroupNCCL.cpp:1554] [PG ID 0 PG GUID 0 Rank 6] Terminating the process after attempting to dump debug "
        "info, due to ProcessGroupNCCL watchdog hang."
    ): MESSAGE,
    (
        "[Rank 1] NCCL monitor thread timeout. Basically, this could be due to CUDA or NCCL calls being unexpectedly blocking"
    ): MESSAGE,
}
NOT_THIS = [
    (
        "[PG 0 Rank 1] ProcessGroupNCCL's watchdog detected a collective timeout from the local rank. This is most likely "
        "caused by incorrect usages of collectives"
    ),
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=480",
]
