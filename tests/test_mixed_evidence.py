"""Machine, script, log and checkpoint together: which is the cause, and where each piece of evidence stands."""

import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import gpudoctor
from gpudoctor.facts import Run
from gpudoctor.logs.explain import explain_run
from gpudoctor.logs.own_source import scripts_of
from gpudoctor.render.json import encode
from gpudoctor.render.terminal import render
from gpudoctor.report import Report, Status

HERE = Path(__file__).parent
MACHINE = HERE / "machines/cpu-only/report.json"
GOOD = (HERE / "scripts/torchrun.py").read_text()


def changed(*changes: tuple[str, str]) -> str:
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


SCRIPTS = {
    "good": GOOD,
    "hangs": changed(
        ("        dist.all_reduce(mean)\n", ""),
        ("            print(epoch", "            dist.all_reduce(mean)\n            print(epoch"),
    ),
    "all save": changed(("    if rank == 0:\n        torch.save(model.m", "    torch.save(model.m")),
    "wrapped": changed(("model.module.state_dict()", "model.state_dict()")),
    "no epoch": changed(("        sampler.set_epoch(epoch)\n", "")),
    "one GPU": changed(
        ("    torch.cuda.set_device(local_rank)\n", ""),
        ("Net().to(local_rank)", "Net().cuda()"),
        ("DDP(model, device_ids=[local_rank])", "DDP(model)"),
        ("x.to(local_rank), target.to(local_rank)", "x.cuda(), target.cuda()"),
    ),
    "port": changed(
        (
            '_group("nccl")',
            '_group("nccl", "tcp://localhost:29500", world_size=2, rank=int(os.environ["RANK"]))',
        )
    ),
    "broken": "def main(:\n",
}
WATCHDOG = (
    "[rank0]:[E1122 10:30:00.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds "
    "before timing out.\n"
)
OOM = (
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
    "10.76 GiB of which 14.75 MiB is free.\n"
)


def traceback(path: str, line: int, text: str, error: str) -> str:
    return f'Traceback (most recent call last):\n  File "{path}", line {line}, in main\n    {text}\n{error}\n'


LOGS = {
    "well": "epoch 1 loss 0.5\nepoch 2 loss 0.4\ntraining finished\n",
    "middle": "".join(f"Epoch {n}/10 loss 0.{n}\n" for n in range(1, 4)),
    "time-out": WATCHDOG,
    "gloo time-out": "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv "
    "operation to complete\n",
    "peer closed": "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3121\n",
    "memory": OOM,
    "memory, then time-out": OOM + WATCHDOG,
    "one GPU": "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
    "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000\n",
    "damaged": "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory\n",
    "keys": traceback(
        "/home/me/evaluate.py",
        9,
        "model.load_state_dict(state)",
        "RuntimeError: Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "conv.weight", "fc.weight". \n'
        '\tUnexpected key(s) in state_dict: "module.conv.weight", "module.fc.weight". ',
    ),
    "port": "[rank0]: torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
    "address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    "bus error": "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that "
    "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n",
    "other program": traceback("/home/me/other.py", 3, "dist.barrier()", "RuntimeError: whatever") + WATCHDOG,
    "same line": traceback("train.py", 66, "dist.all_reduce(mean)", "RuntimeError: nobody knows this one"),
    "changed line": traceback("train.py", 66, "dist.barrier()", "RuntimeError: nobody knows this one"),
}


def safetensors(*keys: str) -> bytes:
    entries = {
        key: {"dtype": "F32", "shape": [1], "data_offsets": [4 * n, 4 * n + 4]} for n, key in enumerate(keys)
    }
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4 * len(keys))


CHECKPOINTS = {
    "bare": safetensors("conv.weight", "fc.weight"),
    "wrapped": safetensors("module.conv.weight", "module.fc.weight"),
    "damaged": (HERE / "checkpoint/fixtures/torch-2.15.0.zip.pt").read_bytes()[:700],
}


def machine(folder: Path, **facts: dict[str, Any]) -> str:
    """Save the report of a healthy machine with other facts."""
    report = json.loads(MACHINE.read_text())
    for topic, fields in facts.items():
        report["facts"][topic] |= fields
    path = folder / "machine.json"
    path.write_text(json.dumps(report))
    return str(path)


MACHINES: dict[str, dict[str, dict[str, Any]]] = {
    "well": {},
    "small shm": {"host": {"shm_bytes": 64 << 20, "shm_free_bytes": 64 << 20}},
    "port held": {
        "launch": {
            "variables": {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500", "RANK": "0", "WORLD_SIZE": "1"}
        },
        "sockets": {"listeners": [{"port": 29500, "address": "0.0.0.0", "pid": 7, "command": "python"}]},
    },
}


def examined(
    folder: Path, script: str = "", log: str = "", checkpoint: str = "", facts: str = "well"
) -> Report:
    """Examine files of the tables above beside a machine."""
    files = []
    for name, content in (
        ("train.py", SCRIPTS[script].encode() if script else b""),
        ("train.log", LOGS[log].encode() if log else b""),
        ("model.pt", CHECKPOINTS[checkpoint] if checkpoint else b""),
    ):
        if content:
            (folder / name).write_bytes(content)
            files.append(name)
    return gpudoctor.check(*files, source=machine(folder, **MACHINES[facts]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What is examined; the findings, worst first, each as severity, id and the places of its evidence. What a healthy
# machine says of itself (hostname-resolution, a note) is left out.
CASES: list[tuple[dict[str, str], list[str]]] = [
    # A script and a log: one fault is one finding, and the line of the script comes first.
    ({"script": "hangs", "log": "time-out"}, ["error collective-in-branch train.py:66 train.log:1"]),
    ({"script": "hangs", "log": "gloo time-out"}, ["error collective-in-branch train.py:66 train.log:1"]),
    ({"script": "hangs", "log": "peer closed"}, ["error collective-in-branch train.py:66 train.log:1"]),
    (
        {"script": "one GPU", "log": "one GPU"},
        [
            "error rank-device-unset train.py:49 train.log:2",
            "note barrier-device-unknown train.py:30",
            "note nccl-internal train.log:1",
        ],
    ),
    (
        {"script": "one GPU", "log": "memory"},
        ["error rank-device-unset train.py:49 train.log:1", "note barrier-device-unknown train.py:30"],
    ),
    ({"script": "all save", "log": "damaged"}, ["error checkpoint-all-ranks train.py:35 train.log:1"]),
    ({"script": "wrapped", "log": "keys"}, ["error state-dict-prefix train.py:36 train.log:5"]),
    ({"script": "port", "log": "port"}, ["error port-in-use train.py:47 train.log:1"]),
    # What the log shows has another cause: that comes first, for it did happen.
    (
        {"script": "hangs", "log": "memory"},
        ["error cuda-oom train.log:1", "error collective-in-branch train.py:66"],
    ),
    (
        {"script": "hangs", "log": "memory, then time-out"},
        [
            "error cuda-oom train.log:1",
            "error collective-in-branch train.py:66",
            "note nccl-timeout train.log:2",
        ],
    ),
    (
        {"script": "no epoch", "log": "time-out"},
        ["error nccl-timeout train.log:1", "warning sampler-set-epoch train.py:54"],
    ),
    # The log is another program's; the script stands on the line of the traceback; it was changed since.
    (
        {"script": "hangs", "log": "other program"},
        [
            "error unrecognised-error train.log:4",
            "error collective-in-branch train.py:66",
            "note nccl-timeout train.log:5",
        ],
    ),
    (
        {"script": "hangs", "log": "same line"},
        ["error unrecognised-error train.log:4 train.py:66", "error collective-in-branch train.py:66"],
    ),
    (
        {"script": "hangs", "log": "changed line"},
        ["error unrecognised-error train.log:4", "error collective-in-branch train.py:66"],
    ),
    # A healthy script beside a failing log, and a faulty one beside a log in which nothing failed.
    ({"script": "good", "log": "time-out"}, ["error nccl-timeout train.log:1"]),
    (
        {"script": "good", "log": "one GPU"},
        ["error nccl-duplicate-gpu train.log:2", "note nccl-internal train.log:1"],
    ),
    ({"script": "hangs", "log": "well"}, ["warning collective-in-branch train.py:66"]),
    ({"script": "hangs", "log": "middle"}, ["error collective-in-branch train.py:66"]),
    ({"script": "no epoch", "log": "well"}, ["warning sampler-set-epoch train.py:54"]),
    # A checkpoint beside what wrote it, and beside the log of what read it.
    ({"script": "wrapped", "checkpoint": "wrapped"}, ["warning state-dict-prefix train.py:36"]),
    ({"script": "wrapped", "checkpoint": "bare"}, ["warning state-dict-prefix train.py:36"]),
    ({"log": "keys", "checkpoint": "wrapped"}, ["error state-dict-prefix train.log:5"]),
    (
        {"script": "wrapped", "log": "keys", "checkpoint": "wrapped"},
        ["error state-dict-prefix train.py:36 train.log:5"],
    ),
    ({"log": "damaged", "checkpoint": "damaged"}, ["error checkpoint-corrupt train.log:1"]),
    ({"script": "good", "checkpoint": "damaged"}, ["error checkpoint-corrupt"]),
    (
        {"script": "all save", "log": "damaged", "checkpoint": "damaged"},
        ["error checkpoint-all-ranks train.py:35 train.log:1"],
    ),
    # Facts: the lower layer first, the same id once; what a log shows comes before what merely is so.
    ({"script": "hangs"}, ["error collective-in-branch train.py:66"]),
    ({"log": "bus error", "facts": "small shm"}, ["error shm-too-small train.log:1"]),
    ({"script": "port", "facts": "port held"}, ["error port-in-use train.py:47"]),
    ({"log": "port", "facts": "port held"}, ["error port-in-use train.log:1"]),
    ({"script": "port", "log": "port", "facts": "port held"}, ["error port-in-use train.py:47 train.log:1"]),
    (
        {"script": "hangs", "facts": "port held"},
        ["error port-in-use", "error collective-in-branch train.py:66"],
    ),
    (
        {"script": "hangs", "facts": "small shm"},
        ["error collective-in-branch train.py:66", "warning shm-too-small"],
    ),
    (
        {"script": "hangs", "log": "bus error", "facts": "small shm"},
        ["error shm-too-small train.log:1", "error collective-in-branch train.py:66"],
    ),
    (
        {"script": "hangs", "log": "time-out", "facts": "small shm"},
        ["error collective-in-branch train.py:66 train.log:1", "warning shm-too-small"],
    ),
    (
        {"script": "hangs", "log": "time-out", "checkpoint": "bare", "facts": "small shm"},
        ["error collective-in-branch train.py:66 train.log:1", "warning shm-too-small"],
    ),
    # Nothing is wrong anywhere.
    ({"script": "good", "log": "well", "checkpoint": "bare"}, []),
    ({"script": "good", "log": "middle"}, []),
]


def lines(report: Report) -> list[str]:
    return [
        " ".join([f.severity.value, f.id, *(e.where for e in f.evidence if e.where)])
        for f in report.findings
        if f.id not in ("hostname-resolution", "local-rank-as-rank")
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    CASES,
    ids=lambda value: ", ".join(value.values()) if isinstance(value, dict) else "",
)
def test_findings_of_mixed_evidence(folder: Path, given: dict[str, str], expected: list[str]) -> None:
    report = examined(folder, **given)
    assert lines(report) == expected
    worst = expected[0].split() if expected else ["note", ""]
    assert report.verdict.primary == (worst[1] if worst[0] != "note" else None)
    report.created = "2026-11-22T10:00:00Z"
    (folder / "saved.json").write_text(encode(report))
    again = gpudoctor.check("saved.json")
    assert (again.findings, again.verdict) == (report.findings, report.verdict)


SENTENCES = {
    ("hangs", "time-out", ""): "Most likely cause: collective-in-branch (rank 0), train.py:66.",
    ("hangs", "well", ""): (
        "Nothing failed in what this log shows; worth a look: collective-in-branch, train.py:66."
    ),
    ("good", "well", "bare"): (
        "Healthy for CPU training: torch 2.15.0+cu132, distributed over gloo; no NVIDIA GPU here. Nothing wrong: 2 "
        "tensors in 1 state dict. No failure shows in 3 lines. No known failure shows in train.py."
    ),
    ("good", "middle", ""): (
        "No failure shows in 3 lines, and the log ends in the middle, at epoch 3 of 10: it still runs, or was ended "
        "without a word."
    ),
}


@pytest.mark.parametrize("given", SENTENCES, ids=", ".join)
def test_the_verdict_speaks_of_all_of_it(folder: Path, given: tuple[str, str, str]) -> None:
    assert examined(folder, *given).verdict.sentence == SENTENCES[given]


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_read_and_is_no_health(folder: Path) -> None:
    report = examined(folder, script="broken", log="well")
    assert report.verdict.status is Status.UNKNOWN
    assert report.verdict.sentence.endswith("1 file could not be read.")
    script, log = report.facts["given"].files
    assert "train.py:1" in script.unread
    assert not log.unread
    with pytest.raises(gpudoctor.BadInput, match=r"train\.py|read as Python"):
        examined(folder, script="broken")


def test_the_fixes_are_those_of_the_cause_each_once(folder: Path) -> None:
    hang = examined(folder, script="hangs", log="time-out").findings[0]
    assert [fix.summary for fix in hang.fixes] == ["Make the call on every rank, and use its result on one"]
    (folder / "train.py").unlink()
    named = [fix.summary for fix in examined(folder, log="port", facts="port held").findings[0].fixes]
    finding = examined(folder, script="port", log="port", facts="port held").findings[0]
    said = [fix.summary for fix in finding.fixes]
    (alone,) = gpudoctor.lint(["train.py"], only=["port-in-use"]).findings
    assert said[: len(alone.fixes)] == [fix.summary for fix in alone.fixes]
    assert set(named) <= set(said)
    assert len(set(said)) == len(said)


def test_only_and_skip_hold_for_all_kinds_of_evidence(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPTS["hangs"])
    (folder / "train.log").write_text(LOGS["time-out"])
    source = machine(folder)
    skipped = gpudoctor.check("train.py", "train.log", source=source, skip=["collective-in-branch"])
    assert lines(skipped) == ["error nccl-timeout train.log:1"]
    assert skipped.findings[0].also == []
    assert gpudoctor.check("train.py", "train.log", source=source).findings[0].also == ["nccl-timeout"]
    alone = gpudoctor.check("train.py", "train.log", source=source, only=["collective-in-branch"])
    assert lines(alone) == ["warning collective-in-branch train.py:66"]


# explain: the scripts that a traceback names


def traced(folder: Path, script: str, line: int, error: str) -> Report:
    """Explain a log whose traceback names a line of a script that lies here."""
    text = SCRIPTS[script]
    (folder / "train.py").write_text(text)
    quoted = text.split("\n")[line - 1].strip()
    return gpudoctor.explain(traceback(str(folder / "train.py"), line, quoted, error))


TIMED_OUT = "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation to complete"


def test_explain_shows_the_line_of_the_script_that_a_traceback_names_first(folder: Path) -> None:
    (finding,) = traced(folder, "hangs", 66, TIMED_OUT).findings
    assert (finding.id, finding.also) == ("collective-in-branch", ["rank-desync"])
    assert [evidence.where for evidence in finding.evidence] == ["train.py:66", "log:4", None]
    assert finding.location is not None
    assert finding.location.line == 66


def test_the_terminal_names_the_file_of_a_cause_that_a_log_shows(folder: Path) -> None:
    out = io.StringIO()
    render(examined(folder, script="hangs", log="time-out"), Console(file=out, width=200))
    assert re.search(r"^train\.py:66:\d+: error  collective-in-branch ", out.getvalue(), re.M)


def test_explain_says_what_is_known_of_the_line_at_which_something_unknown_was_raised(folder: Path) -> None:
    (finding,) = traced(folder, "hangs", 66, "RuntimeError: nobody knows this one").findings
    assert finding.id == "unrecognised-error"
    assert finding.evidence[-1].where == "train.py:66"
    assert finding.evidence[-1].text.startswith("collective-in-branch: dist.all_reduce() is called under")


def test_explain_leaves_out_what_has_nothing_to_do_with_the_cause(folder: Path) -> None:
    (finding,) = traced(folder, "no epoch", 65, TIMED_OUT).findings
    assert finding.id == "rank-desync"


def test_a_script_that_was_changed_since_is_not_read(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPTS["hangs"].replace("import argparse\n", ""))
    text = traceback(str(folder / "train.py"), 66, "dist.all_reduce(mean)", TIMED_OUT)
    assert [finding.id for finding in gpudoctor.explain(text).findings] == ["rank-desync"]
    (folder / "train.py").unlink()
    (folder / "train.py").mkdir()  # nor what is no file
    assert [finding.id for finding in gpudoctor.explain(text).findings] == ["rank-desync"]


def test_how_the_ranks_are_started_the_log_alone_knows(tmp_path: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(
        "import torch.distributed as dist\nimport torch.multiprocessing as mp\n\n\ndef work(rank):\n"
        '    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29642", rank=rank, world_size=2)\n\n\n'
        'if __name__ == "__main__":\n    mp.spawn(work, nprocs=2)\n'
    )
    text = 'dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29642", rank=rank, world_size=2)'
    spawned = (
        "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 0 terminated with the following "
    )
    spawned += "error:\n"
    (finding,) = gpudoctor.explain(
        spawned + traceback(str(script), 6, text, LOGS["port"].removeprefix("[rank0]: "))
    ).findings
    assert finding.location is not None
    assert not any(
        "torchrun --standalone" in fix.command or fix.command == "python fit.py" for fix in finding.fixes
    )
    assert "mp.spawn" in finding.fixes[0].summary


# run: the scripts that the command runs


@pytest.mark.parametrize(
    "arguments",
    [
        ["torchrun", "--nproc-per-node=2", "train.py"],
        ["python", "-m", "jobs.train"],
        ["sh", "-c", "exec torchrun 'train.py' > log"],
    ],
)
def test_run_sets_the_script_of_the_command_beside_a_failure_without_a_traceback(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "jobs").mkdir()
    (folder / ("jobs/train.py" if "-m" in arguments else "train.py")).write_text(SCRIPTS["hangs"])
    run = Run(name=arguments[0], exit_code=1, seconds=600.0)
    (finding,) = explain_run(run, LOGS["time-out"], scripts=scripts_of(arguments)).findings
    assert (finding.id, finding.also) == ("collective-in-branch", ["nccl-timeout"])
    assert finding.location is not None
    assert finding.location.line == 66


def test_scripts_of_a_command_are_files_that_are_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("import torch\n")
    (folder / "folder.py").mkdir()
    named = [
        "torchrun",
        "train.py",
        "--config=train.py",
        "folder.py",
        "gone.py",
        "-m",
        "train",
        "train.pyc",
        "\0.py",
    ]
    assert scripts_of(named) == ["train.py"] * 3


def test_a_name_that_one_rank_alone_has_is_why_another_one_does_not_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fit.py").write_text(
        "import torch.distributed as dist\n\n\ndef main():\n    dist.init_process_group('gloo')\n"
        "    if dist.get_rank() == 0:\n        table = open('table.csv', 'w')\n    for step in range(9):\n"
        "        table.write(f'{step}')\n    dist.destroy_process_group()\n\n\nmain()\n"
    )
    log = (
        '[rank1]: Traceback (most recent call last):\n[rank1]:   File "{path}", line 9, in main\n'
        "[rank1]:     table.write(f'{{step}}')\n[rank1]: {error}\n"
    )
    missing = (
        "UnboundLocalError: cannot access local variable 'table' where it is not associated with a value"
    )
    (finding,) = gpudoctor.explain(log.format(path=tmp_path / "fit.py", error=missing)).findings
    assert (finding.id, finding.also) == ("rank-zero-only-name", [])
    assert "table" in finding.message
    other = gpudoctor.explain(
        log.format(path=tmp_path / "fit.py", error="OSError: [Errno 5] Input/output error")
    )
    assert other.findings[0].id != "rank-zero-only-name"
