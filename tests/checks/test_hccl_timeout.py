"""hccl-timeout: seen in logs."""

MESSAGE = "HCCL timed out waiting for another rank"
EXAMPLES = {
    (
        "EI0002: [PID: 4711] 2026-03-04-05:06:07.586.187 The wait execution of the Notify register times out. Reason: The Notify "
        "register has not received the Notify record from remote rank [4]. base information: [streamID:[14]"
    ): f"{MESSAGE}: rank 4 did not answer",
    "EI0002: The wait execution of the Notify register times out. Reason: none came from remote rank: [unknown].": MESSAGE,
    "[rank1]: EI0006: [PID: 4711] 2026-03-04-05:06:07.444.436 Getting socket times out. Reason: Remote Rank did not send": MESSAGE,
    "Communication_Error_Get_Socket(EI0006): Getting socket failed": MESSAGE,
    "EI9999: The error from device(chipId:3, dieId:0), hccl fftsplus task timeout occurred during task execution": MESSAGE,
    "[ERROR] HCCL(4711,python):2026-03-04-05:06:07.447 [Wait][LinkEstablish]wait socket establish timeout, role[0] rank[0] timeout[120 s]": (
        f"{MESSAGE}: rank 0 had no connection"
    ),
}
NOT_THIS = [
    "export HCCL_EXEC_TIMEOUT=3600",
    "EJ0001: Failed to initialize the HCCP process. Reason: Maybe the last training process is running.",
]
