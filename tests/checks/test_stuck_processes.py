"""stuck-processes: processes in state D, and dead ones."""

import pytest

from gpudoctor.facts import Host, KernelEvent, KernelLog, Process, Processes, ProcessRows
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "The rank became a zombie process and GPU memory is not given back.": (
        "a process has ended and is still there: what it held, GPU memory and ports too, may stay taken"
    ),
}
NOT_THIS = [
    "There is no zombie process, and GPU memory is free.",
    "nvtop shows a zombie process that nvidia-smi leaves out",
]
CHECK = Registry().check("stuck-processes")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_rows_of_a_text():
    stuck, dead = Process(pid=7, name="python", state="D"), Process(pid=9, name="train.py", state="Z")
    _, [waits, ended] = run(process_rows=ProcessRows(stuck=[stuck], zombies=[dead]))
    assert (waits.severity, ended.severity) == (Severity.NOTE, Severity.WARNING)
    assert waits.message.startswith("python (pid 7) waits inside the kernel (state D): if it stays so")
    assert ended.message.startswith("train.py (pid 9) has ended and is not collected")


def test_stuck_in_the_kernel():
    stuck = [Process(pid=7, name="python", state="D", waits_in="rpc_wait_bit_killable")]
    _, [finding] = run(processes=Processes(stuck=stuck))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        "python (pid 7) waits inside the kernel (state D, in rpc_wait_bit_killable) and cannot be killed"
    )


def test_dead_ranks_that_the_first_process_does_not_collect():
    dead = [Process(pid=n, name="python", state="Z", parent=1, parent_name="sh") for n in (4, 5, 6, 8)]
    _, [finding] = run(processes=Processes(zombies=dead), host=Host(container="docker"))
    assert finding.severity is Severity.WARNING
    assert "and 1 more have ended and are not collected by sh (pid 1)" in finding.message
    assert finding.fixes[0].command == "docker run --init IMAGE"


def test_what_a_busy_parent_has_not_collected_yet_is_a_note():
    for parent in ("bash", "python"):
        dead = [Process(pid=4, name="python", state="Z", parent=3, parent_name=parent, threads=1)]
        _, [finding] = run(processes=Processes(zombies=dead))
        assert finding.severity is Severity.NOTE
    assert finding.fixes[-1].command == "ps -o pid,user,lstart,args -p 3"


def test_what_a_launcher_does_not_collect():
    dead = [Process(pid=4, name="python", state="Z", parent=3, parent_name="torchrun", threads=1)]
    _, [finding] = run(processes=Processes(zombies=dead))
    assert finding.severity is Severity.WARNING


def log(kind, process, seconds=None):
    event = KernelEvent(kind=kind, text=f"task {process}:4711 blocked", process=process, seconds=seconds)
    return KernelLog(source="/dev/kmsg", events=[event])


@pytest.mark.parametrize("kind", ["hung-task", "soft-lockup"])
def test_what_the_kernel_saw(kind):
    facts = {"kernel_log": log(kind, "pt_main_thread", 900.0), "host": Host(uptime_seconds=9000.0)}
    _, [finding] = run(processes=Processes(), **facts)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("pt_main_thread")
    assert "2 h ago" in finding.message
    assert finding.evidence[0].where == "/dev/kmsg"


def test_what_the_kernel_saw_long_ago_and_of_others():
    old = {"kernel_log": log("hung-task", "python3", 10.0), "host": Host(uptime_seconds=900_000.0)}
    _, [finding] = run(processes=Processes(), **old)
    assert finding.severity is Severity.NOTE
    assert (
        run(processes=Processes(), kernel_log=log("hung-task", "khugepaged"))[0].status is CheckStatus.PASSED
    )


def test_passes():
    assert run(processes=Processes())[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
