"""One command's output, pasted alone: read, or refused with one line that names what could be read."""

import pytest

from gpudoctor.facts import Gid, IbPort, Limit, NumaNode
from gpudoctor.fitness import fitness
from gpudoctor.importers import Unreadable
from gpudoctor.report import Status
from gpudoctor.snapshot import Snapshot

GUID = "946dae0300aabbcc"
GIDS = """\
DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_0  1       0       fe80:0000:0000:0000:966d:aeff:fe11:2233                 v1      eth0
mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a14:0305 10.20.3.5       v2      eth0
n_gids_found=2
"""


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        (
            "mlx5_0 port 1 ==> ens1np0 (Up)\nmlx5_1 port 1 ==> ens2np0 (Down)\n",
            {
                "mlx5_0": [IbPort(state="ACTIVE", link_layer="Ethernet")],
                "mlx5_1": [IbPort(state="DOWN", link_layer="Ethernet")],
            },
        ),
        # by `column -t`, and explained
        (
            "$ ibdev2netdev | column -t\nmlx5_9  port  1  ==>  ens1np0   (Up)    # ConnectX-6, storage\n",
            {"mlx5_9": [IbPort(state="ACTIVE", link_layer="Ethernet")]},
        ),
        # the interface of IPoIB may be down on a port that is up
        ("mlx5_0 port 1 ==> ib0 (Down)\n", {"mlx5_0": [IbPort(link_layer="InfiniBand")]}),
        (f"    device                 node GUID\n    ------   ----\n    mlx5_0   {GUID}\n", {"mlx5_0": []}),
        (
            GIDS,
            {
                "mlx5_0": [
                    IbPort(
                        gids=[
                            Gid(index=0, type="IB/RoCE v1", kind="link-local", interface="eth0"),
                            Gid(index=3, type="RoCE v2", kind="ipv4", interface="eth0"),
                        ]
                    )
                ]
            },
        ),
        ("$ ibv_devinfo\nNo IB devices found\n", {}),
    ],
)
def test_adapters(text, ports, facts_of):
    assert {device.name: device.ports for device in facts_of(text)["infiniband"].devices} == ports


BUS = "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n"


@pytest.mark.parametrize(
    ("text", "unlisted"),
    [
        ("# lsmod |grep nvidia\n# # rpm -q cuda-drivers\n", True),
        ("user@node1:~$ lsmod | grep -i nvidia\nuser@node1:~$ \n", True),
        ("$ lsmod | grep nvidia\nnvidia_uvm    1540096  0\n$ \n", None),
        ("$ lsmod | grep nvidia\n", None),  # cut off
        ("lsmod | grep nvidia\nshows nothing interesting\n", None),
    ],
)
def test_modules_that_lsmod_does_not_list(text, unlisted, facts_of):
    driver = facts_of(text + BUS).get("driver")
    assert (driver.unlisted if driver else None) is unlisted


OLD = """\
eth0      Link encap:Ethernet  HWaddr 02:42:ac:11:00:02
          inet addr:172.17.0.2  Bcast:172.17.255.255  Mask:255.255.0.0
          UP BROADCAST RUNNING MULTICAST  MTU:9000  Metric:1

lo        Link encap:Local Loopback
          inet addr:127.0.0.1  Mask:255.0.0.0
          UP LOOPBACK RUNNING  MTU:65536  Metric:1
"""
BRIEF = """\
lo               UNKNOWN        127.0.0.1/8 ::1/128
eth0             UP             172.17.0.2/16 fe80::42:acff:fe11:2/64
docker0          DOWN           172.18.0.1/16
"""


@pytest.mark.parametrize("text", [OLD, BRIEF])
def test_interfaces(text, facts_of):
    found = {one.name: one for one in facts_of(text)["interfaces"].all}
    assert (found["lo"].loopback, found["lo"].runs, found["lo"].addresses[0]) == (True, True, "127.0.0.1")
    assert (found["eth0"].runs, found["eth0"].kind) == (True, "ethernet")
    assert found["eth0"].addresses[0] == "172.17.0.2"
    assert found["eth0"].mtu == (9000 if text is OLD else None)
    assert "docker0" not in found or not found["docker0"].runs


def test_gpus_without_their_uuids(facts_of):
    [gpu] = facts_of("$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 4090\n")["gpus"].devices
    assert gpu.name == "NVIDIA GeForce RTX 4090"


@pytest.mark.parametrize("text", ["NCCL_P2P_DISABLE=1\n", "NCCL_IB_DISABLE=1\nNCCL_P2P_DISABLE=1\n"])
def test_variables_and_nothing_else(text, facts_of):
    assert facts_of(text)["launch"].variables["NCCL_P2P_DISABLE"] == "1"


def test_a_short_freeze(facts_of):
    text = "$ pip freeze\nnumpy==1.26.3\ntorch==2.3.1\ntriton==2.3.1\nmine @ file:///tmp/mine\n"
    assert facts_of(text)["distributions"].get("torch").version == "2.3.1"
    with pytest.raises(Unreadable):  # pins of a file that somebody talks of
        facts_of("The requirements say\nnumpy==1.26.3\naccelerate==0.30.1\ntriton==2.3.1\nand it fails")


@pytest.mark.parametrize(
    ("build", "cuda"),
    [
        ("py3.10_cuda11.8_cudnn8.7.0_0", "11.8"),
        ("py3.10_cpu_0", None),
        ("cuda112py39h3ad47f5_100", "11.2"),
        ("cpu_generic_py310h2", None),
    ],
)
def test_what_conda_built_torch_for(build, cuda, facts_of):
    torch = facts_of(f"# Name   Version   Build  Channel\npytorch   2.0.1   {build}   pytorch\n")["torch"]
    assert (torch.version, torch.cuda, torch.named) == ("2.0.1", cuda, True)


def test_what_the_command_above_explains(facts_of):
    host = facts_of("$ ulimit -n\n256\n$ ulimit -l\nunlimited\n")["host"]
    assert host.limits == {"nofile": Limit(soft=256, hard=256), "memlock": Limit(soft=None, hard=None)}
    free = "$ free -g\n   total   used   free   shared   buff/cache   available\nMem:   503   21   398   1   83   479\n"
    assert facts_of(free)["host"].memory_bytes == 503 << 30


DF = """\
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda2       439G  439G     0 100% /
/dev/loop0       56M   56M     0 100% /snap/core18/2812
/dev/sdb1        11T   11T     0 100% /datasets
tmpfs           252G     0  252G   0% /tmp
"""


def test_disks_that_trainings_write_to(facts_of):
    folders = facts_of(DF)["storage"].folders
    assert [(f.path, f.total_bytes, f.free_bytes) for f in folders] == [
        ("/", 439 << 30, 0),
        ("/tmp", 252 << 30, 252 << 30),
    ]


NUMA = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8 9
node 0 size: 1024 MB
node 0 free: 512 MB
node 1 cpus: 4 5
"""


def test_memory_nodes(facts_of):
    assert facts_of(NUMA)["host"].numa.nodes == [
        NumaNode(node=0, cpus="0-3,8-9", memory_bytes=1 << 30, memory_free_bytes=512 << 20),
        NumaNode(node=1, cpus="4-5"),
    ]
    [node] = facts_of("CPU(s):      8\nNUMA node0 CPU(s):     0-7\n")["host"].numa.nodes
    assert node.cpus == "0-7"


def test_the_machine_of_a_container_engine(facts_of):
    text = "Storage Driver: overlay2\nKernel Version: 5.15.0-91-generic\nCPUs: 64\nTotal Memory: 503.5GiB\n"
    host = facts_of(text)["host"]
    assert (host.kernel, host.cpus, host.memory_bytes) == ("5.15.0-91-generic", 64, int(503.5 * (1 << 30)))
    assert host.container is None


KUBERNETES = """\
Name:               gpu-1
Capacity:
  cpu:                128
  nvidia.com/gpu:     8
Allocatable:
  nvidia.com/gpu:     7
Allocated resources:
  nvidia.com/gpu     4             4
"""
YAML = """\
    status:
      allocatable:
        cpu: "48"
        nvidia.com/gpu: "0"
      capacity:
        cpu: "48"
        nvidia.com/gpu: "16"
"""
JSON = """\
        "allocatable": {
            "nvidia.com/gpu": "0",
            "pods": "110"
        },
        "capacity": {
            "nvidia.com/gpu": "16"
        },
"""
POD = """\
Containers:
  trainer:
    Last State:     Terminated
      Reason:       OOMKilled
  sidecar:
    Last State:     Terminated
      Reason:       Completed
"""


def test_a_cluster(facts_of):
    [node] = facts_of(KUBERNETES)["kubernetes"].nodes
    assert (node.name, node.resource, node.capacity, node.allocatable) == ("gpu-1", "nvidia.com/gpu", 8, 7)
    for text in (YAML, JSON):
        [node] = facts_of(f"kubectl get node says\n{text}")["kubernetes"].nodes
        assert (node.name, node.capacity, node.allocatable) == ("", 16, 0)
    assert facts_of(POD)["kubernetes"].oom_killed == ["trainer"]


PLAN = """\
    package                    |            build
    cudatoolkit-10.2.89        |       h74a9793_1       317.2 MB  defaults
    pytorch-1.12.1             |      {build}       133.8 MB  pytorch
    torchvision-0.13.1         |         py38_cpu         6.2 MB  pytorch
"""


@pytest.mark.parametrize(
    ("text", "version", "cuda", "names"),
    [
        (PLAN.format(build="py3.8_cpu_0"), "1.12.1", None, {"cudatoolkit", "torch", "torchvision"}),
        (
            PLAN.format(build="py3.8_cuda11.3_cudnn8_0"),
            "1.12.1",
            "11.3",
            {"cudatoolkit", "torch", "torchvision"},
        ),
        (
            "`conda install pytorch cudatoolkit=11.3`, and the list has pytorch=1.9.0=py3.8_cpu_0\n",
            "1.9.0",
            None,
            {"cudatoolkit", "torch"},
        ),
        (
            "  pytorch            pytorch/linux-64::pytorch-2.0.1-py3.10_cuda11.8_cudnn8.7.0_0\n",
            "2.0.1",
            "11.8",
            {"torch"},
        ),
        ("  + pytorch   2.5.1  cpu_generic_py310h_1  conda-forge  27MB\n", "2.5.1", None, {"torch"}),
    ],
)
def test_what_conda_says_that_it_installs(text, version, cuda, names, facts_of):
    facts = facts_of(text)
    assert (facts["torch"].version, facts["torch"].cuda) == (version, cuda)
    assert {d.name for d in facts["distributions"].installed} == names


def test_of_two_builds_nobody_knows_which(facts_of):
    with pytest.raises(Unreadable):
        facts_of("pytorch=1.9.0=py3.8_cpu_0 or pytorch=1.9.0=py3.8_cuda11.1_cudnn8_0\n")


ROCM = "======= ROCm System Management Interface =======\n"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (ROCM + "GPU  Temp   AvgPwr\n0    33.0c  36.0W   300Mhz\n1    35.0c  38.0W   300Mhz\n", 2),
        (ROCM + "Device  Node  IDs\n0       2     0x74a1,   28851  38.0°C      140.0W\n", 1),
        (
            ROCM
            + "GPU[0]   : Card Series:   AMD Instinct MI210\nGPU[1]   : Card Series:   AMD Instinct MI210\n",
            2,
        ),
        ("| AMD-SMI 26.0.0   amdgpu version: 6.14.14 |\n| 0000:05:00.0 ...Instinct MI300X OAM | 0 % |\n", 1),
        ("$ amd-smi list\nGPU: 0\n    BDF: 0000:05:00.0\nGPU: 1\n    BDF: 0000:26:00.0\n", 2),
        ("HSA System Attributes\nAgent 1\n  Name:   AMD EPYC 9654\nAgent 2\n  Name:    gfx942\n", 1),
        (
            "05:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]\n",
            1,
        ),
    ],
)
def test_amd_gpus_are_counted_and_no_more(text, number, facts_of):
    facts = facts_of(text)
    assert (len(facts["pci"].amd), facts["pci"].nvidia) == (number, [])
    verdict = fitness(Snapshot(facts))
    assert verdict.status is Status.UNKNOWN
    assert "AMD GPU" in verdict.sentence
    assert "does not examine" in verdict.sentence


@pytest.mark.parametrize(
    ("text", "wsl"),
    [
        ("Linux version 5.15.153.1-microsoft-standard-WSL2 (root@1) #1\nMem:\n", True),
        ("- [X] WSL 2\n- [ ] WSL 1\nGPU 0: x\n", True),
        ("- [ ] WSL 2\nulimit -n\n1024\n", False),
        ("in WSL2 it works\nulimit -n\n1024\n", False),
        ("the GPU cannot be seen in WSL2\nulimit -n\n1024\n", True),
    ],
)
def test_a_text_from_wsl(text, wsl, facts_of):
    assert facts_of(text)["host"].wsl is wsl


SECTION = (
    "Remapped Rows\n    Pending                           : Yes\n    Remapping Failure Occurred        : No\n"
)


def test_a_section_of_one_gpu_nobody_knows_which(facts_of):
    [gpu] = facts_of(SECTION)["gpus"].devices
    assert (gpu.place, gpu.short) == ("a GPU (the text does not show which)", "the GPU")
    two = "GPU 0: NVIDIA A100 (UUID: GPU-1)\n"
    [only] = facts_of(two + SECTION)["gpus"].devices
    assert (only.place, only.remapped_rows.pending) == ("GPU 0", True)
    whole = f"NVSMI LOG\nDriver Version   : 550.90.07\nGPU 00000000:18:00.0\n{SECTION}"
    assert facts_of(whole)["gpus"].devices[0].place == "GPU 0 (0000:18:00.0)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Cuda compilation tools, release 12.3, V12.3.107\n", "nvcc --version tells which toolkit compiles"),
        ("==== ROCm System Management Interface ====\nno GPU\n", "rocm-smi shows AMD GPUs"),
        ("| AMD-SMI 25.4.2    amdgpu version: 6.12.12 |\n", "amd-smi shows AMD GPUs"),
        (
            "   JOBID PARTITION     NAME     USER ST\n   48211       gpu    train    alice  R\n",
            "squeue shows jobs",
        ),
        ("  total    used    free    shared  buff/cache\nMem:   503   21   398\n", "paste free -h"),
        (
            "NAME      READY   STATUS    RESTARTS   AGE\np-0       0/1     Pending   0          1m\n",
            "describe pod",
        ),
        ("hello", "neither a gpudoctor report nor collect_env output"),
    ],
)
def test_what_holds_no_facts_is_refused_in_one_line(text, told, facts_of):
    with pytest.raises(Unreadable) as refused:
        facts_of(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


LINKS = """\
lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP>
ens2f0           UP             b8:59:9f:00:00:01 <BROADCAST,MULTICAST,UP,LOWER_UP>
ens2f1           DOWN           b8:59:9f:00:00:02 <NO-CARRIER,BROADCAST,MULTICAST,UP>
"""


def test_links_without_addresses(facts_of):
    facts = facts_of(LINKS)
    assert "interfaces" not in facts
    assert {one.name: one.runs for one in facts["links"].all} == {"lo": True, "ens2f0": True, "ens2f1": False}


def test_the_matrix_of_nvlink_is_none_of_peer_access(facts_of):
    rows = " \tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n"
    [pair] = facts_of(f"$ nvidia-smi topo -p2p n\n{rows}")["gpus"].pairs
    assert (pair.p2p, pair.nvlink) == ("", False)
    assert "gpus" not in facts_of(f"$ nvidia-smi topo -p2p a\n{rows}NCCL_DEBUG=INFO\nRANK=0\nLOCAL_RANK=0\n")
    [pair] = facts_of(f"$ nvidia-smi topo -p2p r\n{rows}")["gpus"].pairs
    assert pair.p2p == "NS"


def test_ports_of_which_grep_left_a_part(facts_of):
    rows = "".join(
        f"CA 'mlx5_{n}'\n\t\tState: Active\n\t\tRate: {rate}\n" for n, rate in enumerate((400, 100))
    )
    ports = [device.ports[0] for device in facts_of(rows)["infiniband"].devices]
    assert [(port.state, port.rate_gbps) for port in ports] == [("ACTIVE", 400.0), ("ACTIVE", 100.0)]
