"""The head that NCCL prints: which interfaces it took."""

from gpudoctor.facts import NcclStart

DOCKER = "node1:98:98 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"


def test_the_interfaces_of_each_host(facts_of):
    text = (
        f"[rank0]: {DOCKER}"
        "node2:71:71 [1] NCCL INFO Bootstrap: Using eth0:10.0.0.4<0>\n"
        "node2:71:99 [1] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0> [1]eth1:10.1.0.4<0>\n"
    )
    assert facts_of(text)["nccl_start"] == NcclStart(
        taken={"node1": ["docker0:172.17.0.1"], "node2": ["eth0:10.0.0.4", "eth1:10.1.0.4"]}
    )


def test_an_old_one(facts_of):
    text = (
        "a:1:1 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>\n"
        "a:1:1 [0] NCCL INFO NET : Using interface eth1:10.0.0.3<0>\n"
        "b:1:1 [0] NCCL INFO Bootstrap : Using [0]ib0:fe80::1%ib0<0>\n"
    )
    taken = facts_of(text)["nccl_start"].taken
    assert taken == {"a": ["lo:127.0.0.1", "eth1:10.0.0.3"], "b": ["ib0:fe80::1%ib0"]}


def test_another_network_names_no_interface(facts_of):
    assert "nccl_start" not in facts_of("a:1:1 [0] NCCL INFO Using network IB\n")
    assert "nccl_start" not in facts_of(
        "a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.3<0>\n"
    )


def test_how_many_machines_the_command_is_for(facts_of):
    command = "$ python3 -m torch.distributed.launch --nnode=2 --node_rank=1 --nproc_per_node=1 train.py\n"
    assert facts_of(command + DOCKER)["nccl_start"].nodes == 2
    assert facts_of("add --nnodes=2 to it\n" + DOCKER)["nccl_start"].nodes is None


def test_before_it_wrote_its_name(facts_of):
    text = "a:1:1 [0] INFO NET : Using interface enp3s0:10.0.0.3<0>\nNCCL version 2.2.13+cuda9.0\n"
    assert facts_of(text)["nccl_start"].taken == {"a": ["enp3s0:10.0.0.3"]}


def test_a_list_that_somebody_set_out_in_lines(facts_of):
    text = "INFO NET/Socket : Using\n[0]bond0:10.0.0.3<0>\n[1]br-0a:172.19.0.1<0>\n\n[2]eth7:10.9.9.9<0>\n"
    assert facts_of("NCCL says\n" + text)["nccl_start"].taken == {"": ["bond0:10.0.0.3", "br-0a:172.19.0.1"]}
