"""Reproductions side by side: who may run beside whom, and that every one has its proof in the end."""

import os
import sys
import time

import pytest

from gpudoctor.code.examination import Examined
from gpudoctor.code.files import Chosen
from gpudoctor.code.workers import examined
from gpudoctor.fork import fork, may_fork
from gpudoctor.proving import proofs
from gpudoctor.proving.proofs import prove, scripts_of
from gpudoctor.proving.side_by_side import Company, company, proofs_side_by_side
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, ProofStatus

REGISTRY = Registry()
forks = pytest.mark.skipif(not may_fork(), reason="this process cannot be forked without harm")
several = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs two processors"
)


@pytest.mark.parametrize(
    ("id", "beside"),
    [
        ("matmul-shapes", Company.ANY),
        ("backward-twice", Company.ANY),  # torchrun --standalone takes a free port
        ("dp-small-batch", Company.ANY),  # on simulated GPUs
        ("cuda-oom", Company.NONE),
        ("port-in-use", Company.NOT_ITS_LIKE),
        ("torchrun-option-order", Company.NOT_ITS_LIKE),  # torchrun without --standalone: 29500
        ("pids-limit", Company.NOT_ITS_LIKE),
        ("slurm-gres", Company.NOT_ITS_LIKE),
        ("duplicate-hostname", Company.ANY),  # its port is of its own network
    ],
)
def test_what_shares_something_does_not_run_beside_its_like(id, beside):
    assert company(scripts_of(REGISTRY, id)) is beside


def proof_of(id):
    if id == "dies":
        os._exit(3)
    time.sleep(0.2)  # as long as another process needs to come for the next one
    return Proof(id=id, fixed=ProofStatus.PASSED, label=str(os.getpid()))


@forks
@several
def test_each_id_has_its_proof_from_one_of_several_processes():
    ids = [f"id-{number}" for number in range(7)]
    said = []
    found = proofs_side_by_side(ids, proof_of, lambda name: 1, 30.0, said.append)
    assert sorted(found) == ids
    workers = {proof.label for proof in found.values()}
    assert len(workers) >= 2
    assert str(os.getpid()) not in workers
    assert len(said) == len(ids)


@forks
@several
def test_what_a_process_that_died_leaves_is_left_to_the_caller():
    found = proofs_side_by_side(["dies", "a", "b"], proof_of, len, 30.0, lambda doing: None)
    assert sorted(found) == ["a", "b"]


@forks
@several
def test_all_proves_each_of_its_reproductions_once_and_in_order(monkeypatch):
    ids = ["rank-out-of-range", "proxy-in-the-way", "cuda-oom", "module-missing"]
    monkeypatch.setattr(proofs, "reproducible", lambda registry: ids)
    monkeypatch.setattr(proofs, "NEEDS", ())
    report = prove("all")
    assert [proof.id for proof in report.proofs] == ids
    held = {proof.id: proof.held for proof in report.proofs}
    assert held["proxy-in-the-way"]
    assert held["module-missing"]


@forks
def test_a_fork_has_the_descriptors_that_it_is_given_and_no_others():
    (kept, source), (lost, other) = os.pipe(), os.pipe()
    os.write(source, b"x")

    def tell():
        os.write(1, os.read(kept, 1))
        try:
            os.read(lost, 1)
        except OSError as error:
            os.write(1, error.strerror.encode())

    child = fork(tell, keep=(kept,))
    with child.stdout, child.stderr:
        assert child.stdout.read() == b"xBad file descriptor"
    while child.poll() is None:
        pass
    for end in (kept, source, lost, other):
        os.close(end)


@forks
@several
def test_what_meets_its_like_runs_one_after_the_other_beside_the_others():
    turns, others = ["t1", "t2", "t3"], ["a", "b", "c", "d"]
    found = proofs_side_by_side(others, proof_of, len, 30.0, lambda doing: None, turns)
    assert sorted(found) == sorted(turns + others)
    assert len({found[id].label for id in turns}) == 1
    assert found["t1"].label not in {found[id].label for id in others}


class Reader:
    """An examiner that tells in which process it was."""

    def file(self, path, content):
        return Examined(unread=[str(os.getpid())])


@forks
@several
def test_files_are_examined_in_other_processes(tmp_path):
    files = []
    for number in range(100):
        path = tmp_path / f"{number}.py"
        path.write_text("x = 1\n" * 2000)
        files.append(Chosen(path=path, name=path.name))
    found = examined(files, Reader(), {})
    assert str(os.getpid()) not in {process for one in found for process in one.unread}
