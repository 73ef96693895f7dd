"""What stands in front of a line is taken off and understood; what a terminal would not show is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.logs.lines import by_process, plain, read_lines, read_text
from gpudoctor.logs.wrapping import joined

TEXT = "RuntimeError: it broke"


def one(text, name="train.log"):
    return read_lines([(7, text)], name)[0]


@pytest.mark.parametrize(
    ("raw", "rank", "host", "seconds"),
    [
        (TEXT, None, None, False),
        (f"[rank3]: {TEXT}", 3, None, False),
        (f"[default3]:{TEXT}", 3, None, False),
        (f"[rank: 3] {TEXT}", 3, None, False),
        (f"[Rank 12] {TEXT}", 12, None, False),
        (f"[1,3]<stderr>:{TEXT}", 3, None, False),
        (f"[1,mpirank:3,algo-2]<stderr>:{TEXT}", 3, "algo-2", False),
        (f"> {TEXT}", None, None, False),
        (f"> > [rank3]: {TEXT}", 3, None, False),
        (f"2026-03-04T05:06:07.123456Z {TEXT}", None, None, True),
        (f"2026-03-04T05:06:07.123456789Z stderr F [rank3]: {TEXT}", 3, None, True),
        (f"[2026-03-04 05:06:07,123] [ERROR] [engine.py:12:step] {TEXT}", None, None, True),
        (f"2026-03-04 05:06:07.123 | ERROR    | {TEXT}", None, None, True),
        (f"05:06:07 {TEXT}", None, None, True),
        (f"(RayTrainWorker pid=4711, ip=10.0.0.4) [rank3]: {TEXT}", 3, "10.0.0.4", False),
        (f"(pid=4711) {TEXT}", None, None, False),
        (f"(pid=4711, ip=10.0.0.4) {TEXT}", None, "10.0.0.4", False),
        (f"(Worker_PP1_TP0 pid=4711) ERROR 02-27 00:29:48 [executor.py:863] {TEXT}", None, None, True),
        (f"[pod/train-0/pytorch] {TEXT}", None, "train-0", False),
        (f"  | 2026-03-04T05:06:07.123Z | {TEXT}", None, None, True),
        (f"2026-03-04 05:06:07.123456: E tensorflow/xla/client.cc:88] {TEXT}", None, None, True),
        (f"trainer-1  | {TEXT}", None, "trainer-1", False),
        (f"[rank0]:[E504 22:44:08.389636235 ProcessGroupNCCL.cpp:1896] {TEXT}", 0, None, True),
        (f"E1120 00:16:41.369000 370001 torch/distributed/run.py:803] {TEXT}", None, None, True),
        (f"\x1b[31m[rank3]:\x1b[0m \x1b[1m{TEXT}\x1b[0m", 3, None, False),
        (f"INFO:root:{TEXT}", None, None, False),
        (f"2026-03-04 05:06:07,123 - my.trainer - ERROR - [rank3]: {TEXT}", 3, None, True),
        (f"[2026-03-04 05:06:07,123][my.trainer][ERROR] - {TEXT}", None, None, True),
        (f"ERROR 03-04 05:06:07 executor.py:863] {TEXT}", None, None, True),
        (f"2026-03-04 05:06:07 | INFO | fairseq_cli.train | {TEXT}", None, None, True),
        (f"2026-03-04 05:06:07.123 | ERROR    | __main__:<module>:12 - {TEXT}", None, None, True),
        (f"[NeMo W 2026-03-04 05:06:07 nemo_logging:349] {TEXT}", None, None, True),
        (f"[03/04 05:06:07 d2.engine.train_loop]: {TEXT}", None, None, True),
        (f"ERROR [03/04 05:06:07 d2.engine.train_loop]: {TEXT}", None, None, True),
        (f"[2026-03-04 05:06:07,123] [INFO] [axolotl.train.log:61] [PID:343] [RANK:3] {TEXT}", 3, None, True),
        (f"[gpu-7:3/8] 2026-03-04 05:06:07,123 (trainer:328) ERROR: {TEXT}", 3, None, True),
    ],
)
def test_prefixes_of_launchers_and_loggers(raw, rank, host, seconds):
    line = one(raw)
    assert line.text.removeprefix("root:") == TEXT
    assert (line.rank, line.host, line.seconds is not None) == (rank, host, seconds)
    assert line.where == "train.log:7"


def test_nccl_names_host_and_process_and_its_own_rank():
    line = one("node1:4775:4803 [0] init.cc:128 NCCL WARN Bootstrap : no socket interface found")
    assert (line.host, line.pid) == ("node1", "4775")
    assert "no socket interface" in line.text
    assert one("[E ProcessGroupNCCL.cpp:523] [Rank 2] Watchdog caught").rank == 2


def test_srun_labels_are_ranks_and_line_numbers_are_none():
    labelled = read_lines(list(enumerate(["0: a", "1: b", "0: c", "2: d", "1: e"], 1)), "x")
    assert [line.rank for line in labelled] == [0, 1, 0, 2, 1]
    numbered = read_lines(list(enumerate(["12: a", "13: b", "14: c", "15: d"], 1)), "x")
    assert [(line.rank, line.text) for line in numbered] == [
        (None, "a"),
        (None, "b"),
        (None, "c"),
        (None, "d"),
    ]


@pytest.mark.parametrize("form", ["[worker {}] ", "(gpu {}) ", "r{}> ", "[Rank {}/2]: "])
def test_what_a_launcher_of_ones_own_puts_in_front_is_a_rank(form):
    rows = [form.format(n) + text for n, text in ((0, "a"), (1, "b"), (0, "c"), (1, "[rank1]: d"))]
    read = read_lines(list(enumerate(rows, 1)), "x")
    assert [(line.rank, line.text) for line in read] == [(0, "a"), (1, "b"), (0, "c"), (1, "d")]


def test_the_name_that_docker_puts_in_front_of_a_service_is_its_host():
    rows = [(n, f"ml_train.{n % 2}.x8k2jd91kd0sz5w2m@node-3    | [rank{n % 2}]: step {n}") for n in range(6)]
    lines = read_lines(rows, "log")
    assert {line.host for line in lines} == {"ml_train.0", "ml_train.1"}
    assert [line.text for line in lines][:2] == ["step 0", "step 1"]


def test_the_first_column_of_a_table_is_no_host():
    lines = read_lines([(n, f"epoch{n} | loss {1 / (n + 1):.2f} | ok") for n in range(6)], "log")
    assert lines[3].text.startswith("epoch3 | ")


def test_what_is_counted_in_front_of_lines_is_no_rank():
    read = read_lines([(n, f"[worker {n}] started") for n in range(4)], "x")
    assert [line.rank for line in read] == [None] * 4


def test_times_are_in_order_across_midnight_and_years_of_no_matter():
    clocks = ["2026-03-04T23:59:59Z a", "2026-03-05 00:00:01 b", "E0305 00:00:02.5 12 x.py:1] c"]
    seconds = [one(clock).seconds for clock in clocks]
    assert seconds == sorted(seconds)
    assert seconds[2] - seconds[0] == 3.5


def test_a_progress_bar_hides_nothing_and_is_shown_once():
    raw = "  3%|#   | 1/40\r  4%|#   | 2/40\rRuntimeError: it broke\r  5%|#   | 3/40"
    assert [line.text for line in read_lines([(1, raw)], "x")] == [TEXT, "5%|#   | 3/40"]


def test_plain_shows_what_a_terminal_shows_at_last():
    assert plain("\x1b[31ma\x1b[0m\r\n 3%|# | 1\r 4%|# | 2\nb") == ["a", " 4%|# | 2", "b"]


def test_html_of_an_issue_tracker_is_undone():
    assert (
        one("Missing key(s) in state_dict: &quot;fc.weight&quot; &lt;x&gt;").text
        == 'Missing key(s) in state_dict: "fc.weight" <x>'
    )


def test_lines_of_one_process_belong_together():
    lines = read_lines(list(enumerate(["[rank0]: a", "[rank1]: b", "[rank0]: c", "d"], 1)), "x")
    assert [[x.text for x in group] for group in by_process(lines).values()] == [["a", "c"], ["b"], ["d"]]


def test_lines_cut_at_the_width_of_a_terminal_are_joined():
    text = "RuntimeError: " + "word " * 40 + "end"
    pieces = [text[i : i + 80] for i in range(0, len(text), 80)]
    lines = read_lines(list(enumerate(["short", *pieces, "after"], 1)), "x")
    assert any(row.line.full.startswith(text) and row.place == 1 for row in joined(lines))


def test_prefixes_are_taken_off_in_an_indented_block():
    block = "    [1,0]<stderr>:Missing ranks:\n\n    [1,0]<stderr>:  0: [allreduce.loss]"
    read = [(line.rank, line.indent, line.text) for line in read_text(block, "log") if line.text]
    assert read == [(0, 0, "Missing ranks:"), (0, 1, "0: [allreduce.loss]")]


def test_a_sentence_broken_between_words_is_joined():
    lines = read_lines(
        [(1, "one of the variables has been modified"), (2, "by an inplace operation: x")], "x"
    )
    assert [row.line.full for row in joined(lines)] == [
        "one of the variables has been modified by an inplace operation: x"
    ]


@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_text_can_be_read(rows):
    lines = read_lines(list(enumerate(rows, 1)), "x", rank=5)
    assert all(line.text in line.full for line in lines)
    assert all(1 <= line.number <= len(rows) for line in lines)
    list(joined(lines))


@pytest.mark.parametrize("place", [0, 3900, 3990, 12_345, 60_000, 3_000_000])
def test_a_message_anywhere_in_a_long_line_is_read_whole(place):
    rest = max(0, 3_050_000 - place) if place > 100_000 else 1000
    raw = "x" * place + TEXT + "y" * rest
    assert any(TEXT in line.full for line in read_lines([(7, raw)], "x"))


def test_quotes_that_a_forum_made_curly_are_straight_again():
    assert one("KeyError: ‘SLURM_PROCID’").text == "KeyError: 'SLURM_PROCID'"


def test_a_frame_that_was_cut_out_of_json_is_a_frame():
    assert one('  File \\"/opt/fit.py\\", line 9, in main').text == 'File "/opt/fit.py", line 9, in main'
    record = '{"log": "  File \\"/opt/fit.py\\", line 9"}'
    assert one(record).full == record


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("`ImportError: no module`", "ImportError: no module"),
        ("ends the code that began above`", "ends the code that began above`"),
        ("**RuntimeError: out of memory**", "RuntimeError: out of memory"),
        ("**`RuntimeError: out of memory`**", "RuntimeError: out of memory"),
        ("`a` and `b`", "`a` and `b`"),
        (
            "*** SIGSEGV received at time=1700000000 on cpu 3 ***",
            "*** SIGSEGV received at time=1700000000 on cpu 3 ***",
        ),
        ("```", "```"),
        ("****", "****"),
    ],
)
def test_the_marks_of_an_issue_tracker_around_a_line_are_taken_off(raw, text):
    assert read_text(raw, "")[0].full == text


def test_that_an_exception_ended_a_process_is_said_by_the_rank_that_the_exception_names():
    text = (
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception\n"
        "terminate called after throwing an instance of 'std::bad_alloc'\n"
        "step 4\n"
    )
    assert [line.rank for line in read_text(text, "x")][:4] == [3, 3, None, None]


def test_the_rank_that_a_process_names_itself_is_that_of_all_its_lines():
    """torchrun's --tee puts the local rank in front, on a second node another number than the rank."""
    text = (
        "[default0]:epoch 1 loss 0.3\n"
        "[default1]:epoch 1 loss 0.4\n"
        "[default0]:[rank8]: Traceback (most recent call last):\n"
        "[default0]:[rank8]: ValueError: no data\n"
        "[default1]:[rank9]: RuntimeError: Connection closed by peer\n"
    )
    assert [line.rank for line in read_text(text, "x") if line.text] == [8, 9, 8, 8, 9]


def test_a_prefix_that_several_ranks_share_keeps_its_number():
    text = "0: start\n1: start\n0: [rank0]: ValueError: x\n0: [rank1]: ValueError: x\n1: [rank2]: ValueError: x\n"
    assert [line.rank for line in read_text(text, "x") if line.text] == [0, 2, 0, 1, 2]


def test_slurms_own_lines_are_no_ranks():
    lines = read_text("[rank3]: srun: error: node1: task 3: Exited with exit code 1\n", "x")
    assert lines[0].rank is None
