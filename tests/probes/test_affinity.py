"""The processors of this process, and NUMA nodes laid out as sysfs lays them out."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Affinity, cpus_in
from gpudoctor.probes.affinity import probe
from gpudoctor.snapshot import Snapshot


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


STAT = "cpu  1 2 3\n" + "".join(f"cpu{n} 1 2 3\n" for n in range(4)) + "intr 5\n"


def test_nodes_and_memory(tmp_path: Path) -> None:
    write(
        tmp_path,
        sys__devices__system__node__node0__cpulist="0-1\n",
        sys__devices__system__node__node1__cpulist="2-3\n",
        sys__devices__system__node__node2__cpulist="\n",  # memory without processors
        sys__devices__system__cpu__online="0-3\n",
        proc__stat=STAT,
        proc__self__status="Name:\tpython\nMems_allowed:\t3\nMems_allowed_list:\t0-1\n",
    )
    facts = probe(tmp_path)
    assert facts.nodes == {"0": "0-1", "1": "2-3"}
    assert (facts.online, facts.memory_nodes) == ([0, 1, 2, 3], [0, 1])
    assert facts.node_of({3}) == ["1"]


def test_places_that_contradict_each_other_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path, sys__devices__system__cpu__online="0-127\n", proc__stat=STAT)
    assert probe(tmp_path).online == []


def test_nothing_at_all(tmp_path: Path) -> None:
    facts = probe(tmp_path)
    assert (facts.online, facts.memory_nodes, facts.nodes, facts.bound) == ([], [], {}, None)


def test_a_training_started_beside_it_shares_the_binding(ask: Callable[..., Snapshot]) -> None:
    own = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(own)})
        facts = ask("affinity").get(Affinity)
    finally:
        os.sched_setaffinity(0, own)
    assert facts is not None
    assert facts.cpus == [min(own)]
    assert facts.bound is (len(facts.online) > 1)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-2,8", {0, 1, 2, 8}), ("5", {5}), ("", set()), ("a-b,3", {3}), ("0-99999999", set()), ("3-1", set())],
)
def test_lists_as_the_kernel_writes_them(text: str, numbers: set[int]) -> None:
    assert cpus_in(text) == numbers
