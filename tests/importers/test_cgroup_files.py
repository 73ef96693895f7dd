"""Counters and the limit of a control group, as cat prints them."""

EVENTS = "$ cat /sys/fs/cgroup/memory.events\nlow 0\nhigh 0\nmax 41\noom 2\noom_kill 2\noom_group_kill 0\n"


def test_counters_and_limit(facts_of):
    group = facts_of(EVENTS + "$ cat /sys/fs/cgroup/memory.max\n8589934592\n")["host"].cgroup
    assert (group.oom_kills, group.memory_max_bytes) == (2, 8 << 30)


def test_without_a_limit(facts_of):
    group = facts_of(EVENTS + "$ cat /sys/fs/cgroup/memory.max\nmax\n")["host"].cgroup
    assert group.memory_max_bytes is None


def test_a_lone_word_is_none(facts_of):
    told = facts_of("oom_kill 2\nRANK=0\nWORLD_SIZE=1\nCUDA_VISIBLE_DEVICES=0\n")
    assert "host" not in told
