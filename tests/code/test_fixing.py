"""What `lint --fix` changes, and what it leaves as it is."""

import ast
import errno
import os
import stat

import pytest

import gpudoctor
from gpudoctor import BadInput
from gpudoctor.code.fixing import write
from gpudoctor.code.linting import Linting

SET_EPOCH = """import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def train(data):
    sampler = DistributedSampler(data)   # every rank its part
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(3):
        for batch in loader:
            step(batch)
"""
LEAK = """import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    for epoch in range(3):
        dist.barrier()
    return 0

main()
"""
PARSER = """import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, required=True)
args = parser.parse_args()
dist.init_process_group("gloo")
dist.destroy_process_group()
"""
REDUCE_OP = """import torch.distributed as dist

def mean(x):
    dist.all_reduce(x, op=dist.reduce_op.SUM, group=0)
    return x
"""
SPAWN = """import torch.multiprocessing as mp

def worker(rank):
    print(rank)

# start
mp.spawn(worker, nprocs=2)
"""
SOFTMAX = """import torch.nn.functional as F

def predict(x):
    return F.log_softmax(
        x,
    ).exp()
"""
LOAD = """import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
state = torch.load("model.pt")
dist.destroy_process_group()
"""
PREFIX = """import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
dist.destroy_process_group()
"""
UNBOUND = """import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
model = DDP(nn.Linear(2, 2).cuda())
dist.destroy_process_group()
"""
CASES = {
    "sampler-set-epoch": (SET_EPOCH, False, "        sampler.set_epoch(epoch)\n        for batch in loader:"),
    "process-group-leak": (LEAK, False, "    dist.destroy_process_group()\n    return 0\n"),
    "launch-local-rank": (
        PARSER, False,
        'parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))\n',
    ),
    "deprecated-dist-api": (REDUCE_OP, False, "dist.all_reduce(x, op=dist.ReduceOp.SUM)\n"),
    "spawn-main-guard": (SPAWN, False, '# start\nif __name__ == "__main__":\n    mp.spawn(worker, nprocs=2)\n'),
    "implicit-softmax-dim": (SOFTMAX, True, "dim=1"),
    "checkpoint-device-map": (LOAD, True, 'torch.load("model.pt", map_location="cpu")\n'),
    "state-dict-prefix": (PREFIX, True, "torch.save(model.module.state_dict(), "),
    "rank-device-unset": (
        UNBOUND, True, 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\ndist.init_process_group("nccl")\n',
    ),
}  # fmt: skip


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "train.py"


def linting(id):
    return Linting(["train.py"], only=[id], keep=True)


@pytest.mark.parametrize("id", CASES)
def test_mended(script, id):
    text, unsafe, expected = CASES[id]
    script.write_text(text)
    assert linting(id).report.findings, "the snippet has the fault"
    if unsafe:
        assert list(linting(id).mended()) == [], "not without being asked for"
    [file] = linting(id).mended(unsafe=unsafe)
    write(file)
    changed = script.read_text()
    ast.parse(changed)
    assert expected in changed
    assert linting(id).report.findings == []
    assert list(linting(id).mended(unsafe=True)) == [], "a second run finds nothing to do"
    if "os." in changed:
        assert "import os\n" in changed


DEFAULTS = {
    '"--local_rank", type=int, default=-1': (
        '"--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1))'
    ),
    "'--local_rank', type=int": """'--local-rank', '--local_rank', type=int, default=os.environ.get("LOCAL_RANK")""",
    '\n    "--local_rank",\n    default=0,\n    type=int,\n': (
        '\n    "--local-rank",\n    "--local_rank",\n    default=int(os.environ.get("LOCAL_RANK", 0)),\n    type=int,\n'
    ),
}


@pytest.mark.parametrize("given", DEFAULTS)
def test_what_means_not_launched_stays(script, given):
    script.write_text(PARSER.replace('"--local_rank", type=int, required=True', given))
    [file] = linting("launch-local-rank").mended()
    assert f"parser.add_argument({DEFAULTS[given]})\n" in file.after.decode()


@pytest.mark.parametrize("id", CASES)
def test_the_diff_is_what_is_written(script, id):
    text, unsafe, _ = CASES[id]
    script.write_text(text)
    [file] = linting(id).mended(unsafe=unsafe)
    import subprocess

    (script.parent / "fix.patch").write_text(file.diff)
    subprocess.run(["git", "apply", "fix.patch"], check=True, cwd=script.parent)
    assert script.read_bytes() == file.after


@pytest.mark.parametrize(
    "change",
    [
        ("sampler = DistributedSampler(data)", "sampler = DistributedSampler(data) if data else None"),
        ("for epoch in range(3):", "for epoch, _ in enumerate(range(3)):"),
    ],
)
def test_left_where_it_is_not_plain(script, change):
    text = SET_EPOCH.replace(*change)
    assert text != SET_EPOCH
    script.write_text(text)
    assert list(linting("sampler-set-epoch").mended(unsafe=True)) == []


def test_what_a_comment_hides_stays(script):
    script.write_text(
        LEAK.replace('("gloo")', '("gloo")  # gpudoctor: ignore[process-group-leak] the launcher does')
    )
    assert list(linting("process-group-leak").mended()) == []


def test_mend_writes_and_says_what_is_left(script):
    script.write_text(LEAK)
    shown = gpudoctor.mend(["train.py"], only=["process-group-leak"], write=False)
    assert script.read_text() == LEAK
    assert [finding.id for finding in shown.report.findings] == ["process-group-leak"]
    done = gpudoctor.mend(["train.py"], only=["process-group-leak"])
    assert [(file.name, file.mended) for file in done.files] == [("train.py", 1)]
    assert [file.diff for file in done.files] == [file.diff for file in shown.files]
    assert done.report.findings == []
    assert "destroy_process_group" in script.read_text()
    assert gpudoctor.mend(["train.py"]).files == []


def test_mend_leaves_a_file_that_cannot_be_written_and_says_so(script, monkeypatch):
    script.write_text(LEAK)
    said = []

    def full(*paths):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    done = gpudoctor.mend(["train.py"], only=["process-group-leak"], warn=said.append)
    assert said == ["train.py: cannot be written: No space left on device"]
    assert (len(done.report.findings), done.files, script.read_text()) == (1, [], LEAK)


def test_standard_input_is_not_mended():
    with pytest.raises(BadInput, match="standard input cannot be mended"):
        gpudoctor.mend(["-"])


def test_changed_meanwhile(script):
    script.write_text(LEAK)
    [file] = linting("process-group-leak").mended()
    script.write_text(LEAK + "# mine\n")
    with pytest.raises(BadInput, match=r"^train\.py: it has changed since it was read"):
        write(file)
    assert script.read_text() == LEAK + "# mine\n"
    assert os.listdir(script.parent) == ["train.py"]


def test_mode_and_link_stay(script):
    real = script.with_name("real.py")
    real.write_text(LEAK)
    real.chmod(0o750)
    script.symlink_to("real.py")
    [file] = linting("process-group-leak").mended()
    write(file)
    assert script.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert "destroy_process_group" in real.read_text()


@pytest.mark.parametrize("encoding, newline", [("utf-8-sig", "\n"), ("utf-8", "\r\n"), ("latin-1", "\n")])
def test_encoding_and_line_ends_stay(script, encoding, newline):
    text = LEAK.replace("main()\n", "main()  # ä\n")
    text = f"# coding: {encoding}\n{text}" if encoding == "latin-1" else text
    script.write_bytes(text.replace("\n", newline).encode(encoding))
    [file] = linting("process-group-leak").mended()
    expected = text.replace("    return 0", "    dist.destroy_process_group()\n    return 0")
    assert file.after == expected.replace("\n", newline).encode(encoding)


def test_without_libcst(script, monkeypatch):
    import sys

    from gpudoctor.code.fixing import refuse_without_libcst

    monkeypatch.setitem(sys.modules, "libcst", None)
    with pytest.raises(BadInput, match=r"python -m pip install 'gpudoctor\[fix\]'"):
        refuse_without_libcst()
