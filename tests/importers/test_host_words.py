"""The size of /dev/shm and the limit on locked memory, as people write them and files of limits have them."""

import pytest

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("On this node /dev/shm has 377 GB and nearly all of it is free.", 377 * GIB),
        ("df says that /dev/shm is 63G with 1% used", 63 * GIB),
        ("It fails although I start the container with --shm-size=48g already.", 48 * GIB),
        ("We raised the shm size to 96GB and it still dies.", 96 * GIB),
        ("The pod has 16 GiB of shared memory", 16 * GIB),
        ("It turned out that /dev/shm is only 64M there", 64 << 20),
    ],
)
def test_shared_memory(text, size, facts_of):
    assert facts_of(text + "\n")["host"].shm_bytes == size


@pytest.mark.parametrize(
    "text",
    [
        "Please try --shm-size=8g.",
        "You need at least 8 GB of shared memory.",
        "With --shm-size=32g it works, without it I see the bus error.",
        "The process uses 12 GB in /dev/shm, 12 GB of shared memory is used",
        "NCCL could not make a segment of shared memory of 9637888 bytes",
        "/dev/shm was 64 MB. Then somebody mounted it, and /dev/shm has 128 GB",
    ],
)
def test_what_is_no_size_of_it(text, facts_of):
    told = facts_of(text + "\nCUDA_VISIBLE_DEVICES=0\nRANK=0\nWORLD_SIZE=1\n")
    assert "host" not in told or told["host"].shm_bytes is None


@pytest.mark.parametrize(
    ("text", "soft"),
    [
        ("Max locked memory         8388608              8388608              bytes", 8 << 20),
        ("Max locked memory         unlimited            unlimited            bytes", None),
        ("*    soft    memlock    65536", 64 << 20),
        ("@hpc - memlock unlimited", None),
        ("LimitMEMLOCK=64K", 64 << 10),
        ("LimitMEMLOCK=infinity", None),
        ("inside the step the memlock limit is 64 KB", 64 << 10),
        ("`ulimit -l` prints 65536 in the job", 64 << 20),
        ("ulimit -l: unlimited", None),
    ],
)
def test_locked_memory(text, soft, facts_of):
    assert facts_of(text + "\n")["host"].limits["memlock"].soft == soft


def test_other_limits_of_a_process(facts_of):
    text = "Max open files     1024     524288     files\nMax locked memory  64  64  bytes\n"
    assert facts_of(text)["host"].limits["nofile"].soft == 1024


def test_what_mount_shows(facts_of):
    mounted = "shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k)\n"
    assert facts_of(mounted)["host"].shm_bytes == 64 << 20
    whole = facts_of("tmpfs on /dev/shm type tmpfs (rw,nosuid,nodev,inode64)\nRANK=0\nWORLD_SIZE=1\nA=1\n")
    assert "host" not in whole


def test_what_docker_inspect_shows(facts_of):
    host = facts_of('    "ShmSize": 67108864,\n    "IpcMode": "private",\n')["host"]
    assert (host.container, host.shm_bytes) == ("docker", 64 << 20)
    shared = facts_of('"ShmSize": 67108864,\n"IpcMode": "host",\nRANK=0\nWORLD_SIZE=1\nA=1\n')
    assert "host" not in shared or shared["host"].shm_bytes is None
