"""RDMA adapters and the limit on locked memory, as NCCL and UCX name them."""

USING = (
    "node1:77:91 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>\n"
)
LIMIT = "max locked memory       (kbytes, -l) 64\n"
REFUSED = (
    "[1700000000.1] [node1:99:0]  ib_log.c:246  UCX  ERROR mlx5_2: ibv_create_cq() failed: Cannot allocate memory. "
    "Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)\n"
)


def test_the_adapters_that_nccl_takes(facts_of):
    host = facts_of(USING + LIMIT)["host"]
    assert host.rdma == {"mlx5_0": "InfiniBand", "mlx5_1": "Ethernet"}
    assert host.limits["memlock"].soft == 64 << 10


def test_a_refusal_that_names_the_limit(facts_of):
    host = facts_of(REFUSED)["host"]
    assert (host.rdma, host.limits["memlock"].soft) == ({"mlx5_2": ""}, 64 << 10)


def test_without_the_limit_nothing_is_asked_of_it(facts_of):
    assert "host" not in facts_of(USING)
    assert facts_of(LIMIT)["host"].rdma == {}
    assert "host" not in facts_of(
        REFUSED.partition(" Please")[0] + "\nCUDA_VISIBLE_DEVICES=0\nRANK=0\nWORLD_SIZE=1\n"
    )


def test_what_perftest_says(facts_of):
    host = facts_of("Couldn't allocate MR\n failed to create mr\n$ ulimit -l\n64\n")["host"]
    assert (host.lock_refused, host.limits["memlock"].soft) == ("ibv_reg_mr", 64 << 10)


def test_adapters_and_networks_that_sentences_name(facts_of):
    said = "The memlock limit is 64 KB in the job. "
    assert facts_of(f"{said}We train over InfiniBand with mlx5_3.\n")["host"].rdma == {
        "mlx5_3": "InfiniBand",
        "an adapter": "InfiniBand",
    }
    assert facts_of(f"{said}The RoCE cards are new.\n")["host"].rdma == {"an adapter": "Ethernet"}
    assert facts_of(f"{said}No network is named here.\n")["host"].rdma == {}


def test_what_its_library_warns_of(facts_of):
    host = facts_of(
        "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.\nRANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\n"
    )["host"]
    assert (host.rdma, host.limits["memlock"].soft) == ({"an adapter": ""}, 32 << 10)
