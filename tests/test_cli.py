"""The command line as a user meets it: real processes, real exit codes, standard output and error apart."""

import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.quick_checks import quick_checks
from tests.warm_python import warm_gpudoctor

FAST = quick_checks("launch", "network")


def gpudoctor(*arguments, env=None, cwd=None, timeout=120, **options):
    environment = {**os.environ, **(env or {})}
    return subprocess.run(
        [*warm_gpudoctor(), *map(str, arguments)],
        capture_output=True, text=True, env=environment, cwd=cwd, timeout=timeout, **options,
    )  # fmt: skip


def one_line(done, code=2):
    """Assert that a command failed as it must: the exit code, one line on standard error, nothing on output."""
    assert done.returncode == code, done
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("gpudoctor: ")
    return done.stderr


def test_json_is_one_document_and_nothing_else():
    done = gpudoctor("check", "--json", *FAST)
    report = json.loads(done.stdout)
    assert report["schema"] == "gpudoctor.report/1"
    assert report["command"] == "check"
    assert set(report) == {
        "schema", "version", "command", "created", "verdict", "findings", "checks", "probes", "facts", "proofs",
    }  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", report["created"])


def test_exit_code_is_the_same_with_and_without_json(tmp_path):
    broken = {"MASTER_PORT": "not-a-number", "MASTER_ADDR": "127.0.0.1", "RANK": "0", "WORLD_SIZE": "2"}
    assert [
        gpudoctor("check", *FAST, *extra, env=broken).returncode for extra in ([], ["--json"], ["-q"])
    ] == [1, 1, 1]
    assert gpudoctor("check", *FAST, "--fail-on", "never", env=broken).returncode == 0
    assert [gpudoctor("check", *FAST, *extra).returncode for extra in ([], ["--json"])] == [0, 0]


def test_a_port_that_is_no_number_is_a_finding_that_names_it():
    env = {"MASTER_PORT": "29500x", "MASTER_ADDR": "127.0.0.1", "RANK": "0", "WORLD_SIZE": "2"}
    report = json.loads(gpudoctor("check", "--json", *FAST, env=env).stdout)
    (finding,) = [f for f in report["findings"] if f["id"] == "rendezvous-env-missing"]
    assert finding["severity"] == "error"
    assert "29500x" in finding["message"]


def test_unknown_id_gets_the_nearest():
    assert "did you mean 'port-in-use'" in one_line(gpudoctor("show", "port-in-us"))
    assert "did you mean 'port-in-use'" in one_line(gpudoctor("repro", "port-inuse"))
    assert "did you mean 'network'" in one_line(gpudoctor("check", "--only", "netwrk"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--from", "no/such/file"],
        ["check", "--python", "no/such/python"],
        ["check", "--python", "/etc/hostname"],
        ["check", "--log", "no/such/log", *FAST],
        ["check", "-o", "/no/such/folder/report.json"],
        ["check", "--timeout", "soon"],
        ["check", "--checks", "/no/such/folder"],
        ["report", "-o", "ticket.docx"],
        ["report", "--repro", "nonsense"],
        ["repro"],
        ["nonsense"],
    ],
)
def test_bad_use_is_one_line_and_exit_2(arguments, tmp_path):
    one_line(gpudoctor(*arguments, cwd=tmp_path))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("#!/bin/sh\nexit 0\n", "it ended without an answer"),
        ("#!/bin/sh\nkill -SEGV $$\n", "killed by SIGSEGV"),
        ("#!/bin/sh\necho broken module >&2\nexit 3\n", "exit status 3"),
        ("#!/bin/sh\nsleep 60\n", "no answer in 2 s"),
        ("#!/bin/sh\nexec cat /dev/zero\n", "more than 32.0 MiB of output"),
    ],
)
def test_a_python_that_does_not_answer_is_a_finding_and_the_machine_is_reported_all_the_same(
    tmp_path, text, how
):
    patient = tmp_path / "python"
    patient.write_text(text)
    patient.chmod(0o755)
    seconds = 2 if "sleep" in text else 20
    done = gpudoctor("check", "--python", patient, "--timeout", seconds, "--json", "--no-redact")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    (finding,) = [f for f in report["findings"] if f["id"] == "python-does-not-answer"]
    assert finding["message"] == f"{patient}: {how}; so nothing is known of its torch"
    assert [e["text"] for e in finding["evidence"]] == (["broken module"] if "module" in text else [])
    assert report["verdict"]["primary"] == "python-does-not-answer"
    assert report["facts"]["host"]["cpus"] >= 1
    assert "passed" in {c["status"] for c in report["checks"]}
    (tmp_path / "r.json").write_text(done.stdout)
    again = json.loads(gpudoctor("check", "--from", tmp_path / "r.json", "--json", "--no-redact").stdout)
    assert again["findings"] == report["findings"]


def test_a_python_that_cannot_be_executed_is_one_line(tmp_path):
    (tmp_path / "python").write_bytes(b"\x7fELF, not")
    (tmp_path / "python").chmod(0o755)
    assert "cannot be run: Exec format error" in one_line(gpudoctor("check", "--python", tmp_path / "python"))


def test_a_check_file_with_a_syntax_error_is_one_line_and_the_rest_goes_on(tmp_path):
    (tmp_path / "my_failure.py").write_text("def broken(:\n")
    done = gpudoctor("check", *FAST, "--only", "local", "--checks", tmp_path, "--json")
    assert done.returncode == 3
    assert [line for line in done.stderr.splitlines() if "my-failure" in line and ":1:" in line]
    assert "rank-out-of-range" in [c["id"] for c in json.loads(done.stdout)["checks"]]


def test_a_crashing_check_is_its_own_result_and_exit_3(tmp_path):
    (tmp_path / "my_failure.py").write_text(
        '"""Mine.\n"""\nfrom gpudoctor import Check, Severity\nfrom gpudoctor.facts import Launch\n'
        "check = Check(severity=Severity.ERROR)\n@check.environment\n"
        "def environment(launch: Launch):\n    return 1 / 0\n"
    )
    done = gpudoctor("check", *FAST, "--only", "my-failure", "--checks", tmp_path, "--json")
    assert done.returncode == 3
    (result,) = [c for c in json.loads(done.stdout)["checks"] if c["id"] == "my-failure"]
    assert result["status"] == "crashed"
    assert "ZeroDivisionError" in result["reason"]


def test_help_has_examples_for_every_command():
    for command in ("check", "repro", "report", "show"):
        done = gpudoctor(command, "--help", env={"COLUMNS": "120"})
        assert done.returncode == 0
        assert f"gpudoctor {command}" in done.stdout.partition("Options")[0].partition("Usage:")[2]


def test_help_alone_and_version():
    assert "gpudoctor check" in gpudoctor().stdout
    assert gpudoctor("--version").stdout.startswith("gpudoctor 0.")


def test_the_list_names_every_check():
    listed = json.loads(gpudoctor("check", "--list", "--json").stdout)
    assert len(listed) >= 14
    assert all(entry["id"] in gpudoctor("check", "--list").stdout for entry in listed[:3])


def test_the_list_is_of_the_checks_that_are_chosen():
    listed = json.loads(gpudoctor("check", "--list", "--only", "nccl", "--skip", "nccl-p2p", "--json").stdout)
    assert {entry["family"] for entry in listed} == {"nccl"}
    assert "nccl-p2p" not in {entry["id"] for entry in listed}
    assert "did you mean 'network'" in one_line(gpudoctor("check", "--list", "--only", "netwrk"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--from", "saved.json", "--python", sys.executable], "--python"),
        (["check", "--list", "-q"], "-q"),
        (["show", "port-in-use", "-q"], "-q"),
        (["repro", "ddp", "--script", "-q"], "-q"),
        (["repro", "ddp", "--script", "--nproc", "2"], "--nproc"),
        (["repro", "port-in-use", "--script", "--timeout", "3"], "--timeout"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(arguments, said, tmp_path):
    (tmp_path / "saved.json").write_text('{"schema": "gpudoctor.report/1"}')
    assert said in one_line(gpudoctor(*arguments, cwd=tmp_path))


def test_show_prints_a_page_with_the_fix():
    page = gpudoctor("show", "state-dict-prefix").stdout
    assert "## Fix" in page
    assert "```diff" in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_every_shell(shell):
    done = gpudoctor(env={"_GPUDOCTOR_COMPLETE": f"{shell}_source"})
    assert "_GPUDOCTOR_COMPLETE" in done.stdout or "_gpudoctor" in done.stdout.lower()


def test_completion_offers_the_commands():
    done = gpudoctor(
        env={"_GPUDOCTOR_COMPLETE": "bash_complete", "COMP_WORDS": "gpudoctor re", "COMP_CWORD": "1"}
    )
    assert "repro" in done.stdout
    assert "report" in done.stdout


@pytest.mark.parametrize("arguments", [["show", "all"], ["check", "--list"], ["--help"]])
def test_a_closed_pipe_is_no_error(arguments):
    command = " ".join([sys.executable, "-m", "gpudoctor", *arguments])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_torch_is_never_imported_by_gpudoctor_itself():
    for arguments in (["--help"], ["show", "port-in-use"], ["check", "--list"]):
        code = (
            "import sys, gpudoctor.cli as c\n"
            "try:\n    c.main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
            "sys.exit('torch' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done


def test_output_to_a_file_is_whole_and_readable_by_others(tmp_path):
    target = tmp_path / "report.json"
    done = gpudoctor("check", *FAST, "-o", target)
    assert json.loads(target.read_text())["schema"] == "gpudoctor.report/1"
    assert f"wrote {target}" in done.stderr
    assert target.stat().st_mode & 0o044
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_a_terminal_gets_colours_and_its_width_and_no_color_is_honoured():
    def drawn(**env):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "gpudoctor", "check", *FAST],
            stdout=slave, stderr=subprocess.DEVNULL, stdin=slave,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **env},
        )  # fmt: skip
        os.close(slave)
        chunks = []
        try:
            while chunk := os.read(master, 65536):
                chunks.append(chunk)
        except OSError:  # the other side has closed
            pass
        os.close(master)
        assert process.wait(60) == 0
        return b"".join(chunks).decode()

    assert "\x1b[" in drawn()
    plain = drawn(NO_COLOR="1")
    assert "\x1b[3" not in plain
    shown = re.sub(r"\x1b\[\??\d*[A-Za-z]", "", plain)  # a slow machine shows what it waits for, too
    code = " " * 10  # what is pasted keeps its lines
    assert max(len(line) for line in re.split(r"[\r\n]+", shown) if not line.startswith(code)) <= 80


def test_piped_output_is_plain_ascii_and_unwrapped():
    done = gpudoctor("check", *FAST)
    assert "\x1b" not in done.stdout
    assert done.stdout.isascii()


def descendants(marker):
    """The processes whose command line holds `marker`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker in path.read_bytes().decode(errors="replace"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["check", "repro"])
def test_an_interrupt_ends_every_child_within_a_second(number, command, tmp_path):
    """A patient whose torch never finishes importing, and a signal in the middle of it."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("import time\ntime.sleep(300)\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    arguments = {"check": ["check"], "repro": ["repro", "single"]}[command]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpudoctor", *arguments, "--python", sys.executable],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TMPDIR": str(temporary), "GPUDOCTOR_MARK": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not children.read_text().split():
        time.sleep(0.05)
    time.sleep(2.0)
    pids = children.read_text().split()
    assert pids
    begun = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - begun < 2.0  # a second, and the machine may be busy
    assert process.returncode == 128 + number
    assert errors.strip() == "gpudoctor: interrupted"
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert list(temporary.iterdir()) == []


def test_a_device_or_a_pipe_that_is_named_with_o_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "nobody reads it" in one_line(gpudoctor("show", "port-in-use", "-o", pipe))
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    for _ in range(100):  # until cat has opened it
        if gpudoctor("show", "port-in-use", "-o", pipe).returncode == 0:
            break
        time.sleep(0.05)
    assert "## Fix" in reader.communicate(timeout=20)[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    assert gpudoctor("show", "port-in-use", "-o", link).returncode == 0
    assert link.is_symlink()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert "## Fix" in gpudoctor("show", "port-in-use", "-o", "/dev/stdout").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a device")
def test_a_device_of_ones_own_stays_one(tmp_path):
    node = tmp_path / "node"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    gpudoctor("show", "port-in-use", "-o", node)
    gpudoctor("check", *FAST, "-o", node)
    assert stat.S_ISCHR(node.stat().st_mode)


def test_a_socket_named_with_o_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert "neither a file nor" in one_line(gpudoctor("show", "port-in-use", "-o", tmp_path / "s"))


BAD = {
    "syntax": "def broken(:\n",
    "exit": "import sys\nsys.exit(0)\n",
    "symptom": '"""T.\n"""\nfrom gpudoctor import Check, Severity\n'
    'check = Check(severity=Severity.ERROR, symptoms=[r"(?i)x"])\n',
    "raises": '"""T.\n"""\nfrom gpudoctor import Check, Severity, Sighting\n'
    'check = Check(severity=Severity.ERROR, symptoms=["CUDA out of memory"], message="m")\n'
    "@check.log\ndef log(sighting: Sighting):\n    yield 1 / 0\n",
}


@pytest.mark.parametrize("kind", BAD)
def test_one_bad_local_check_does_not_end_explain(tmp_path, kind):
    (tmp_path / "bad_one.py").write_text(BAD[kind])
    (tmp_path / "train.log").write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    (tmp_path / "fine.log").write_text("epoch 1 loss 0.5\n")
    done = gpudoctor("explain", tmp_path / "train.log", "--checks", tmp_path, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["verdict"]["primary"] == "cuda-oom"
    (result,) = report["checks"]
    assert (result["id"], result["status"]) == ("bad-one", "crashed")
    assert re.search(r"bad_one\.py:\d: ", result["reason"])
    (line,) = done.stderr.splitlines()
    assert re.search(r"^gpudoctor: check bad-one: .*bad_one\.py:\d: ", line)
    human = gpudoctor("explain", tmp_path / "train.log", "--checks", tmp_path)
    assert "bad-one (crashed: " in human.stdout
    healthy = gpudoctor("explain", tmp_path / "fine.log", "--checks", tmp_path)
    assert healthy.returncode == (0 if kind == "raises" else 3)  # its line does not stand in this log


@pytest.mark.parametrize("kind", ["syntax", "exit", "symptom"])
def test_a_bad_local_check_asked_for_alone_is_no_silence(tmp_path, kind):
    (tmp_path / "bad_one.py").write_text(BAD[kind])
    for command in (["check", "--only", "bad-one"], ["check", "--only", "bad-one", "-q"]):
        done = gpudoctor(*command, "--checks", tmp_path)
        assert done.returncode == 3
        assert re.search(r"bad_one\.py:\d: ", done.stdout + done.stderr)
    assert "bad_one.py:" in one_line(gpudoctor("show", "bad-one", "--checks", tmp_path), 3)
    assert gpudoctor("show", "port-in-use", "--checks", tmp_path).returncode == 0


def test_a_local_check_is_executed_once_in_a_check(tmp_path):
    counted = f"import os\nos.write(os.open({str(tmp_path / 'ran')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), b'x')\n"
    text = '"""T.\n"""\nfrom gpudoctor import Check, Severity\nfrom gpudoctor.facts import Launch\n' + counted
    text += "check = Check(severity=Severity.ERROR)\n@check.environment\n"
    text += "def environment(launch: Launch):\n    yield from ()\n"
    (tmp_path / "mine.py").write_text(text)
    assert gpudoctor("check", "--only", "mine", "--checks", tmp_path).returncode == 0
    assert (tmp_path / "ran").read_text() == "x"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_fault(closed):
    command = f"exec {sys.executable} -m gpudoctor show port-in-use {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert bool(done.stdout) == (closed == "2>&-")


def test_check_of_what_shows_in_logs_alone_could_not_do_its_work():
    done = gpudoctor("check", "--only", "nccl-timeout")
    assert done.returncode == 3
    assert "Nothing was examined" in done.stdout


def test_a_report_of_explain_can_be_examined_again(tmp_path):
    (tmp_path / "train.log").write_text(
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    first = json.loads(gpudoctor("explain", tmp_path / "train.log", "--json").stdout)
    (tmp_path / "r.json").write_text(json.dumps(first))
    done = gpudoctor("check", "--from", tmp_path / "r.json", "--json")
    assert done.returncode == 1
    again = json.loads(done.stdout)
    assert again["findings"] == first["findings"]
    assert again["verdict"] == first["verdict"]
    assert again["checks"] == []


def examined_again(tmp_path, report, *arguments):
    (tmp_path / "saved.json").write_text(json.dumps(report))
    done = gpudoctor("check", "--from", tmp_path / "saved.json", "--json", *arguments)
    return done.returncode, json.loads(done.stdout)


def test_what_was_said_of_a_log_is_not_said_twice_when_it_is_examined_again(tmp_path):
    (tmp_path / "train.log").write_text(
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n"
    )
    facts = json.loads((Path(__file__).parent / "machines/cpu-only/report.json").read_text())
    facts["facts"]["host"]["shm_bytes"] = facts["facts"]["host"]["shm_free_bytes"] = 64 << 20
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    done = gpudoctor("check", "--from", tmp_path / "facts.json", "--log", tmp_path / "train.log", "--json")
    first = json.loads(done.stdout)
    assert "confirmed by the facts" in first["findings"][0]["message"]
    for _ in range(2):
        code, again = examined_again(tmp_path, first)
        assert (code, again["findings"], again["verdict"]) == (1, first["findings"], first["verdict"])


def test_a_finding_or_a_crash_of_a_check_that_is_gone_is_taken_over(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "nfs_quota.py").write_text(
        '"""T.\n"""\nfrom gpudoctor import Check, Fix, Severity\ncheck = Check(severity=Severity.ERROR, '
        'symptoms=["quota of the project"], message="used up", fixes=[Fix("Ask for more")])\n'
    )
    (tmp_path / "train.log").write_text("OSError: quota of the project\n")
    first = json.loads(gpudoctor("explain", tmp_path / "train.log", "--checks", folder, "--json").stdout)
    assert examined_again(tmp_path, first)[0] == 1
    (folder / "nfs_quota.py").write_text(BAD["raises"].replace("CUDA out of memory", "quota of the project"))
    first = json.loads(gpudoctor("explain", tmp_path / "train.log", "--checks", folder, "--json").stdout)
    crashed = [c["id"] for c in first["checks"] if c["status"] == "crashed"]
    assert crashed == ["nfs-quota"]
    code, again = examined_again(tmp_path, {**first, "findings": []})
    assert (code, [c["id"] for c in again["checks"]]) == (3, crashed)


@pytest.mark.parametrize(
    "body",
    [
        "def environment(launch: NoSuchFact):\n    yield from ()\n",
        "def environment(launch: Launch):\n    yield check.found(None)\n",
        "def environment(launch: Launch):\n    yield check.found('m', evidence=[3])\n",
        "def environment(launch: Launch):\n    raise GeneratorExit\n",
    ],
)
def test_whatever_is_wrong_with_a_local_check_is_its_own_result(tmp_path, body):
    text = '"""T.\n"""\nfrom gpudoctor import Check, Severity\nfrom gpudoctor.facts import Launch\n'
    (tmp_path / "mine.py").write_text(
        text + "check = Check(severity=Severity.ERROR)\n@check.environment\n" + body
    )
    done = gpudoctor("check", *FAST, "--only", "mine", "--checks", tmp_path, "--json")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    (result,) = [c for c in json.loads(done.stdout)["checks"] if c["id"] == "mine"]
    assert result["status"] == "crashed"
    assert "mine.py:" in result["reason"]


def test_closed_input_and_a_full_disk_are_one_line(tmp_path):
    for command in ("explain -", "check --from -"):
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m gpudoctor {command} <&-"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m gpudoctor show port-in-use > /dev/full"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "gpudoctor: standard output: No space left on device\n")


def test_a_verdict_alone_holds_nothing_that_a_terminal_obeys(tmp_path):
    (tmp_path / "train.log").write_text("ValueError: a\x07b\u202ec\n" + TRACEBACK)
    said = gpudoctor("explain", tmp_path / "train.log", "-q").stdout
    assert not set(said) & set("\x07\u202e\x1b")


TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    f()\n'
    "ValueError: d\x07\u202ee\n"
)


@pytest.mark.parametrize("command", ["run", "repro", "show", "checkpoint inspect", "checkpoint fix"])
def test_a_command_without_its_argument_shows_an_example_in_one_line(command):
    done = gpudoctor(*command.split())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"for example: gpudoctor {command} " in line
    assert line.endswith(f"see gpudoctor {command} --help")


def test_files_of_the_working_folder_do_not_hide_what_it_is_made_of(tmp_path):
    """`python -m` looks there first, and gpudoctor's own first line would meet them."""
    for name in ("typing", "random", "importlib", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not to be imported')\n")
    command = [sys.executable, "-m", "gpudoctor", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpudoctor ")


def test_files_on_pythonpath_do_not_hide_what_it_is_made_of(tmp_path):
    """Python puts those before its own modules; `check` is to name such a file, and not to end by it."""
    for name in ("inspect", "random", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not to be imported')\n")
    command = [sys.executable, "-m", "gpudoctor", "--version"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpudoctor ")
