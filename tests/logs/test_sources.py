"""What may hold a log is opened: files, packed ones, folders, pipes; what holds none is one clear line."""

import gzip
import json
import os
import threading

import pytest

from gpudoctor.literals import Finder
from gpudoctor.logs.sources import Unreadable, read_all

FIND = Finder([("NEEDLE", ("needle", 0))])


def read(*paths):
    return [
        (log.name, log.rank, [text for _, text in log.kept.lines])
        for log in read_all([str(p) for p in paths], FIND)
    ]


def test_a_file_plain_and_packed(tmp_path):
    (tmp_path / "a.log").write_text("one\ntwo\n")
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(b"three\n"))
    names = [tmp_path / "a.log", tmp_path / "b.log.gz"]
    assert read(*names) == [(str(names[0]), None, ["one", "two"]), (str(names[1]), None, ["three"])]


def test_a_packed_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path):
    rows = "".join(f"line {n} {os.urandom(4).hex()}\n" for n in range(20_000))
    (tmp_path / "a.gz").write_bytes(gzip.compress(rows.encode())[:-5000])
    ((_, _, lines),) = read(tmp_path / "a.gz")
    assert lines[:2] == rows.split("\n")[:2]
    assert len(lines) > 10_000


def test_the_tree_of_torchruns_log_dir_tells_the_ranks(tmp_path):
    for rank in (0, 1, 12):
        folder = tmp_path / "none_abc" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text("")
        (folder / "stderr.log").write_text(f"I am {rank}\n")
    error = {
        "message": {
            "message": "ValueError: x",
            "extraInfo": {"py_callstack": "Traceback:\nValueError: x", "timestamp": "1"},
        }
    }
    (tmp_path / "none_abc/attempt_0/12/error.json").write_text(json.dumps(error))
    assert sorted((rank, lines) for _, rank, lines in read(tmp_path)) == [
        (0, ["I am 0"]),
        (1, ["I am 1"]),
        (12, ["I am 12"]),
        (12, ["Traceback:", "ValueError: x"]),
    ]


@pytest.mark.parametrize(
    "name", ["rank_3.log", "train-rank3.txt", "logs/rank=3/out.log", "attempt_1/3/stderr.log"]
)
def test_a_name_tells_the_rank(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n")
    assert read(path)[0][1] == 3


@pytest.mark.parametrize("name", ["train.log", "slurm-4711.out", "frank3.log", "crank.txt"])
def test_a_name_that_tells_no_rank(tmp_path, name):
    (tmp_path / name).write_text("x\n")
    assert read(tmp_path / name)[0][1] is None


def test_of_a_folder_only_logs_are_read(tmp_path):
    for name in ("train.log", "slurm-12.out", "job.err", "log.3", "notes.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    for name in ("model.pt", "train.py", "events.out.tfevents.17", "config.json", "image.png"):
        (tmp_path / name).write_bytes(b"\x00\x01\x02" * 100)
    assert sorted(name for name, _, _ in read(tmp_path)) == [
        "job.err",
        "log.3",
        "notes.txt",
        "slurm-12.out",
        "train.log",
    ]


def test_utf_16_of_a_windows_shell_is_read(tmp_path):
    (tmp_path / "a.log").write_bytes("größer\r\nNEEDLE\r\n".encode("utf-16"))
    assert read(tmp_path / "a.log")[0][2] == ["größer\r", "NEEDLE\r"]


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_text("through the pipe\n")).start()
    assert read(tmp_path / "pipe")[0][2] == ["through the pipe"]


def test_a_file_that_grows_while_it_is_read_has_an_end(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("x\n" * 1000)
    stop = threading.Event()

    def grow():
        with path.open("a") as file:
            while not stop.is_set():
                file.write("more\n" * 1000)
                file.flush()

    grower = threading.Thread(target=grow)
    grower.start()
    try:
        assert len(read(path)[0][2]) >= 1000
    finally:
        stop.set()
        grower.join()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: None, "No such file"),
        (lambda p: p.write_bytes(bytes(range(256)) * 50), "binary file"),
        (lambda p: p.write_bytes(b"\x1f\x8b" + b"nonsense" * 10), "damaged gzip"),
        (lambda p: p.mkdir(), "no log in this folder"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, make, said):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(Unreadable, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_of_a_folder_what_cannot_be_read_is_told_and_left_out(tmp_path):
    (tmp_path / "good.log").write_text("fine\n")
    (tmp_path / "bad.log").write_bytes(bytes(range(32)) * 300)
    told = []
    assert [log.name for log in read_all([str(tmp_path)], FIND, told.append)] == ["good.log"]
    assert len(told) == 1
    assert "bad.log: a binary file, not a log; left out" in told[0]
