"""npu-held: seen in logs."""

from gpudoctor import explain

MESSAGE = "HCCL could not start its helper on an NPU: mostly processes of an earlier training still hold it"
HELD = "EJ0001: [PID: 4711] 2026-03-04-05:06:07.975.866 Failed to initialize the HCCP process. Reason: Maybe the last training process is running."
EXAMPLES = {
    HELD: MESSAGE,
    f"(TaskRunner pid=47) {HELD}": MESSAGE,
    f"RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64\n{HELD}": MESSAGE,
}
NOT_THIS = [
    "EI0006: [PID: 4711] Getting socket times out. Reason: Remote Rank did not send the data in time.",
    "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64",
    "Solution: Wait for 10s after killing the last training process and try again.",
]


def test_the_exception_in_whose_message_it_stands_is_not_another_failure():
    log = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 12, in <module>\n'
        "    dist.barrier()\n"
        "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64\n"
        f"[ERROR] 2026-03-04-05:06:07 (PID:4711, Device:3, RankID:3) ERR02200 DIST call hccl api failed.\n{HELD}\n"
    )
    assert [finding.id for finding in explain(log).findings] == ["npu-held"]
