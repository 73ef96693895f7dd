"""What tickets hold beside collect_env's output: lspci, dmesg, ip, df, ulimit, env, lists of packages."""

import pytest

from gpudoctor.facts import Cuda, Interface, Limit, PciDevice
from gpudoctor.importers import kernel_log
from gpudoctor.render.layers import layers

BLOCK = """\
PyTorch version: 2.4.1+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.4 LTS (x86_64)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA L4
Nvidia driver version: 550.90.07
"""
LSPCI = """\
00:1f.0 ISA bridge: Intel Corporation C621 Series Chipset LPC/eSPI Controller (rev 09)
03:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 41)
3b:00.0 3D controller [0302]: NVIDIA Corporation TU104GL [Tesla T4] [10de:1eb8] (rev a1)
\tSubsystem: NVIDIA Corporation TU104GL [Tesla T4] [10de:12a2]
\tNUMA node: 1
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
\tKernel driver in use: nvidia
\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia
0001:af:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev a1)
c1:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran [1002:740c] (rev 01)
"""


@pytest.mark.parametrize("carry", [str, lambda t: "\n".join("> " + line for line in t.split("\n"))])
def test_lspci(carry, facts_of):
    pci = facts_of(carry(LSPCI))["pci"]
    assert pci.nvidia == [
        PciDevice(
            address="0000:3b:00.0",
            device="0x1eb8",
            device_class="0x0302",
            driver="nvidia",
            link_width=8,
            link_width_max=16,
            link_speed="2.5 GT/s PCIe",
            link_speed_max="8.0 GT/s PCIe",
            numa_node=1,
        ),
        PciDevice(address="0001:af:00.0", device="0x1af1", device_class="0x0680"),
    ]
    assert (len(pci.gpus), len(pci.switches), pci.amd[0].device) == (1, 1, "0x740c")


def test_a_listing_without_numbers_and_drivers(facts_of):
    text = "\n".join(
        f"{bus}:00.{function} {kind}: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)"
        for bus in ("01", "41")
        for function, kind in enumerate(("VGA compatible controller", "Audio device"))
    )
    pci = facts_of(text)["pci"]
    assert [(d.address, d.driver) for d in pci.gpus] == [("0000:01:00.0", None), ("0000:41:00.0", None)]
    # What nvidia-smi shows, NVIDIA's driver holds.
    shown = "".join(f"GPU {n}: NVIDIA GeForce RTX 3090 (UUID: GPU-{n})\n" for n in range(2))
    both = facts_of(f"{text}\n{shown}")
    assert [d.driver for d in both["pci"].gpus] == ["nvidia", "nvidia"]


def test_the_kernel_s_log():
    log = kernel_log.read(
        [
            "[Sun Mar 29 19:20:37 2026] NVRM: Xid (PCI:0000:5f:00): 79, pid='<unknown>', name=<unknown>, GPU",
            "[ 9123.55] NVRM: Xid (PCI:0000:90:00): 48, pid=812231, name=python3, DBE (double bit error) detected",
            "[ 9124.00] NVRM: Xid (PCI:0000:90:00): 48, pid=812231, name=python3, DBE (double bit error) detected",
            "Nov 02 10:00:00 gpu-7.example kernel: NVRM: Xid (0000:04:00): 31, Ch 00000008, engmask 00000101",
            "[ 77.1] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
            "[ 78.1] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            "[ 90.0] Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB",
            "[ 91.0] INFO: task kworker/0:1:77 blocked for more than 120 seconds.",
            "[ 92.0] NVRM: GPU 0000:5f:00.0: RmInitAdapter failed! (0x22:0x56:762)",
            "[ 1.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07",
        ]
    )
    assert log is not None
    assert (log.events[0].pid, log.events[1].pid) == (None, 812231)
    told = [(e.kind, e.code, e.pci_address, e.process, e.fatal, e.count) for e in log.events]
    assert told == [
        ("xid", 79, "0000:5f:00.0", "", None, 1),
        ("xid", 48, "0000:90:00.0", "python3", None, 2),
        ("xid", 31, "0000:04:00.0", "", None, 1),
        ("sxid", 12028, "0000:c1:00.0", "", False, 1),
        ("sxid", 20034, "0000:c1:00.0", "", True, 1),
        ("oom-kill", None, "", "python", None, 1),
        ("hung-task", None, "", "kworker/0:1", None, 1),
        ("nvrm", None, "0000:5f:00.0", "", None, 1),
    ]
    assert "gpu-7" not in str(log)  # a machine's name is no part of the line
    assert log.events[1].seconds == 9124.0
    assert kernel_log.read(["[ 1.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module"]) is None


def test_more_of_the_kernel_s_log():
    log = kernel_log.read(
        [
            "[ 12.0] NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No",
            "[ 13.0] python[4242]: segfault at 8 ip 00007f3a sp 00007ffd error 4 in libnccl.so.2[7f3a5c000000+1000000]",
            "[ 14.0] nvidia 0000:2b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
            "[ 15.0] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:99]",
            "[ 16.0] mlx5_core 0000:17:00.0: Detected insufficient power on the PCIe slot (27W).",
            "the server killed process 12 (python) and mlx5_core is loaded",
        ]
    )
    assert log is not None
    assert [(e.kind, e.code, e.pci_address, e.process, e.fatal) for e in log.events] == [
        ("xid", 94, "0000:01:00.0", "", None),
        ("segfault", None, "", "python", None),
        ("aer", None, "0000:2b:00.0", "", True),
        ("soft-lockup", None, "", "python3", None),
        ("mlx5", None, "0000:17:00.0", "", None),
    ]


IP = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
    inet6 ::1/128 scope host
2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff
    inet 10.20.3.4/16 brd 10.20.255.255 scope global eth0
4: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default
    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0
"""
IFCONFIG = """\
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9001
        inet 10.20.3.4  netmask 255.255.0.0  broadcast 10.20.255.255
        ether 02:42:ac:11:00:02  txqueuelen 1000  (Ethernet)
lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536
        inet 127.0.0.1  netmask 255.0.0.0
"""


def test_interfaces(facts_of):
    lo, eth0, docker0 = facts_of(IP)["interfaces"].all
    assert (lo.name, lo.loopback, lo.addresses) == ("lo", True, ["127.0.0.1", "::1"])
    assert eth0 == Interface(
        name="eth0",
        up=True,
        addresses=["10.20.3.4"],
        mtu=1500,
        index=2,
        running=True,
        operstate="up",
        kind="ethernet",
    )
    assert (docker0.up, docker0.running, docker0.virtual, docker0.kind) == (True, False, True, "bridge")
    eth0, lo = facts_of(IFCONFIG)["interfaces"].all
    assert (eth0.addresses, eth0.mtu, eth0.up, lo.loopback) == (["10.20.3.4"], 9001, True, True)


def test_an_excerpt_is_not_all_interfaces(facts_of):
    assert "interfaces" not in facts_of(BLOCK + IP[IP.index("2: eth0") :])


HOST = """\
Filesystem      Size  Used Avail Use% Mounted on
overlay         1.8T  900G  800G  53% /
shm              64M  1.5M   63M   3% /dev/shm
$ free -h
               total        used        free      shared  buff/cache   available
Mem:           503Gi        41Gi       220Gi       1.2Gi       242Gi       457Gi
$ ulimit -a
max locked memory           (kbytes, -l) 64
open files                          (-n) 256
max user processes                  (-u) unlimited
"""


def test_the_machine(facts_of):
    host = facts_of(HOST + BLOCK)["host"]
    assert (host.shm_bytes, host.shm_free_bytes, host.container) == (64 << 20, 63 << 20, "docker")
    assert (host.memory_bytes, host.memory_available_bytes) == (503 << 30, 457 << 30)
    assert host.limits["memlock"].soft == 64 << 10
    assert host.limits["nofile"].soft == 256
    assert host.limits["nproc"] == Limit()
    assert host.os == "Ubuntu 22.04.4 LTS"  # what collect_env says stays


def test_numbers_of_unknown_unit_are_left_alone(facts_of):
    text = HOST.replace("503Gi", "515412").replace("457Gi", "468000") + BLOCK
    assert facts_of(text)["host"].memory_bytes is None
    plain = "shm               65536     0     65536   0% /dev/shm\n"
    assert facts_of(plain + BLOCK)["host"].shm_bytes == 64 << 20  # df counts in KiB


def test_a_node_as_slurm_shows_it(facts_of):
    text = """NodeName=gpu-a-12 Arch=x86_64 CoresPerSocket=64
   CPUAlloc=32 CPUTot=128 CPULoad=8.01
   OS=Linux 4.18.0-477.27.1.el8_8.x86_64 #1 SMP Thu Aug 31 10:29:22 EDT 2023
   RealMemory=1031518 AllocMem=256000 FreeMem=700123 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=1

NodeName=gpu-a-13 Arch=x86_64
   CPUTot=64 RealMemory=1
"""
    host = facts_of(text)["host"]
    assert (host.cpus, host.memory_bytes, host.machine) == (128, 1031518 << 20, "x86_64")
    assert (host.kernel, host.system) == ("4.18.0-477.27.1.el8_8.x86_64", "Linux")
    assert "gpu-a-12" not in str(host)


def test_a_job_as_slurm_shows_it(facts_of):
    text = (
        "JobId=4711 JobName=train\n   UserId=erika(1000)\n   NumNodes=2 NumCPUs=64 NumTasks=8 CPUs/Task=8\n"
    )
    assert facts_of(text)["launch"].variables == {
        "SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "8",
    }  # fmt: skip


def test_variables_of_env_and_of_nccl(facts_of):
    text = """$ env
HOME=/home/erika
MASTER_ADDR=10.0.0.1
RANK=3
WANDB_API_KEY=0123456789
SLURM_JWT=eyJ.x.y

node7:1402:1402 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.
node7:1402:1402 [0] NCCL INFO ENV/Plugin: NCCL_DEBUG set by environment to INFO.
"""
    assert facts_of(text)["launch"].variables == {
        "MASTER_ADDR": "10.0.0.1", "NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0", "RANK": "3",
    }  # fmt: skip


def test_what_a_script_in_the_prose_sets_is_no_environment(facts_of):
    script = """I start it so:
export MASTER_ADDR=$(hostname)
export MASTER_PORT=29501
export WORLD_SIZE=2
RANK=0
NCCL_DEBUG=INFO torchrun train.py
"""
    assert "launch" not in facts_of(script + BLOCK)


@pytest.mark.parametrize(
    "text",
    [
        "Package            Version\n------------------ ------------\n{}",
        "$ uv pip list\nPackage    Version    Editable project location\n---------- ---------- -----\n{}",
        "# packages in environment at /opt/conda/envs/x:\n#\n# Name   Version   Build  Channel\n{}",
    ],
)
def test_lists_of_packages(text, facts_of):
    rows = "my-secret-project  0.1\nnumpy  1.26.4\npytorch  2.1.2  py3.10_cuda11.8\ntorchvision  0.18.0\n"
    if "conda" not in text:
        rows = rows.replace("pytorch  2.1.2", "torch    2.1.2")
    facts = facts_of(text.format(rows) + "\nand so on\nnumpy  9.9.9\n")
    assert [(d.name, d.version) for d in facts["distributions"].installed] == [
        ("numpy", "1.26.4"), ("torch", "2.1.2"), ("torchvision", "0.18.0"),
    ]  # fmt: skip
    assert facts["torchvision"].torch_version == "2.1.2"


def test_a_few_pins_are_no_list(facts_of):
    assert "distributions" not in facts_of(f"requirements:\ntorch==2.0.1\ntorchvision==0.16.0\n\n{BLOCK}")


WARNING = "/opt/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: {} (Triggered internally at x.cpp:108.)\n"


@pytest.mark.parametrize(
    "said, cuda",
    [
        (
            "CUDA unknown error - this may be due to an incorrectly set up environment",
            Cuda(init=999, stage="cuInit"),
        ),
        (
            "Unexpected error from cudaGetDeviceCount(). Did you … Error 802: system not",
            Cuda(init=802, stage="cuInit"),
        ),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", Cuda(init=3, stage="cuInit")),
        ("The NVIDIA driver on your system is too old (found version 11040).", Cuda(version="11.4")),
        ("Found no NVIDIA driver on your system.", None),
    ],
)
def test_what_the_driver_answered_as_torch_words_it(said, cuda, facts_of):
    assert facts_of(WARNING.format(said) + BLOCK).get("cuda") == cuda
    raised = facts_of(f"Traceback:\nRuntimeError: {said}\n\n{BLOCK}")
    assert (raised.get("cuda"), raised["torch"].cuda_error.message) == (cuda, said)
    works = BLOCK.replace("available: False", "available: True")
    assert "cuda" not in facts_of(f"Yesterday: RuntimeError: {said}\n\n{works}")


def test_a_driver_that_answers_is_loaded(facts_of, read_text):
    text = WARNING.format("CUDA unknown error - this may be due to …") + WITHOUT
    facts = facts_of(text)
    assert facts["cuda"].init == 999
    assert "driver" not in facts


def test_a_module_that_does_not_fit_its_library_is_loaded(facts_of):
    text = "Failed to initialize NVML: Driver/library version mismatch\n" + BLOCK.replace(
        "GPU 0: NVIDIA L4", "Could not collect"
    ).replace("550.90.07", "Could not collect")
    facts = facts_of(text)
    assert facts["gpus"].error_code == 18
    assert "driver" not in facts


WITHOUT = BLOCK.replace("GPU 0: NVIDIA L4", "Could not collect").replace("550.90.07", "Could not collect")


@pytest.mark.parametrize("block", ["", WITHOUT])
def test_a_module_that_is_not_loaded(block, facts_of):
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that\n"
    facts = facts_of(text + block)
    assert (facts["gpus"].error_code, facts["driver"].loaded) == (9, False)


OLD_GPU = """\
/opt/torch/cuda/__init__.py:187: UserWarning:
    Found GPU0 Tesla K80 which is of cuda capability 3.7.
    PyTorch no longer supports this GPU because it is too old.
    The minimum cuda capability supported by this library is 5.0.

"""
OLD_GPU_2025 = """\
/opt/torch/cuda/__init__.py:435: UserWarning:
    Found GPU0 Tesla K80 which is of compute capability (CC) 3.7.
    The following list shows the CCs this version of PyTorch was built for and the hardware CCs it supports:
    - 7.5 which supports hardware CC >=7.5,<8.0
    - 8.0 which supports hardware CC >=8.0,<9.0 except {8.7}
    Please follow the instructions at https://pytorch.org/get-started/locally/

"""


@pytest.mark.parametrize("warning, built", [(OLD_GPU, ["sm_50"]), (OLD_GPU_2025, ["sm_75", "sm_80"])])
def test_what_torch_was_built_for_by_its_warning(warning, built, facts_of):
    text = BLOCK.replace("available: False", "available: True").replace("NVIDIA L4", "Tesla K80")
    torch = facts_of(warning + text)["torch"]
    assert torch.arch_list == built
    assert [(d.name, d.capability) for d in torch.devices] == [("Tesla K80", "3.7")]


def test_a_layer_of_which_a_ticket_says_nothing_is_unknown(read_text):
    shown = {family: (state, text) for family, state, text in layers(read_text(BLOCK).snapshot, [])}
    assert shown["nccl"] == ("unknown", "which backends torch has is not known")


IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tNode GUID: 0xa088c20300000001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tPort GUID: 0xa088c20300000001
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
"""
IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:a088:c203:0000:0001
\tbase lid:\t 0x0
\tstate:\t\t 1: DOWN
\tphys state:\t 3: Disabled
\trate:\t\t 100 Gb/sec (4X EDR)
\tlink_layer:\t Ethernet
"""


def test_infiniband(facts_of):
    first, second = facts_of(IBSTAT)["infiniband"].devices
    assert (first.name, first.model, first.driver) == ("mlx5_0", "MT4129", "mlx5_core")
    (port,) = first.ports
    assert (port.number, port.state, port.phys_state) == (1, "ACTIVE", "LinkUp")
    assert (port.rate_gbps, port.link_layer) == (400.0, "InfiniBand")
    assert second.ports[0].state == "INIT"
    assert "0001" not in str(facts_of(IBSTAT)["infiniband"])
    (port,) = facts_of(IBSTATUS)["infiniband"].devices[0].ports
    assert (port.state, port.phys_state, port.rate_gbps) == ("DOWN", "Disabled", 100.0)
    assert port.link_layer == "Ethernet"
    (device,) = facts_of(IBSTAT.rpartition("MT4129\n")[2])["infiniband"].devices  # an excerpt
    assert (device.name, device.ports[0].state) == ("an adapter", "INIT")
    assert "infiniband" not in facts_of(BLOCK + "\tPort 1:\n\t\tState: Initializing\n")


def test_nccl_s_own_lines_show_its_level(facts_of):
    line = "ai:480850:480852 [0] NCCL INFO Bootstrap : Using eth0:162.30.2.40<0>"
    assert facts_of(line)["launch"].variables == {"NCCL_DEBUG": "INFO"}
    trace = f"{line}\nai:480850:480852 [0] NCCL INFO NCCL_DEBUG set by environment to TRACE."
    assert facts_of(trace)["launch"].variables == {"NCCL_DEBUG": "TRACE"}


def test_what_a_container_prints_stands_in_the_machine_s_journal(facts_of):
    said = 'level=error stdout="Failed to initialize NVML: Unknown Error"'
    facts = facts_of(f"May 24 19:01:23 hades docker[1915048]: {said}")
    assert (facts["host"].container, facts["gpus"].error_code) == ("docker", 999)
    assert "host" not in facts_of(f"May 24 19:01:23 hades exporter[77]: {said}")


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.183.01  Release Build",
        "[    9.1] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024",
    ],
)
def test_the_module_says_its_version(line, facts_of):
    assert facts_of(line)["driver"].version == "535.183.01"


@pytest.mark.parametrize(
    "text",
    [
        "WARNING 02-13 10:47:30 cuda.py:336] Detected different devices in the system: NVIDIA A10, Tesla T4. Please",
        "WARNING 02-13 10:47:30 Detected different devices in the system: NVIDIA A\n10, Tesla T4. Please\n make",
        "WARNING 02-13 10:47:30 Detected different devices in the system: NVIDIA A10, Tesla T4\nCollecting env",
        (
            "WARNING 02-13 10:47:30 cuda.py:336] Detected different devices in the system:\n"
            "WARNING 02-13 10:47:30 cuda.py:336] NVIDIA A10\n"
            "WARNING 02-13 10:47:30 cuda.py:336] Tesla T4\n"
            "WARNING 02-13 10:47:30 cuda.py:336] Please make sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID`"
        ),
    ],
)
def test_devices_that_vllm_calls_different(text, facts_of):
    assert [gpu.name for gpu in facts_of(text)["gpus"].devices] == ["NVIDIA A10", "Tesla T4"]


def test_the_banner_of_nvidia_s_images(facts_of):
    host = facts_of("NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be")["host"]
    assert (host.shm_bytes, host.container) == (64 << 20, "docker")


def test_a_table_of_processes_alone(facts_of):
    row = "|    1   N/A  N/A      4411      C   python                           3310MiB |"
    text = f"| Processes:                                                     |\n{row}\n"
    [gpu] = facts_of(text)["gpus"].devices
    assert (gpu.index, gpu.processes[0].pid, gpu.processes[0].memory_bytes) == (1, 4411, 3310 << 20)


def test_rows_that_a_terminal_filled_with_blanks(facts_of):
    filling = " " * 90
    text = BLOCK.replace("Driver version: ", "Driver ver" + filling + "sion: ".lower()).replace(
        "22.04.4 LTS", "22.04.4 L" + filling + "TS"
    )
    facts = facts_of(text.replace("\nIs CUDA", filling + "Is CUDA"))
    assert facts["driver"].version == "550.90.07"
    assert facts["host"].os == "Ubuntu 22.04.4 LTS"
    assert facts["torch"].cuda_available is False


DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tlink_layer:\t\tInfiniBand

hca_id:\tmlx5_1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_DOWN (1)
\t\t\tlink_layer:\t\tEthernet
"""


def test_ibv_devinfo(facts_of):
    first, second = facts_of(DEVINFO)["infiniband"].devices
    assert (first.name, first.ports[0].state, first.ports[0].link_layer) == ("mlx5_0", "ACTIVE", "InfiniBand")
    assert (second.name, second.ports[0].state, second.ports[0].link_layer) == ("mlx5_1", "DOWN", "Ethernet")


def test_adapters_and_a_limit_are_of_one_host(facts_of):
    host = facts_of(DEVINFO + "max locked memory           (kbytes, -l) 64\n")["host"]
    assert (host.rdma, host.limits["memlock"].soft) == ({"mlx5_0": "InfiniBand"}, 64 << 10)
    assert "host" not in facts_of(DEVINFO)


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("torch             2.6.0\ntorchvision       0.20.1\n", {"torch": "2.6.0", "torchvision": "0.20.1"}),
        ("torch==2.6.0\ntorchvision==0.20.1,\n", {"torch": "2.6.0", "torchvision": "0.20.1"}),
        ("- Pytorch version: 1.7.1\nCuda: 10.0\n", {"torch": "1.7.1"}),
        ("* torch 1.4.0+cu92\n* torchvision: `0.5.0`\n", {"torch": "1.4.0+cu92", "torchvision": "0.5.0"}),
        ("nvidia-nccl-cu12   2.21.5\ntorch    2.6.0\n", {"torch": "2.6.0", "nvidia-nccl-cu12": "2.21.5"}),
    ],
)  # fmt: skip
def test_versions_that_are_typed_or_filtered(text, versions, facts_of):
    assert {d.name: d.version for d in facts_of(text)["distributions"].installed} == versions


@pytest.mark.parametrize(
    "text", ["torch==2.0.1\n\ntorch==2.1.0\ntorchvision==0.16\n", "torchvision==0.16.0\n", "pip install torch 2.0\n"]
)  # fmt: skip
def test_versions_of_which_torch_is_not_told(text, facts_of):
    assert "distributions" not in facts_of(text + "CPU(s):   8\n")


@pytest.mark.parametrize(
    "prompt", ["$ ", "user@node1:~/work$ ", "(env) user@node1:~$ ", "[user@node1 work]$ "]
)
def test_what_stands_behind_a_prompt(prompt, facts_of):
    set_ = {"NCCL_SOCKET_IFNAME": "eno1"}
    assert facts_of(f"{prompt}export NCCL_SOCKET_IFNAME=eno1\n")["launch"].variables == set_
    assert facts_of(f"{prompt}env | grep NCCL\nNCCL_SOCKET_IFNAME=eno1\n")["launch"].variables == set_


def test_lscpu_alone(facts_of):
    host = facts_of(
        "Architecture:        x86_64\nCPU(s):              256\nModel name:          AMD EPYC 7763\n"
    )["host"]
    assert (host.machine, host.cpus, host.cpu_model) == ("x86_64", 256, "AMD EPYC 7763")


@pytest.mark.parametrize(
    ("last", "second"),
    [("NVIDIA H100 80GB", "NVIDIA H100 80GB HBM3"),
     ("NVIDIA H100 80GB\n\nNvidia driver version: 550.54.15", "NVIDIA H100 80GB")],
)  # fmt: skip
def test_a_name_that_the_end_of_the_text_cut_off(last, second, facts_of):
    text = "PyTorch version: 2.4.0+cu121\nIs CUDA available: True\n"
    text += "GPU models and configuration:\nGPU 0: NVIDIA H100 80GB HBM3\n"
    gpus = facts_of(f"{text}GPU 1: {last}")["gpus"]
    assert [gpu.name for gpu in gpus.devices] == ["NVIDIA H100 80GB HBM3", second]


def test_operators_that_did_not_load_beside_a_pair_that_belongs_together(facts_of):
    pair = "torch   1.4.0\ntorchvision   0.5.0\n"
    assert facts_of(pair)["torchvision"].operators_load is None
    vision = facts_of(pair + "RuntimeError: No such operator torchvision::nms\n")["torchvision"]
    assert (vision.operators_load, vision.operators_error) == (
        False,
        "RuntimeError: No such operator torchvision::nms",
    )


def test_a_collect_env_that_failed(facts_of):
    text = 'File "/home/u/.local/lib/python3.10/site-packages/torch/utils/collect_env.py", line 651, in <module>\n'
    assert facts_of(f"Traceback (most recent call last):\n  {text}")["python"].version == "3.10"


def test_a_torch_whose_library_does_not_load_is_not_missing(facts_of):
    block = "PyTorch version: N/A\nIs debug build: N/A\nCUDA used to build PyTorch: N/A\n"
    block += "OS: Ubuntu 20.04.6 LTS (aarch64)\n"
    assert facts_of(block)["torch"].error.type == "ModuleNotFoundError"
    words = "torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"
    torch = facts_of(
        f"# {words}\nI think that tensorflow-gpu has ruined my environment, or something else\n{block}"
    )["torch"]
    assert (torch.imported, torch.error.type, torch.error.message) == (False, "ImportError", words)


def test_links_without_addresses_do_not_say_that_there_are_none(facts_of):
    links = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n"
    assert "interfaces" not in facts_of(links + "CPU(s):   8\n")
    lo, eno1 = facts_of(links + "    inet 10.0.0.4/24 scope global eno1\n")["interfaces"].all
    assert (lo.addresses, eno1.addresses) == ([], ["10.0.0.4"])


BRIDGES = """\
00:01.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 04) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=16, subordinate=1f, sec-latency=0
\t\tACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
17:08.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
\t\tACSCap: SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+
\t\tACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
80:01.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port B (rev 04)
\tBus: primary=80, secondary=81, subordinate=81, sec-latency=0
\t\tACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
18:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
\tKernel driver in use: nvidia
19:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
\tKernel driver in use: nvidia
"""


def test_the_bridges_above_gpus(facts_of):
    pci = facts_of(BRIDGES)["pci"]
    first, second = pci.gpus
    assert first.above == ["0000:17:08.0", "0000:00:01.0"]
    assert second.above == ["0000:00:01.0"]
    assert {bridge.address: bridge.acs for bridge in pci.bridges} == {
        "0000:00:01.0": False,
        "0000:17:08.0": True,
    }
    assert "pci" not in facts_of(BRIDGES[: BRIDGES.index("18:00.0")] + "GPU 0: NVIDIA A100 (UUID: GPU-1)\n")
