"""What happens to a log on its way to us does not change what it says."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor import explain
from gpudoctor.model import Role, Severity
from gpudoctor.registry import Registry

RECORDED = {
    path.stem: path.read_text() for path in sorted((Path(__file__).parent / "recorded").glob("*.txt"))
}
"""What the reproductions really printed."""

TRACE = """\
Traceback (most recent call last):
  File "/home/user/train.py", line 12, in <module>
    main()
  File "/home/user/train.py", line 9, in main
    loss.backward()
"""
SEVERITIES = {check.id: check.severity for check in Registry.of(()).checks()}
CAUSES = {
    "cuda-oom": TRACE
    + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity "
    "of 79.15 GiB of which 1.19 GiB is free. Including non-PyTorch memory, this process has 77.95 GiB memory in use.",
    "device-mismatch": TRACE
    + "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
    "cuda:0 and cpu!",
    "ddp-unused-parameters": TRACE
    + "RuntimeError: Expected to have finished reduction in the prior iteration before "
    "starting a new one. This error indicates that your module has parameters that were not used in producing loss.",
    "unrecognised-error": TRACE + "KeyError: 'labels'",
}
ECHO = (
    "[E ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=811, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


def rank(text, random_):
    number = random_.randrange(64)
    style = random_.choice(["[rank{0}]: ", "[default{0}]:", "[1,{0}]<stderr>:", "[rank: {0}] "])
    return "\n".join(style.format(number) + line for line in text.split("\n"))


def colour(text, random_):
    return "\n".join(
        f"\x1b[{random_.randrange(31, 37)}m{line}\x1b[0m" if random_.random() < 0.5 else line
        for line in text.split("\n")
    )


def crlf(text, random_):
    return text.replace("\n", "\r\n")


def quote(text, random_):
    return (
        "```\n" + text + "\n```"
        if random_.random() < 0.5
        else "\n".join("> " + line for line in text.split("\n"))
    )


def stamp(text, random_):
    style = random_.choice(
        ["2026-03-04T05:{:02d}:{:02d}.123456Z ", "[2026-03-04 05:{:02d}:{:02d},123] ", "05:{:02d}:{:02d} "]
    )
    return "\n".join(style.format(n // 60 % 60, n % 60) + line for n, line in enumerate(text.split("\n")))


def wrap(text, random_):
    return "\n".join(line[i : i + 80] for line in text.split("\n") for i in range(0, max(len(line), 1), 80))


def html(text, random_):
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def noise(text, random_):
    lines = text.split("\n")
    for _ in range(3):
        at = random_.choice([0, len(lines)])
        lines.insert(
            at,
            random_.choice(
                [
                    "  3%|#   | 12/400 [00:03<01:40, 3.9it/s]",
                    "",
                    "wandb: Synced 5 files",
                    "NCCL version 2.27.5+cuda12.9",
                ]
            ),
        )
    return "\n".join(lines)


MUTATIONS = [rank, colour, crlf, quote, stamp, wrap, html, noise]


def told(report, id):
    """Whether a report names a failure: as the cause, or beside it where it ends no rank and an assertion did."""
    if SEVERITIES.get(id, Severity.ERROR) is Severity.ERROR:
        return report.verdict.primary == id
    return id in {finding.id for finding in report.findings}


@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("id", [*RECORDED, *CAUSES])
def test_one_mutation_keeps_the_finding(id, mutate):
    text = RECORDED.get(id) or CAUSES[id]
    assert told(explain(mutate(text, random.Random(1))), id)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([*RECORDED, *CAUSES]),
    # Wrapping comes first: a terminal wraps, then a tracker quotes; the other way round nobody could read it.
    st.lists(st.sampled_from([rank, stamp, colour, noise, quote, crlf]), max_size=3, unique=True),
    st.integers(0, 1000),
)
def test_several_mutations_keep_the_finding(id, mutations, seed):
    text = RECORDED.get(id) or CAUSES[id]
    for mutate in mutations:
        text = mutate(text, random.Random(seed))
    assert told(explain(text), id)


@st.composite
def jobs(draw):
    """A job of several ranks: one fails, the others notice; their lines shuffled together as a terminal shows them."""
    id, count = draw(st.sampled_from(sorted(CAUSES))), draw(st.integers(2, 16))
    guilty = draw(st.integers(0, count - 1))
    streams = []
    for number in range(count):
        lines = [f"step {n} loss 0.{n}" for n in range(draw(st.integers(0, 6)))]
        lines += (CAUSES[id] if number == guilty else ECHO.format(number)).split("\n")
        keep = [line for line in lines if not line.startswith("step") or draw(st.booleans())]
        streams.append([f"[rank{number}]: {line}" for line in keep])
    order = [number for number, stream in enumerate(streams) for _ in stream]
    shuffled = (
        draw(st.permutations(order))
        if len(order) < 60
        else random.Random(draw(st.integers())).sample(order, len(order))
    )
    rows = [streams[number].pop(0) for number in shuffled]
    return id, guilty, "\n".join(rows)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(jobs())
def test_the_one_rank_that_failed_is_found_among_many(job):
    id, guilty, text = job
    report = explain(text)
    causes = [finding for finding in report.findings if finding.role is Role.CAUSE]
    assert [finding.id for finding in causes] == [id]
    assert causes[0].evidence[0].rank == guilty


def test_a_path_that_a_terminal_broke_is_found_near_a_symptom():
    lines = [
        "Downloading https://a.example/train-images-idx3-ubyte.gz to data/MNIST/raw/train-images-idx3-ubyte.gz",
        'Traceback (most recent call last):\n  File "/home/user/miniconda3/envs/old/lib/python3.8/site-packages/torch/multip'
        'rocessing/spawn.py", line 59, in _wrap\n    fn(i, *args)  # ' + "x" * 80,
        "RuntimeError: File not found or corrupted.",
    ]
    text = "\n".join(lines)
    wide = "\n".join(row[i : i + 80] for row in text.split("\n") for i in range(0, len(row), 80))
    for each in (text, wide):
        assert explain(each).verdict.primary == "dataset-download-race"


OTHER_DIED = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/ana/projects/segmentation/training/fit_on_two_nodes.py", line 88, in <module>
[rank0]:     dist.all_reduce(total_of_all_the_losses_of_this_step_on_this_rank)
[rank0]:   File "/opt/env/lib/python3.12/site-packages/torch/distributed/c10d_logger.py", line 83, in wrapper
[rank0]:     return func(*args, **kwargs)
[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] Read error [10.0.0.8]:4021: Connection reset by peer. This is typically caused by a remote worker crashing.
W1004 08:00:01.000000 70 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 71 closing signal SIGTERM
E1004 08:00:02.000000 70 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: 1 (pid: 72) of binary: /opt/env/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
Root Cause (first observed failure):
[0]:
  time      : 2026-10-04_08:00:01
  host      : n1
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 72)
  error_file: <N/A>
"""
WAYS = {
    "as it is": lambda line: [line],
    "80 columns": lambda line: [line[at : at + 80] for at in range(0, max(len(line), 1), 80)],
    "srun --label": lambda line: [f"0: {line}"],
    "a container's time": lambda line: [f"2026-10-04T08:00:00.120000Z {line}"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("code", "cause"), [("3", "child-failed"), ("-14", "child-failed"), ("-11", "child-segfault")]
)
def test_the_rank_that_died_is_the_cause_however_its_launchers_lines_come(way, code, cause):
    rows = OTHER_DIED.replace("{code}", code).splitlines()
    report = explain("\n".join(piece for row in rows for piece in WAYS[way](row)))
    assert report.verdict.primary == cause


def test_a_blank_at_which_a_terminal_cut_a_line_stays():
    message = "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [8, 12]], which is output 0 of "
    text = TRACE + message + "TanhBackward0, is at version 2; expected version 1 instead."
    width = len(message) // 2
    assert message[2 * width - 1] == " "
    assert len(message) == 2 * width
    pieces = [row[at : at + width] for row in text.splitlines() for at in range(0, len(row), width)]
    [finding] = explain("\n".join(pieces)).findings
    assert finding.id == "inplace-gradient"
    assert "the output of TanhBackward0" in finding.message
