"""``gpudoctor explain`` as a user meets it: files, folders, pipes, bad input, exit codes."""

import gzip
import json
import os
import subprocess
import sys

import pytest

import gpudoctor
from tests.processor_time import within
from tests.warm_python import warm_gpudoctor

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.50 GiB already allocated; 14.75 MiB free; 9.62 GiB reserved in total by PyTorch)"


def explain(*arguments, **options):
    command = [*warm_gpudoctor(), "explain", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=options.pop("text", True), timeout=120, **options
    )


def test_a_file_names_cause_line_and_fix(tmp_path):
    (tmp_path / "train.log").write_text(f"step 1\n[rank2]: {OOM}\n")
    done = explain(tmp_path / "train.log")
    assert (done.returncode, done.stderr) == (1, "")
    assert all(words in done.stdout for words in ("GPU 0", "20.00 MiB", "14.75 MiB", "10.76 GiB", "(rank 2)"))
    assert "train.log:2: [rank 2] RuntimeError: CUDA out of memory" in done.stdout
    assert "    fix  " in done.stdout
    assert "Most likely cause: cuda-oom (rank 2)" in done.stdout


def test_json_is_the_contract(tmp_path):
    (tmp_path / "train.log").write_text(OOM)
    report = json.loads(explain("--json", tmp_path / "train.log").stdout)
    assert (report["schema"], report["command"]) == ("gpudoctor.report/1", "explain")
    (finding,) = report["findings"]
    assert (finding["source"], finding["role"], finding["severity"]) == ("log", "cause", "error")


@pytest.mark.parametrize("arguments", [["-"], []])
def test_a_stream_on_standard_input(arguments):
    done = explain(*arguments, input=f"one\n{OOM}\n")
    assert done.returncode == 1
    assert "standard input:2" in done.stdout


def test_several_files_and_folders_are_one_log(tmp_path):
    (tmp_path / "logs/attempt_0/1").mkdir(parents=True)
    (tmp_path / "logs/attempt_0/1/stderr.log").write_text(OOM)
    (tmp_path / "head.log.gz").write_bytes(
        gzip.compress(b"[rank0]: ncclRemoteError: A call failed possibly due to a network error")
    )
    report = json.loads(explain("--json", tmp_path / "head.log.gz", tmp_path / "logs").stdout)
    assert report["verdict"]["primary"] == "cuda-oom"
    assert report["findings"][0]["evidence"][0]["rank"] == 1


def test_a_log_without_a_failure_is_exit_code_0(tmp_path):
    (tmp_path / "a.log").write_text("epoch 1 loss 0.3\n")
    done = explain(tmp_path / "a.log")
    assert done.returncode == 0
    assert "No failure shows in 1 line." in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "empty"),
        (bytes(range(32)) * 300, "binary file"),
        (b"\x1f\x8bxx", "damaged gzip"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, content, said):
    if content is not None:
        (tmp_path / "a.log").write_bytes(content)
    done = explain(tmp_path / "a.log")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_text_that_is_not_utf_8_and_odd_characters_are_read(tmp_path):
    (tmp_path / "a.log").write_bytes(
        b"\xff\xfe\xfa caf\xe9 \x00 \n".replace(b"\xff\xfe", b"\xff") + OOM.encode() + b"\n\xf0\x28"
    )
    assert explain(tmp_path / "a.log").returncode == 1


def test_a_file_whose_name_is_no_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/train \xff.log"
    with open(path, "w") as file:
        file.write(OOM)
    done = subprocess.run(
        [*map(os.fsencode, warm_gpudoctor()), b"explain", path], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert r"\udcff.log:1" in done.stdout


def test_a_folder_without_logs_and_no_argument_on_a_terminal(tmp_path):
    done = explain(tmp_path)
    assert done.returncode == 2
    assert "no log in this folder" in done.stderr


BOMBS = {
    "brackets": "[" * 200_000,
    "spaces": " " * 200_000 + "x",
    "quotes": '"' * 200_000,
    "angle": "> " * 100_000,
    "digits": "1" * 200_000,
    "frames": ('File "' + "/a" * 300 + '", line 1') * 200,
    "keys": 'Missing key(s) in state_dict: "' + '", "'.join(f"a.b.{n}" for n in range(30_000)),
    "errors": "RuntimeError: " * 20_000,
    "oom": "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; " * 5_000,
    "times": "2026-03-04T05:06:07Z " * 10_000,
    "ansi": "\x1b[31m" * 50_000,
    "returns": "\r" * 100_000 + "x\r" * 100_000,
    "ampersands": "&quot;" * 50_000,
    "dots": "a." * 100_000,
    "paths": "/" * 200_000,
    "nccl": "node1:4775:4803 [0] NCCL WARN " * 8_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_of_a_line_costs_no_more_than_any_other(name):
    with within(2.0):
        gpudoctor.explain(f"{BOMBS[name]}\n" * 3 + OOM)


def test_many_short_lines_of_one_kind_are_read_in_time():
    text = "\n".join([f"try {n}: RuntimeError: CUDA error: out of memory" for n in range(5_000)])
    with within(7.0):
        assert gpudoctor.explain(text).verdict.primary == "cuda-oom"


def test_the_library_answers_without_torch_and_on_any_text():
    program = (
        "import gpudoctor, sys\n"
        f"report = gpudoctor.explain({OOM!r}, name='mine')\n"
        "assert report.findings[0].evidence[0].where == 'mine:1'\n"
        "assert gpudoctor.explain('').findings == []\n"
        "assert 'torch' not in sys.modules and 'click' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_checks_of_ones_own_take_part(tmp_path):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/coffee_spilled.py").write_text(
        '"""Coffee was spilled."""\nfrom gpudoctor import Check, Severity\n'
        'check = Check(severity=Severity.ERROR, symptoms=[r"coffee on (?P<what>keyboard)"], message="coffee[ on the <what>]")\n'
    )
    (tmp_path / "a.log").write_text("FATAL: coffee on keyboard\n")
    report = json.loads(explain("--json", "--checks", tmp_path / "checks", tmp_path / "a.log").stdout)
    assert [(f["id"], f["message"]) for f in report["findings"]] == [
        ("coffee-spilled", "coffee on the keyboard")
    ]


def test_what_is_private_does_not_leave_in_a_pipe(tmp_path):
    (tmp_path / "a.log").write_text(
        f"{os.environ.get('HOME', '/root')}/secret 10.20.30.40\n[rank0]: {OOM} at 10.20.30.40\n"
    )
    assert "10.20.30.40" not in explain(tmp_path / "a.log").stdout
    assert "10.20.30.40" in explain("--no-redact", tmp_path / "a.log").stdout


def test_the_first_fixes_are_shown_and_the_others_are_counted():
    text = explain("-", input=OOM).stdout
    assert text.count("    fix  ") == 2
    assert "more fixes: gpudoctor show cuda-oom" in text
    assert explain("-v", "-", input=OOM).stdout.count("    fix  ") > 2


def test_a_message_that_begins_with_the_title_is_said_once():
    text = explain("-", input="Segmentation fault (core dumped)\n").stdout
    assert "child-segfault   A worker crashed in native code: Segmentation fault\n" in text
    assert text.lower().count("a worker crashed in native code") == 1


def test_a_title_that_the_message_says_again_is_printed_once():
    log = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:3 and cpu!"
    done = explain("-", input=log)
    assert done.stdout.count("of one operation") == 1
    assert (
        "  error  device-mismatch   The tensors of one operation lie on different devices: one on cuda:3"
        in done.stdout
    )
