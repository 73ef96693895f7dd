"""sinfo and scontrol show node, as Slurm 22.05 printed them with two nodes drained, one down and one that failed."""

from pathlib import Path

import pytest

from gpudoctor.facts import SlurmNode

PRINTED = (Path(__file__).parent / "texts/slurm_22_05.txt").read_text()
BLOCKS = {part.splitlines()[0]: part.partition("\n")[2] for part in PRINTED.split("$ ")[1:]}
COUNT = "gres/gpu count reported lower than configured (7 < 8)"


def nodes(text: str, facts_of) -> dict[str, SlurmNode]:
    return {node.name: node for node in facts_of(text)["slurm"].nodes}


def test_scontrol(facts_of):
    found = nodes(BLOCKS["scontrol show node"], facts_of)
    assert found["gpu01"] == SlurmNode(
        name="gpu01", state="UNKNOWN+DRAIN+NOT_RESPONDING", reason=COUNT, gpus=8
    )
    assert found["gpu01"].lacking == (7, 8)
    assert found["gpu02"].reason == "Xid 79 GPU 3 fell off the bus"
    assert {name for name, node in found.items() if not node.out} == {"node0"}
    assert found["cpu01"].gpus == 0


def test_scontrol_in_one_line_and_with_details(facts_of):
    assert nodes(BLOCKS["scontrol -o show node gpu01"], facts_of)["gpu01"].reason == COUNT
    assert nodes(BLOCKS["scontrol show node -d gpu01"], facts_of)["gpu01"].gpus_used == 0
    used = nodes(BLOCKS["scontrol -d show node node0"], facts_of)["node0"]
    assert (used.gpus, used.gpus_used, used.out, used.lacking) == (2, 1, False, None)


def test_the_table_of_partitions(facts_of):
    states = {name: node.state for name, node in nodes(BLOCKS["sinfo"], facts_of).items()}
    assert states == {
        **dict.fromkeys(["gpu01", "gpu03"], "drain"),
        **dict.fromkeys(["gpu04", "cpu01"], "unk"),
        "gpu02": "down",
        "gpu05": "fail",
        "node0": "mix",
    }


@pytest.mark.parametrize("command", ["sinfo -R", "sinfo -lR"])
def test_the_list_of_reasons(command, facts_of):
    found = nodes(BLOCKS[command], facts_of)
    assert {name: node.reason for name, node in found.items()} == {
        "gpu05": "NHC: check_ps_servic",
        "gpu01": "gres/gpu count repor",
        "gpu03": "Kill task failed",
        "gpu02": "Xid 79 GPU 3 fell of",
    }
    assert found["gpu02"].state == ("down" if command == "sinfo -lR" else "")


def test_lists_of_nodes(facts_of):
    assert nodes(BLOCKS["sinfo -N -l"], facts_of)["gpu01"].state == "drained"
    told = nodes(BLOCKS["sinfo -N -o %N %T %G %E"], facts_of)["gpu01"]
    assert (told.state, told.gpus, told.lacking) == ("drained*", 8, (7, 8))
    used = nodes(BLOCKS["sinfo -N -O NodeHost,StateCompact,Gres:40,GresUsed:40,Reason:60"], facts_of)
    assert (used["node0"].gpus_used, used["node0"].out, used["gpu05"].out) == (1, False, True)


def test_a_whole_session_is_one_cluster(facts_of):
    found = nodes(PRINTED, facts_of)
    assert len(found) == 7
    assert found["gpu01"].reason == COUNT


@pytest.mark.parametrize("state", ["idle~", "mix", "DOWN+POWERED_DOWN", "maint", "resv", "alloc"])
def test_a_state_that_is_meant_so(state):
    assert not SlurmNode(name="a", state=state).out


@pytest.mark.parametrize("state", ["idle*", "drng", "IDLE+DRAIN", "inval", "down$"])
def test_a_state_that_takes_no_job(state):
    assert SlurmNode(name="a", state=state).out


def test_rows_without_their_header(facts_of):
    found = nodes("4  maint c[005,011]\n2  down$ c[003,012]\n3  fail* c020\n", facts_of)
    assert {name for name, node in found.items() if node.out} == {"c003", "c012", "c020"}
    assert nodes("gpu*  up 1-00:00:00  2  drain gpu[01,03]\n", facts_of)["gpu03"].state == "drain"
    card = "GPU 0: NVIDIA L4 (UUID: GPU-1)\n"
    assert "slurm" not in facts_of(f"4 down wind\n{card}")  # prose
    assert "slurm" not in facts_of(f"drain 2 things\n1 idle thread\n{card}")


def test_the_controllers_own_log(facts_of):
    log = """\
slurmctld: error: Setting node gpu7 state to INVAL with reason:gres/gpu count reported lower than configured (7 < 8)
slurmctld: drain_nodes: node gpu7 state set to DRAIN
slurmctld: error: Nodes gpu[1-2] not responding, setting DOWN
slurmctld: update_node: node gpu3 reason set to: bad fan
slurmctld: update_node: node gpu3 state set to DRAINED
slurmctld: node gpu2 returned to service
"""
    found = nodes(log, facts_of)
    assert found["gpu7"].lacking == (7, 8)
    assert {name for name, node in found.items() if node.out} == {"gpu1", "gpu3", "gpu7"}
    assert found["gpu3"].reason == "bad fan"


def test_a_reason_below_an_empty_line(facts_of):
    text = (
        "NodeName=gpu9 Arch=x86_64\n   State=IDLE+DRAIN Weight=1\n   CurrentWatts=0 AveWatts=0\n   \n"
        f"   Reason={COUNT} [slurm@2024-12-19T11:03:34]\n"
    )
    assert nodes(text, facts_of)["gpu9"].lacking == (7, 8)
    apart = text.replace("Reason=", "so\n\nReason=")
    assert nodes(apart, facts_of)["gpu9"].reason == ""
