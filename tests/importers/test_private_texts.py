"""What somebody pasted may be private: none of it leaves in a report that was made of it."""

import re

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.redact import private, redacted, sealed
from gpudoctor.registry import Registry
from gpudoctor.render.json import encode
from gpudoctor.render.markdown import ticket

PLANTED = [
    "gpu-a-12",
    "hpc.acme.example",
    "erika",
    "10.20.30.44",
    "fd12:3456:789a::44",
    "02:42:ac:11:00:02",
    "mustermann",
    "secret-project",
    "eyJhbGciOiJIUzI1NiJ9",
    "GPU-8f3a2b1c-1111-2222-3333-444455556666",
    "1650924012345",
]
TEXT = """\
### Versions

PyTorch version: 2.4.1+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.4 LTS (x86_64)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA A40
Nvidia driver version: 550.90.07

erika@gpu-a-12:~$ scontrol show node gpu-a-12
NodeName=gpu-a-12 Arch=x86_64 CoresPerSocket=64
   CPUAlloc=32 CPUTot=128 CPULoad=8.01
   NodeAddr=gpu-a-12.hpc.acme.example NodeHostName=gpu-a-12 Version=23.02.6
   OS=Linux 4.18.0-477.27.1.el8_8.x86_64 #1 SMP Thu Aug 31 10:29:22 EDT 2023
   RealMemory=1031518 AllocMem=256000

JobId=4711 JobName=secret-project
   UserId=erika(1000) GroupId=mustermann(1000) Account=mustermann
   NodeList=gpu-a-12 NumNodes=1 NumTasks=4

MASTER_ADDR=gpu-a-12.hpc.acme.example
MASTER_PORT=29500
LD_LIBRARY_PATH=/home/erika/secret-project/lib:/usr/local/cuda/lib64
SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.x.y
USER=erika

1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default
    inet 127.0.0.1/8 scope host lo
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff
    inet 10.20.30.44/16 brd 10.20.255.255 scope global eth0
    inet6 fd12:3456:789a::44/64 scope global

GPU 0: NVIDIA A40 (UUID: GPU-8f3a2b1c-1111-2222-3333-444455556666)
\t Link 0: 25 GB/s
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA A40                     On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              62W / 300W |    9000MiB /  46068MiB |      0%      Default |
| Processes:                                                                              |
|    0   N/A  N/A     99120      C   /home/erika/secret-project/bin/python           9000MiB |
==============NVSMI LOG==============
GPU 00000000:07:00.0
    Product Name                          : NVIDIA A40
    Serial Number                         : 1650924012345
    Processes
        Process ID                        : 99120
            Type                          : C
            Name                          : /home/erika/secret-project/bin/python train.py
Nov 22 10:00:00 gpu-a-12 kernel: NVRM: Xid (PCI:0000:07:00): 31, pid=99120, name=python, Ch 00000008
gpu-a-12:1402:1402 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0
Filesystem      Size  Used Avail Use% Mounted on
gpu-a-12:/export/erika  1.8T  900G  800G  53% /home/erika
shm              64M  1.2M   63M   2% /dev/shm
"""


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_nothing_that_was_planted_leaves(form, read_text):
    registry = Registry()
    snapshot = read_text(TEXT).snapshot
    assert {"torch", "gpus", "host", "launch", "interfaces"} <= snapshot.facts.keys()
    report = diagnose(snapshot, registry.checks(registry.select((), ())))
    known = private(report)
    copy = redacted(report, known)
    text, _ = sealed(encode(copy) if form == "json" else ticket(copy), known)
    left = [planted for planted in PLANTED if re.search(rf"(?<![\w-]){re.escape(planted)}(?![\w-])", text)]
    assert left == []


def test_what_no_check_needs_is_not_even_read(read_text):
    facts = str(read_text(TEXT).snapshot.facts)
    for planted in ("mustermann", "1650924012345", "eyJhbGci", "02:42:ac", "JobName"):
        assert planted not in facts
