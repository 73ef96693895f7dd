"""Files that cannot be read, or are no report: always one clear line."""

import io
import os
import sys

import pytest

from gpudoctor.importers import Unreadable, read
from gpudoctor.importers.source import LIMIT
from gpudoctor.report import Report
from tests.processor_time import within


def refusal(path, topics):
    with pytest.raises(Unreadable) as caught:
        read(str(path), topics)
    text = str(caught.value)
    assert text.isprintable(), text
    return text


def test_a_missing_file_says_so(tmp_path, topics):
    assert refusal(tmp_path / "none", topics) == f"{tmp_path}/none: cannot be read: No such file or directory"


def test_a_folder_says_so(tmp_path, topics):
    assert refusal(tmp_path, topics) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_without_permission_says_so(tmp_path, topics):
    path = tmp_path / "locked"
    path.write_text("{}")
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)  # root may read everything
        assert refusal(path, topics).endswith("cannot be read: Permission denied")
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "\ud800", "new\nline"])
def test_an_odd_path_gives_one_line(path, topics):
    assert "cannot be read" in refusal(path, topics)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "empty"),
        (b" \n\t\r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\x7fELF\x02\x01\x01\0\0", "a binary file"),
        (b"PyTorch version: 2.1\nOS: Linux\n\0", "a binary file"),
        (b"\x89PNG\r\n\x1a\n\xff", "neither a gpudoctor report nor collect_env output"),
        (b"hello", "neither a gpudoctor report nor collect_env output"),
        (b"[1, 2]", "neither a gpudoctor report nor collect_env output"),
        (b"OS: Linux\nPython version: 3.8\n", "neither a gpudoctor report nor collect_env output"),
        (b'{"schema": "gpudoctor.report/1", "version": "\xff"}', "not UTF-8 text at byte 45"),
    ],
)
def test_what_is_no_report_says_so(data, words, tmp_path, topics):
    path = tmp_path / "given"
    path.write_bytes(data)
    assert refusal(path, topics).startswith(f"{path}: {words}")


def test_a_gigabyte_is_refused_without_being_read(tmp_path, topics):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with within(0.5):  # to read it takes 3 s
        assert refusal(path, topics) == f"{path}: larger than 64 MiB: no report is"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_source_without_end_is_refused(topics):
    assert refusal("/dev/zero", topics) == "/dev/zero: larger than 64 MiB: no report is"


class Endless(io.RawIOBase):
    """Gives as much as is asked for, and keeps count."""

    given = 0

    def read(self, size=-1):
        assert size >= 0, "the whole of standard input was asked for"
        self.given += size
        return b"x" * size


def test_standard_input_is_read_up_to_the_limit(monkeypatch, topics):
    stream = Endless()
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stream}))
    assert refusal("-", topics) == "standard input: larger than 64 MiB: no report is"
    assert stream.given == LIMIT + 1


def test_standard_input_gives_a_report(monkeypatch, topics, load):
    buffer = io.BytesIO(load("torch_2019").encode())
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": buffer}))
    imported = read("-", topics)
    assert imported.report is None
    assert "torch" in imported.snapshot.facts


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_powershell_s_encodings_are_read(encoding, load, read_text):
    text = load("torch_2024")
    data = b"\xfe\xff" + text.encode(encoding) if encoding == "utf-16-be" else text.encode(encoding)
    assert read_text(data).snapshot.facts == read_text(text).snapshot.facts


def test_a_report_that_powershell_saved_is_read(read_text):
    assert read_text('{"schema": "gpudoctor.report/1"}'.encode("utf-16")).report == Report()
