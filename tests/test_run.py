"""``gpudoctor run``: the command notices nothing, and a failure is explained."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from gpudoctor.passthrough import Tail

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
        assert "exit code 42, and no failure that gpudoctor knows" in process.stderr.read()
    assert process.returncode == 42


def test_what_the_command_leaves_in_the_background_is_not_waited_for():
    begun = time.monotonic()
    done = run("sh", "-c", "sleep 30 & echo done")
    assert done.stdout == "done\n"
    assert time.monotonic() - begun < 15


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


def test_the_tail_keeps_the_end_and_no_more():
    tail = Tail(10)
    for piece in (b"abc", b"defgh", b"ijkl", b"mno"):
        tail.add(piece)
    assert tail.bytes() == b"fghijklmno"
    assert tail.size <= 10 + 5
