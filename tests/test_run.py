"""``gpudoctor run``: the command notices nothing, and a failure is explained."""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from gpudoctor.output_tail import Tail
from gpudoctor.passthrough import run_command
from gpudoctor.process_family import Family
from gpudoctor.process_memory import oom_kills

RUN = [sys.executable, "-m", "gpudoctor", "run"]
OOM = "RuntimeError: CUDA out of memory."


def run(*command, options=(), **more):
    return subprocess.run(
        [*RUN, *options, "--", *command], capture_output=True, text=True, timeout=60, **more
    )


def test_a_command_that_succeeds_is_alone_with_its_output():
    done = run("sh", "-c", "echo out; echo err >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


@pytest.mark.parametrize("code", [1, 3, 77, 255])
def test_the_exit_code_is_the_commands(code):
    done = run("sh", "-c", f"echo '{OOM}' >&2; echo out; exit {code}")
    assert done.returncode == code
    assert done.stdout == "out\n"
    assert done.stderr.startswith(OOM + "\n")
    assert "Most likely cause: cuda-oom" in done.stderr


def test_a_command_that_a_signal_ends_gives_what_a_shell_gives():
    assert run("sh", "-c", "kill -SEGV $$").returncode == 128 + signal.SIGSEGV


@pytest.mark.skipif(oom_kills() is None, reason="needs /proc/vmstat with oom_kill")
def test_a_kill_by_somebody_is_not_taken_for_one_of_the_kernels():
    done = run(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert done.returncode == 137
    assert "was killed (SIGKILL)" in done.stderr
    assert "host-oom-killed" not in done.stderr


def test_the_most_memory_that_a_child_held_is_known():
    program = "x = bytearray(200 << 20)"
    ended = run_command([sys.executable, "-c", program])
    assert ended.largest_bytes >= 200 << 20
    assert not ended.killed


def test_bytes_pass_through_as_they_are():
    program = (
        "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000); sys.stdout.buffer.write(b'no end')"
    )
    done = subprocess.run([*RUN, "--", sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.stdout == bytes(range(256)) * 1000 + b"no end"


def test_standard_input_is_the_commands():
    assert run("cat", input="hello\n").stdout == "hello\n"


def test_options_of_the_command_are_not_ours():
    done = run(sys.executable, "-c", "import sys; print(sys.argv[1:])", "--help", "-o", "x", "--json")
    assert done.stdout == "['--help', '-o', 'x', '--json']\n"
    without = subprocess.run([*RUN, "echo", "-n", "--help"], capture_output=True, text=True, timeout=60)
    assert without.stdout == "--help"


def test_a_command_that_does_not_exist_is_one_line():
    done = run("no-such-command-here")
    assert done.returncode == 127
    assert done.stderr == "gpudoctor: no-such-command-here: No such file or directory\n"
    assert run("/").returncode == 126


def test_a_report_is_written(tmp_path):
    done = run("sh", "-c", f"echo '{OOM}'; exit 1", options=["-o", str(tmp_path / "r.json")])
    assert done.returncode == 1
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["command"], report["findings"][0]["id"]) == ("run", "cuda-oom")


def test_a_command_on_a_terminal_sees_a_terminal():
    leader, follower = pty.openpty()
    program = (
        "import os, sys; print(os.isatty(1), os.get_terminal_size(1).columns); print('x', file=sys.stderr)"
    )
    command = [*RUN, "--", sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    said = b""
    while True:
        try:
            said += os.read(leader, 1000)
        except OSError:
            break
    assert process.wait(30) == 0
    assert said.decode().split() == ["True", str(os_columns(leader)), "x"]


def os_columns(descriptor):
    return os.get_terminal_size(descriptor).columns


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(number, tmp_path):
    program = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('got it', flush=True), sys.exit(42)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(30)\n"
    )
    command = [*RUN, "--", sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "got it\n"
        said = process.stderr.read()
    # What asks a command to end interrupts it; other signals are between those two.
    asked = number != signal.SIGUSR1
    assert ("python was interrupted, and ended with exit code 42" in said) == asked
    assert ("unrecognised-error" in said) == (not asked)
    assert process.returncode == 42


def test_what_the_command_leaves_in_the_background_is_not_waited_for():
    begun = time.monotonic()
    done = run("sh", "-c", "sleep 30 & echo done")
    assert done.stdout == "done\n"
    assert time.monotonic() - begun < 15


def in_shell(line, **more):
    """Run a line of bash in which $RUN is ``gpudoctor run --``; the exit status is that of its first command."""
    environment = {**os.environ, "RUN": f"{sys.executable} -m gpudoctor run --"}
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", line + '; exit "${PIPESTATUS[0]}"'],
        capture_output=True,
        text=True,
        timeout=20,
        env=environment,
        **more,
    )
    return done, time.monotonic() - begun


@pytest.mark.parametrize(
    "command", ["yes", "sh -c 'while :; do echo y; sleep .1; done'", "sh -c 'yes >&2' 2>&1"]
)
def test_a_command_whose_reader_goes_away_ends_as_it_would_alone(command):
    done, seconds = in_shell(f"$RUN {command} | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGPIPE, "y\n", "")
    assert seconds < 10


def test_the_first_line_after_the_reader_has_gone_is_one_too_many(tmp_path):
    line = f"sh -c 'echo x; sleep 1; echo y; touch {tmp_path}/lived; exit 3' | head -1"
    for run in ("", "$RUN "):
        done, _ = in_shell(run + line)
        assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGPIPE, "x\n", ""), run
        assert not (tmp_path / "lived").exists(), run


def test_a_reader_that_was_gone_before_the_command_began_is_gone(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*RUN, "sh", "-c", f"echo x; touch {tmp_path}/lived"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=20,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
    assert not (tmp_path / "lived").exists()


def test_a_command_that_writes_no_more_is_waited_for_when_its_reader_is_gone():
    done, seconds = in_shell("$RUN sh -c 'echo x; sleep 3; exit 3' | head -1")
    assert (done.returncode, done.stdout) == (3, "x\n")
    assert seconds >= 3


def test_a_command_that_ignores_sigpipe_gets_the_error_and_lives_on():
    program = (
        "import os, sys, time\n"
        "os.write(1, b'x\\n')\n"
        "time.sleep(1)\n"
        "try:\n"
        "    os.write(1, b'y\\n')\n"
        "except BrokenPipeError:\n"
        "    time.sleep(1)\n"
        "    sys.exit(42)\n"
    )
    done, _ = in_shell(f'$RUN {sys.executable} -c "{program}" | head -1')
    assert (done.returncode, done.stdout) == (42, "x\n")
    assert "exit code 42" in done.stderr  # a failure of its own is explained to those who still read


def test_a_reader_of_errors_that_goes_away_leaves_the_output_alone():
    command = "$RUN sh -c 'echo e >&2; sleep 1; seq 3; sleep 1; exit 3'"
    done, _ = in_shell(f"set -o pipefail; {{ {command} 2>&1 >&3 | head -1 >/dev/null; }} 3>&1")
    assert (done.returncode, done.stdout, done.stderr) == (3, "1\n2\n3\n", "")


def test_a_reader_of_output_that_goes_away_leaves_the_errors_alone():
    program = "import sys, time; print('x', flush=True); time.sleep(1); print('e', file=sys.stderr)"
    done, _ = in_shell(f'$RUN {sys.executable} -c "{program}" | head -1')
    assert (done.returncode, done.stdout, done.stderr) == (0, "x\n", "e\n")


def test_no_explanation_goes_into_a_broken_pipe(tmp_path):
    ticket = tmp_path / "r.json"
    line = f"sh -c \"sleep 1; echo '{OOM}'; exit 3\" >{tmp_path}/out"
    run = f"{sys.executable} -m gpudoctor run -o {ticket} --"
    done, _ = in_shell(f"{run} {line} 2> >(true)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert json.loads(ticket.read_text())["findings"][0]["id"] == "cuda-oom"
    assert (tmp_path / "out").read_text() == OOM + "\n"


def test_a_full_disk_is_reported_and_ends_the_command():
    done, _ = in_shell("$RUN sh -c 'while :; do echo x; sleep .1; done' > /dev/full")
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr.startswith(
        "gpudoctor: sh: its output could not be passed on: No space left on device\n"
    )


@pytest.mark.parametrize("redirection, output", [("2>&-", "x\n"), ("2>&1", "x\n")])
def test_errors_that_are_closed_are_closed_for_the_command(redirection, output):
    done, _ = in_shell(f"$RUN sh -c 'echo x; exit 5' {redirection}")
    assert done.returncode == 5
    assert done.stdout.startswith(output)
    assert "Traceback" not in done.stdout + done.stderr


def test_a_fifo_waits_for_its_next_reader(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    second = tmp_path / "second-reader"
    # The second line is written when its reader is there, and not after a time: a slow `head` would take both.
    line = f"sh -c 'echo 1; until [ -e {second} ]; do sleep .1; done; echo 2' > {fifo}"
    readers = f"head -1 {fifo}; sleep .5; {{ touch {second}; cat; }} < {fifo}"
    done, _ = in_shell(f"{{ {readers}; }} & $RUN {line}")
    assert (done.returncode, done.stdout) == (0, "1\n2\n")


def test_the_command_does_not_inherit_that_python_ignores_sigpipe():
    done = run("grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def test_a_terminal_that_is_closed_is_closed_for_the_command():
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*RUN, "sh", "-c", "echo x; sleep 1; echo y || exit 42"],
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    assert os.read(leader, 10) == b"x\r\n"
    os.close(leader)
    assert process.wait(20) == 42


def test_signals_are_passed_on_when_nobody_reads_any_more():
    program = "echo ready; trap 'exit 42' TERM; sleep 30 & wait"
    reader, writer = os.pipe()
    process = subprocess.Popen([*RUN, "sh", "-c", program], stdout=writer, stderr=writer)
    os.close(writer)
    assert os.read(reader, 10) == b"ready\n"
    os.close(reader)
    time.sleep(0.5)
    process.terminate()
    assert process.wait(20) == 42


def test_the_memory_for_a_flood_of_output_is_bounded():
    program = f"""
import subprocess, sys, os
done = subprocess.run([sys.executable, "-m", "gpudoctor", "run", "--", "sh", "-c",
                       "head -c 300000000 /dev/zero | tr '\\\\0' 'x'; echo; echo '{OOM}'; exit 1"],
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
import resource
print(done.returncode, "cuda-oom" in done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    code, found, memory = done.stdout.split()
    assert (code, found) == ("1", "True")
    assert int(memory) < 150_000  # KiB


RANKS = """
import os, subprocess, sys, time

if "RANK" in os.environ:
    if os.environ["RANK"] == "{gone}":
        time.sleep(2)
        sys.exit()
    while True:
        {work}
me = [sys.executable, __file__]
ranks = [subprocess.Popen(me, env=os.environ | dict(RANK=str(rank))) for rank in range(2)]
print("ready", flush=True)
for rank in ranks:
    rank.wait()
"""


def stood(tmp_path, monkeypatch, gone, work):
    """Run two ranks, end the command when it was silent for some time, and return how it ended."""
    monkeypatch.setattr("gpudoctor.process_family.EVERY", 0.5)
    monkeypatch.setattr("gpudoctor.process_family.RECENT", 3.0)
    script = tmp_path / "launch.py"
    script.write_text(RANKS.format(gone=gone, work=work))
    end = f"import os, time; time.sleep(8); os.kill({os.getpid()}, {int(signal.SIGTERM)})"
    with subprocess.Popen([sys.executable, "-c", end]):
        ended = run_command([sys.executable, str(script)])
    for pid in re.findall(r"pid (\d+)", ended.ranks):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    return re.sub(r" \(pid \d+\)", "", ended.ranks), ended.still, ended.lines


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_rank_that_is_gone_while_others_wait_is_named(tmp_path, monkeypatch):
    said, still, lines = stood(tmp_path, monkeypatch, 1, "time.sleep(1)")
    assert re.fullmatch(r"rank 1 had been gone for [2-7] s, rank 0 waited", said)
    assert (still, lines) == (True, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("options", "awaits"), [("--nnodes=2", True), ("--nnodes 1:4", True), ("--nnodes=1", False), ("", False)]
)
def test_a_launcher_that_waits_for_other_nodes_has_started_no_rank(options, awaits, tmp_path, monkeypatch):
    monkeypatch.setattr("gpudoctor.process_family.EVERY", 0.0)
    script = tmp_path / "torchrun"
    script.write_text("import time; print('ready', flush=True); time.sleep(60)")
    command = [sys.executable, str(script), *options.split(), "train.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        family = Family(process.pid)
        for _ in range(4):
            family.look(0.0)
        said, still = family.told(), family.still()
        process.kill()
    assert (said == "torchrun had started no rank, and waited for other nodes") == still == awaits


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("work", "said"), [("sleep 60", "waited"), ("while :; do :; done", "sh (pid N) computed")]
)
def test_without_ranks_the_process_that_computed_is_named(work, said, monkeypatch):
    monkeypatch.setattr("gpudoctor.process_family.EVERY", 0.0)
    with subprocess.Popen(
        ["sh", "-c", f"echo ready; {work}; exit"], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        process.stdout.readline()
        family = Family(process.pid)
        for _ in range(5):
            family.look(0.0)
            time.sleep(0.5)
        told, still = re.sub(r"pid \d+", "pid N", family.told()), family.still()
        os.killpg(process.pid, signal.SIGKILL)
    assert told.endswith(said)
    assert not still


LAUNCH = """
import os, signal, subprocess, sys, time

def ended(number, frame):
    for rank in ranks:
        rank.kill()
    print("shutting down", flush=True)
    sys.exit(1)

if "RANK" in os.environ:
    time.sleep(100)
ranks = [subprocess.Popen([sys.executable, __file__], env=os.environ | dict(RANK=str(rank))) for rank in range(2)]
signal.signal(signal.SIGTERM, ended)
print("ready", flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.skipif(shutil.which("timeout") is None, reason="needs timeout")
def test_a_command_that_its_own_time_limit_ends_had_stood_still_too(tmp_path, monkeypatch):
    for module in ("output_tail", "standstill"):
        monkeypatch.setattr(f"gpudoctor.{module}.SILENT", 4.0)
    monkeypatch.setattr("gpudoctor.process_family.EVERY", 0.5)
    monkeypatch.setattr("gpudoctor.process_family.RECENT", 3.0)
    script = tmp_path / "launch.py"
    script.write_text(LAUNCH)
    ended = run_command(["timeout", "9", sys.executable, str(script)])
    assert (ended.code, ended.interrupted, ended.lines, ended.still) == (124, False, 1, True)
    assert ended.silent > 4
    assert re.sub(r" \(pid \d+\)", "", ended.ranks) == "rank 0 waited, rank 1 waited"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_rank_that_computes_does_not_stand_still(tmp_path, monkeypatch):
    said, still, _ = stood(tmp_path, monkeypatch, -1, "os.environ['RANK'] == '1' or time.sleep(1)")
    assert re.fullmatch(r"rank 0 waited, rank 1 (?:computed|used \d+% of a processor)", said)
    assert not still


def test_the_tail_keeps_the_end_and_no_more():
    tail = Tail(10)
    for piece in (b"abc", b"defgh", b"ijkl", b"mno"):
        tail.add(piece)
    assert tail.bytes() == b"fghijklmno"
    assert tail.size <= 10 + 5
