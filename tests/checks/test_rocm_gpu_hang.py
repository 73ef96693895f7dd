"""rocm-gpu-hang: seen in logs."""

from gpudoctor import explain

HANG = "HW Exception by GPU node-9 (Agent handle: 0x631351bb5a20) reason :GPU Hang"
EXAMPLES = {HANG: "the GPU of ROCm's node 9 hung and was reset, and every process on it ended"}
NOT_THIS = [
    "Memory access fault by GPU node-4 (Agent handle: 0x5638) on address (nil). Reason: Unknown.",
    "HW Exception by GPU node-9 (Agent handle: 0x631351bb5a20) reason :ECC",
]


def test_that_its_processes_were_aborted_follows():
    found = explain(
        f" 41%|####      | 366/903 [5:15:39<6:53:09, 46.16s/it]{HANG}\n{HANG}\nAborted (core dumped)\n"
    ).findings
    assert [finding.id for finding in found] == ["rocm-gpu-hang", "child-segfault"]
