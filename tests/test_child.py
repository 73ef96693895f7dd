"""Child processes that hang, flood, crash, fork and hold on: each ends in time, and nothing of it is left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gpudoctor.child import STDERR_KEPT, STDOUT_MOST, Child, run

Find = Callable[[str], list[psutil.Process]]
WaitFor = Callable[[Callable[[], bool], float], float]

SLACK = 1.0
"""Seconds past its deadline within which a child must be gone."""


class Heard:
    """A child made of Python code, and the lines it printed."""

    def __init__(self, code: str, *arguments: str, deadline: float = 10, merge_errors: bool = False) -> None:
        self.lines: list[bytes] = []
        command = [sys.executable, "-c", code, *arguments]
        self.child = Child("test", command, deadline, self.lines.append, merge_errors=merge_errors)

    def run(self) -> float:
        """Run it alone; return the seconds that took."""
        begun = time.monotonic()
        run([self.child])
        return time.monotonic() - begun


@pytest.fixture
def marker() -> str:
    """A word that no other process has among its arguments."""
    return f"marker-{uuid.uuid4()}"


def test_lines_come_as_they_were_printed_and_the_last_needs_no_end() -> None:
    heard = Heard("import sys; print('one\\n\\ntwo'); sys.stdout.write('three')")
    heard.run()
    assert heard.lines == [b"one", b"", b"two", b"three"]
    assert (heard.child.end, heard.child.returncode) == (None, 0)


def test_a_line_that_comes_in_pieces_is_one_line() -> None:
    code = "import os, time\nfor piece in (b'a', b'b', b'c\\nd', b'e'): os.write(1, piece); time.sleep(0.05)"
    heard = Heard(code)
    heard.run()
    assert heard.lines == [b"abc", b"de"]


def test_a_line_longer_than_any_pipe_is_one_line() -> None:
    heard = Heard("print('x' * 3_000_000); print('end')")
    heard.run()
    assert [len(line) for line in heard.lines] == [3_000_000, 3]


def test_standard_error_is_kept_apart_or_put_in_order() -> None:
    code = "import os\nos.write(1, b'one\\n'); os.write(2, b'two\\n'); os.write(1, b'three\\n')"
    apart = Heard(code)
    apart.run()
    assert (apart.lines, apart.child.stderr) == ([b"one", b"three"], b"two\n")
    merged = Heard(code, merge_errors=True)
    merged.run()
    assert (merged.lines, merged.child.stderr) == ([b"one", b"two", b"three"], b"")


@pytest.mark.parametrize(
    ("code", "words", "returncode"),
    [
        ("raise SystemExit(3)", "exit status 3", 3),
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV", -signal.SIGSEGV),
        ("import os; os.abort()", "killed by SIGABRT", -signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL", -signal.SIGKILL),
        ("import os; os.kill(os.getpid(), 40)", "killed by signal 40", -40),
    ],
)
def test_how_it_ended_is_said_in_words(code: str, words: str, returncode: int) -> None:
    heard = Heard("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + code)
    heard.run()
    assert (heard.child.end, heard.child.returncode) == (words, returncode)


def test_a_command_that_does_not_exist_is_refused_not_raised(tmp_path: Path) -> None:
    child = Child("gone", [str(tmp_path / "gone")], 5, print)
    run([child])
    assert child.end == "cannot be run: No such file or directory"
    assert child.returncode is None


def test_a_file_that_cannot_be_executed_is_refused_not_raised(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    (tmp_path / "garbage").write_bytes(b"\x00\x01\x02")
    (tmp_path / "garbage").chmod(0o755)
    for name in ("text", "garbage", "."):
        child = Child(name, [str(tmp_path / name)], 5, print)
        run([child])
        assert (child.end or "").startswith("cannot be run: "), name


def test_a_child_that_hangs_is_ended_at_its_deadline() -> None:
    heard = Heard("print('begun', flush=True); import time; time.sleep(60)", deadline=1)
    assert 1 <= heard.run() < 1 + SLACK
    assert heard.child.timed_out
    assert heard.child.end == "no answer in 1 s"
    assert heard.lines == [b"begun"]


def test_a_child_that_ignores_sigterm_is_ended_too() -> None:
    heard = Heard(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", deadline=1
    )
    assert heard.run() < 1 + SLACK
    assert heard.child.timed_out
    assert heard.child.returncode == -signal.SIGKILL


def test_a_stopped_child_is_ended_too() -> None:
    heard = Heard("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", deadline=0.5)
    assert heard.run() < 0.5 + SLACK
    assert heard.child.timed_out


def test_a_child_that_catches_sigterm_may_say_its_last_words() -> None:
    """faulthandler, for one, prints the stack on SIGTERM."""
    code = (
        "import os, signal, time\n"
        "def last(*_): os.write(2, b'was doing that\\n'); os._exit(1)\n"
        "signal.signal(signal.SIGTERM, last); print(flush=True); time.sleep(60)"
    )
    heard = Heard(code, deadline=0.5)
    heard.run()
    assert heard.child.timed_out
    assert heard.child.end == "no answer in 0.5 s"


@pytest.fixture
def tracer() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Attach to a process as a debugger would: until the debugger looks, the kernel cannot let it go."""
    code = (
        "import ctypes, sys, time; libc = ctypes.CDLL(None); libc.ptrace.argtypes = [ctypes.c_long] * 4\n"
        "print(libc.ptrace(0x4206, int(sys.argv[1]), 0, 0), flush=True); time.sleep(60)"  # PTRACE_SEIZE
    )
    started = []
    held = []

    def attach(target: "subprocess.Popen[bytes]") -> None:
        command = [sys.executable, "-c", code, str(target.pid)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        held.append(target)
        assert process.stdout is not None
        if process.stdout.readline().strip() != "0":
            pytest.skip("needs ptrace(2)")

    yield attach
    for process in started:
        process.kill()
        process.communicate()
    for target in held:
        target.wait(10)


@pytest.mark.skipif(sys.platform != "linux", reason="needs ptrace(2)")
def test_a_child_that_cannot_be_killed_is_left_behind_and_said_so(
    tracer: Callable[["subprocess.Popen[bytes]"], None],
) -> None:
    """A process inside a driver call that never returns stays, whatever signal it gets: waiting for it would hang."""
    heard = Heard("import time; time.sleep(60)", deadline=2)
    attached = False
    begun = time.monotonic()

    def attach(running: list[Child]) -> None:
        nonlocal attached, begun
        if not attached and running[0].process is not None:
            attached = True
            at = time.monotonic()
            tracer(running[0].process)
            begun += time.monotonic() - at  # what is done in a tick is none of the child's time

    run([heard.child], attach)
    assert time.monotonic() - begun < 2 + SLACK
    assert heard.child.end == "no answer in 2 s, and it cannot be killed"


def test_results_are_waited_for_together() -> None:
    slow = [Heard("import time; time.sleep(1); print('done')") for _ in range(2)]
    begun = time.monotonic()
    run(one.child for one in slow)
    assert time.monotonic() - begun < 1.7
    assert [one.lines for one in slow] == [[b"done"], [b"done"]]


def test_each_child_has_its_own_deadline_and_one_that_hangs_delays_no_other() -> None:
    hanging, quick = Heard("import time; time.sleep(60)", deadline=2), Heard("print('done')")
    begun = time.monotonic()
    run([hanging.child, quick.child])
    assert time.monotonic() - begun < 2 + SLACK
    assert hanging.child.timed_out
    assert quick.lines == [b"done"]
    assert quick.child.seconds < 1.5


def test_no_children_are_no_work() -> None:
    run([])


FLOODS = {
    "lines": "while True: os.write(1, b'x\\n' * 30000)",
    "no-line-ends": "while True: os.write(1, b'x' * 65536)",
    "single-bytes": "while True: os.write(1, b'x')",
}


@pytest.mark.parametrize("code", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_of_output_ends_in_time_and_in_bounded_memory(code: str) -> None:
    child = Child("flood", [sys.executable, "-c", "import os\n" + code], 3, lambda line: None)
    tracemalloc.start()
    begun = time.monotonic()
    try:
        run([child])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.monotonic() - begun < 3 + SLACK
    assert child.flooded or child.timed_out
    assert peak < 3 * STDOUT_MOST
    assert child.end == ("no answer in 3 s" if child.timed_out else "more than 32.0 MiB of output")


@pytest.mark.parametrize("merge_errors", [False, True], ids=["apart", "merged"])
def test_a_flood_of_errors_ends_in_time_and_its_last_words_are_kept(merge_errors: bool) -> None:
    code = "import os\nwhile True: os.write(2, b'complaint\\n' * 6000)"
    heard = Heard(code, deadline=1.5, merge_errors=merge_errors)
    heard.child.on_line = lambda line: None
    assert heard.run() < 1.5 + SLACK
    assert heard.child.timed_out or heard.child.flooded
    assert len(heard.child.stderr) <= STDERR_KEPT
    if not merge_errors:
        assert b"complaint" in heard.child.stderr[-20:]


def test_a_flood_delays_no_other_child() -> None:
    flood = Heard("import os\nwhile True: os.write(2, b'x' * 65536)", deadline=2)
    quick = Heard("print('done')", deadline=2)
    run([flood.child, quick.child])
    assert quick.lines == [b"done"]
    assert quick.child.end is None


def test_a_child_that_closes_its_pipes_and_goes_on_is_held_to_its_deadline() -> None:
    heard = Heard("import os, time; os.close(1); os.close(2); time.sleep(60)", deadline=1)
    used = time.process_time()
    assert heard.run() < 1 + SLACK
    assert heard.child.timed_out
    assert time.process_time() - used < 0.5, "waiting must not burn the processor"


def test_a_child_that_closes_its_pipes_and_ends_is_noticed_at_once() -> None:
    heard = Heard(
        "import os, time; print('one', flush=True); os.close(1); os.close(2); time.sleep(0.3); os._exit(4)"
    )
    assert heard.run() < 2
    assert (heard.lines, heard.child.end) == ([b"one"], "exit status 4")


FORK = """
import os, sys, time
print("parent", flush=True)
if os.fork() == 0:
    {before}
    print("grandchild", flush=True)
    open(sys.argv[2], "w").close()
    time.sleep(60)
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
{after}
"""


def test_a_grandchild_that_keeps_the_pipe_open_is_not_waited_for(
    marker: str, processes_of: Find, wait_for: WaitFor, tmp_path: Path
) -> None:
    heard = Heard(FORK.format(before="", after="os._exit(0)"), marker, str(tmp_path / "there"))
    assert heard.run() < 2
    assert (heard.lines, heard.child.end) == ([b"parent", b"grandchild"], None)
    wait_for(lambda: processes_of(marker) == [], 1)  # the kernel takes a moment after SIGKILL


@pytest.mark.parametrize("before", ["", "os.setsid()"], ids=["same-group", "own-session"])
def test_the_descendants_of_a_child_that_hangs_go_with_it(
    marker: str, processes_of: Find, wait_for: WaitFor, tmp_path: Path, before: str
) -> None:
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = FORK.format(before=f"{before}; {ignore}".lstrip("; "), after=f"{ignore}; time.sleep(60)")
    heard = Heard(code, marker, str(tmp_path / "there"), deadline=1)
    assert heard.run() < 1 + SLACK
    assert (tmp_path / "there").exists()
    wait_for(lambda: processes_of(marker) == [], 1)  # the kernel takes a moment after SIGKILL


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for n in range(3): os.dup2(null, n)
        open(sys.argv[2], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
{after}
"""
HARNESS = """
import sys
from gpudoctor.child import Child, adopt_orphans, run
adopt_orphans()
child = Child("daemon", [sys.executable, "-c", *sys.argv[1:]], 1, print)
run([child])
print(child.end)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel hands over orphans on Linux alone")
@pytest.mark.parametrize(
    ("after", "end"), [("", "None"), ("time.sleep(60)", "no answer in 1 s")], ids=["ends", "hangs"]
)
def test_a_daemon_that_forks_twice_into_a_session_of_its_own_is_found(
    marker: str, processes_of: Find, wait_for: WaitFor, tmp_path: Path, after: str, end: str
) -> None:
    there = tmp_path / "there"
    command = [sys.executable, "-c", HARNESS, DAEMON.format(after=after), marker, str(there)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert answer.stdout.strip() == end, answer.stderr
    assert there.exists(), "the daemon never ran: the test would say nothing"
    wait_for(lambda: processes_of(marker) == [], 1)  # the kernel takes a moment after SIGKILL


INTERRUPTED = """
import sys
from gpudoctor.child import Child, adopt_orphans, run
adopt_orphans()
code = '''
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
print("there", flush=True)
time.sleep(60)
'''
command = [sys.executable, "-c", code, sys.argv[1]]
run(Child("hanging", command, 60, lambda line: print(line, flush=True)) for _ in range(2))
"""


@pytest.mark.parametrize("interrupts", [1, 2])
def test_an_interrupt_leaves_no_process_within_a_second(
    marker: str, processes_of: Find, interrupts: int
) -> None:
    """The second one is that of a user who cannot wait."""
    command = [sys.executable, "-c", INTERRUPTED, marker]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as harness:
        assert harness.stdout is not None
        for _ in range(4):
            assert harness.stdout.readline()
        assert len(processes_of(marker)) == 5
        for _ in range(interrupts):
            harness.send_signal(signal.SIGINT)
            time.sleep(0.1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            harness.wait(1.0)
        gone = harness.poll() is not None
        left = processes_of(marker)
        harness.kill()
        _, errors = harness.communicate()
    assert gone
    assert left == []
    assert b"KeyboardInterrupt" in errors


def test_a_child_gets_no_input_and_the_environment_and_folder_it_is_given(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.stdin.read() == '', os.environ['MARK'], os.getcwd())"
    heard = Heard(code)
    heard.child.environment = {**os.environ, "MARK": "given"}
    heard.child.folder = str(tmp_path)
    heard.run()
    assert heard.lines == [f"True given {tmp_path.resolve()}".encode()]


def test_those_that_still_run_are_named_now_and_then() -> None:
    quick, slow = Heard("pass"), Heard("import time; time.sleep(1)")
    told: list[list[Child]] = []
    run([quick.child, slow.child], lambda running: told.append(list(running)), tick=0.05)
    assert slow.child in told[-1]
    assert quick.child not in told[-1]


def test_what_is_done_in_a_tick_makes_no_child_late() -> None:
    heard = Heard("import time; time.sleep(2.5); print('done')", deadline=2)
    waits = [2.0]
    run([heard.child], lambda running: time.sleep(waits.pop() if waits else 0.0))
    assert heard.lines == [b"done"]
    assert not heard.child.timed_out
