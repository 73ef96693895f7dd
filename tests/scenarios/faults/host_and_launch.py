"""The host: limits, memory, processors, processes, file systems; and who asks: torchrun, Slurm, Kubernetes."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import (
    Cgroup,
    Folder,
    GpuProcess,
    KernelEvent,
    KernelLog,
    Limit,
    Listener,
    Numa,
    NumaNode,
    Process,
    SharedSegment,
)
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, both, edit, gpu, put, variables
from tests.scenarios.machine import GIB

MIB = 1 << 20
TORCHRUN = dict.fromkeys(("GROUP_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_RUN_ID"))


def limit(name: str, soft: int | None, hard: int | None = None) -> Change:
    """Set a resource limit."""
    return edit("host", limits=lambda old: {**old, name: Limit(soft=soft, hard=hard)})


def group(**fields: Any) -> Change:
    """Change the control group."""
    return edit("host", cgroup=lambda old: replace(old or Cgroup(), **fields))


def folder(use: str, **fields: Any) -> Change:
    """Change one folder."""

    def change(old: list[Folder]) -> list[Folder]:
        return [replace(f, **fields) if f.use == use else f for f in old]

    return edit("storage", folders=change)


def mounted(path: str, kind: str, **fields: Any) -> Change:
    """Add a network file system."""
    new = Folder(use="mount", path=path, mount=path, kind=kind, **fields)
    return edit("storage", folders=lambda old: [*old, new])


def rank(pid: int, number: int, **fields: Any) -> Process:
    """Return a rank of some launch."""
    return Process(
        pid=pid, name="python", state="S", same_user=True, rank=str(number), local_rank=str(number), **fields
    )


def stray(*devices: str) -> Process:
    return rank(
        3111, 2, parent=1, parent_name="systemd", orphaned=True, age_seconds=9000.0, devices=list(devices)
    )


def on_gpu_0(snapshot: Snapshot) -> Snapshot:
    """Four ranks of a launch, all of them on GPU 0."""
    four = [rank(5000 + n, n, parent=4999, parent_name="torchrun") for n in range(4)]
    held = [GpuProcess(pid=p.pid, memory_bytes=3 * GIB, name="python", own=True) for p in four]
    return both(edit("processes", ranks=four), gpu(0, processes=held))(snapshot)


def at_0_too(snapshot: Snapshot) -> Snapshot:
    """Four ranks, each on its own GPU; all of them hold GPU 0 as well."""
    four = [rank(5000 + n, n, parent=4999, parent_name="torchrun") for n in range(4)]
    held = [GpuProcess(pid=p.pid, memory_bytes=3 * GIB, name="python", own=True) for p in four]
    own = [gpu(n, processes=[held[n]]) for n in range(1, 4)]
    return both(edit("processes", ranks=four), gpu(0, processes=held), *own)(snapshot)


def log(kind: str, text: str, process: str = "", seconds: float | None = None) -> Change:
    return put(kernel_log=KernelLog(
        source="/dev/kmsg", events=[KernelEvent(kind=kind, text=text, process=process, seconds=seconds)]
    ))  # fmt: skip


FAULTS = [
    # shared memory
    Fault(
        "shm-docker-default",
        "container-all",
        edit("host", shm_bytes=64 * MIB, shm_free_bytes=64 * MIB),
        "shm-too-small",
    ),
    Fault(
        "shm-one-gpu",
        "pod-1-of-8",
        edit("host", shm_bytes=64 * MIB, shm_free_bytes=64 * MIB),
        "shm-too-small",
    ),
    Fault(
        "shm-full",
        "board-8xh100",
        edit("host", shm_free_bytes=20 * MIB),
        "shm-too-small",
        says="20.0 MiB of it free",
    ),
    Fault(
        "shm-nccl-left",
        "board-8xa100",
        edit("processes", segments=[SharedSegment(name=f"nccl-aB{n}dEf", bytes=9637888) for n in range(12)]),
        "shm-leftovers",
        says="12 segments",
    ),
    Fault(
        "shm-torch-left",
        "workstation-2x4090",
        edit("processes", segments=[SharedSegment(name="torch_4711_880_0", bytes=200 * MIB, same_user=True)]),
        "shm-leftovers",
        says="torch_4711_880_0",
    ),
    # limits
    Fault(
        "memlock-infiniband",
        "board-8xh100",
        limit("memlock", 8 * MIB, 8 * MIB),
        "memlock-limit",
        says="8.0 MiB",
    ),
    Fault("memlock-64k", "srun-rank", limit("memlock", 65536, 65536), "memlock-limit", says="64.0 KiB"),
    Fault(
        "memlock-right",
        "board-8xh200",
        both(limit("memlock", 65536), edit("host", capabilities=["ipc_lock"])),
        "memlock-limit",
        note=True,
    ),
    Fault("nofile-90", "laptop-without-gpu", limit("nofile", 90, 90), "nofile-limit", says="90"),
    Fault(
        "files-of-the-whole-machine",
        "board-8xh100",
        edit("host", files_open=3_100_000, files_max=3_250_000),
        "nofile-limit",
        says="all processes of this machine",
    ),
    Fault("nofile-512", "board-8xh100", limit("nofile", 512, 4096), "nofile-limit", says="raised to 4096"),
    Fault(
        "nofile-many-ranks",
        "srun-torchrun-per-node",
        variables(WORLD_SIZE="1024", GROUP_WORLD_SIZE="128", ROLE_WORLD_SIZE="1024"),
        "nofile-limit",
        says="1024 ranks",
    ),
    Fault("pids-full", "pod-8", group(pids_max=256, pids_current=200), "pids-limit", says="256"),
    Fault("pids-few", "container-2-of-8", group(pids_max=40, pids_current=12), "pids-limit"),
    Fault(
        "pids-nearly",
        "workstation-4090",
        group(pids_max=10000, pids_current=9500),
        "pids-limit",
        says="nearly full",
    ),
    Fault("threads-few", "board-8xh100", limit("nproc", 500, 500), "thread-limit", says="500"),
    Fault(
        "threads-used",
        "workstation-4090",
        both(limit("nproc", 4096, 4096), edit("processes", user_threads=4090)),
        "thread-limit",
        says="has 4090",
    ),
    # memory
    Fault(
        "memory-limit-small",
        "pod-8",
        group(memory_max_bytes=4 * GIB, memory_used_bytes=GIB),
        "cgroup-memory",
        says="4.0 GiB",
    ),
    Fault("memory-limit-half-gib", "pod-1-of-8", group(memory_max_bytes=GIB // 2), "cgroup-memory"),
    Fault(
        "memory-limit-reached",
        "srun-rank",
        group(memory_max_bytes=64 * GIB, memory_used_bytes=62 * GIB),
        "cgroup-memory",
        says="62.0 GiB",
    ),
    Fault(
        "memory-host-used",
        "board-8xa100",
        edit("host", memory_available_bytes=3 * GIB),
        "cgroup-memory",
        says="3.0 GiB",
    ),
    Fault(
        "oom-in-group",
        "pod-8",
        group(memory_max_bytes=64 * GIB, oom_kills=3),
        "host-oom-killed",
        says="3 processes",
    ),
    Fault(
        "oom-in-log",
        "board-8xh100",
        log(
            "oom-kill",
            "oom-kill:constraint=CONSTRAINT_NONE,task=python,pid=4711,uid=1000",
            "python",
            86400.0 * 20 - 1800,
        ),
        "host-oom-killed",
        says="killed python",
    ),
    Fault(
        "oom-long-ago",
        "board-8xh100",
        log(
            "oom-kill", "oom-kill:constraint=CONSTRAINT_NONE,task=python,pid=4711,uid=1000", "python", 3600.0
        ),
        "host-oom-killed",
        note=True,
    ),
    # processors
    Fault(
        "omp-too-many", "torchrun-rank", variables(OMP_NUM_THREADS="64"), "omp-threads", says="512 threads"
    ),
    Fault(
        "omp-beyond",
        "workstation-4090",
        variables(OMP_NUM_THREADS="256"),
        "omp-threads",
        note=True,  # one process: MKL starts no more threads than there are processors
        says="24 processors",
    ),
    Fault("omp-zero", "laptop-without-gpu", variables(OMP_NUM_THREADS="0"), "omp-threads"),
    Fault(
        "omp-word",
        "board-8xh100",
        variables(OMP_NUM_THREADS="all"),
        "omp-threads",
        says="OMP_NUM_THREADS=all",
    ),
    Fault("omp-unset", "torchrun-rank", variables(OMP_NUM_THREADS=None), "omp-threads", note=True),
    Fault("cpu-quota", "container-all", edit("host", cpu_quota=4.0), "cpus-per-rank", says="a quota of 4"),
    Fault(
        "cpu-affinity",
        "board-8xh100",
        edit("host", cpus_usable=4, affinity="0-3"),
        "cpus-per-rank",
        says="4 of this",
    ),
    Fault(
        "cpu-slurm-one",
        "srun-one-gpu-per-task",
        both(variables(SLURM_CPUS_PER_TASK=None), edit("host", cpus_usable=1)),
        "cpus-per-rank",
        says="this rank",
    ),
    Fault("cpu-pod-half", "pod-1-of-8", edit("host", cpu_quota=0.5), "cpus-per-rank", says="a quota of 0.5"),
    Fault(
        "numa-balancing-on",
        "cloud-8xh100-efa",
        edit(
            "host",
            numa=Numa(balancing=True, nodes=[NumaNode(node=0, cpus="0-63"), NumaNode(node=1, cpus="64-127")]),
        ),
        "numa-balancing",
        note=True,
    ),
    Fault(
        "governor-slow",
        "workstation-4090",
        edit("host", numa=Numa(governors={"powersave": 24}, governor_driver="acpi-cpufreq")),
        "cpu-governor",
        note=True,
    ),
    Fault(
        "governor-server",
        "board-8xh100",
        edit("host", numa=lambda old: replace(old, governors={"powersave": 128})),
        "cpu-governor",
        note=True,
    ),
    # processes
    Fault(
        "rank-in-d",
        "board-8xa100",
        edit("processes", stuck=[Process(pid=77, name="python", state="D", waits_in="nv_alloc_pages")]),
        "stuck-processes",
        says="nv_alloc_pages",
    ),
    Fault(
        "nvidia-smi-in-d",
        "server-4xt4",
        edit("processes", stuck=[Process(pid=n, name="nvidia-smi", state="D") for n in (80, 81, 82, 83)]),
        "stuck-processes",
        says="and 1 more",
    ),
    Fault(
        "zombies",
        "container-all",
        edit(
            "processes",
            zombies=[
                Process(pid=n, name="python", state="Z", parent=1, parent_name="sleep")
                for n in (9, 10, 11, 12)
            ],
        ),
        "stuck-processes",
        says="sleep (pid 1)",
    ),
    Fault(
        "rank-hung",
        "board-8xa100",
        log(
            "hung-task",
            "INFO: task python:4711 blocked for more than 120 seconds.",
            "python",
            86400.0 * 20 - 600,
        ),
        "stuck-processes",
        says="waited inside the kernel",
    ),
    Fault(
        "stray-rank-with-memory",
        "workstation-2x4090",
        both(
            edit("processes", ranks=[stray("/dev/nvidia1")]),
            gpu(
                1,
                memory_used_bytes=9 * GIB,
                processes=[GpuProcess(pid=3111, memory_bytes=8 * GIB, name="python")],
            ),
        ),
        "stray-ranks",
        also=("gpu-memory-held",),
        says="GPU 1",
    ),
    Fault(
        "stray-rank-at-the-port",
        "torchrun-rank",
        both(
            variables(RANK="0", LOCAL_RANK="0", ROLE_RANK="0"),
            edit("processes", ranks=lambda old: [*old, stray()]),
            edit("sockets", listeners=lambda old: [*old, Listener(port=29500, pid=3111, command="python")]),
        ),
        "stray-ranks",
        says="port 29500",
    ),
    Fault(
        "stray-rank",
        "board-8xh100",
        edit("processes", ranks=[stray("/dev/nvidia2")]),
        "stray-ranks",
        says="GPU 2",
    ),
    Fault(
        "stray-holds-port",
        "torchrun-rank",
        both(
            edit("processes", ranks=lambda old: [*old, stray()]),
            edit("sockets", listeners=lambda old: [*old, Listener(port=29777, pid=3111, command="python")]),
        ),
        "stray-ranks",
        says="port 29777",
    ),
    Fault(
        "every-rank-on-gpu-0",
        "board-8xh100",
        on_gpu_0,
        "rank-device-unset",
        says="all work on GPU 0",
    ),
    Fault(
        "checkpoint-on-gpu-0",
        "board-8xa100",
        at_0_too,
        "rank-device-unset",
        says="besides their own",
    ),
    # disks
    Fault("disk-full", "board-8xh100", folder("working folder", free_bytes=0), "disk-full", says="0 B"),
    Fault(
        "tmp-full",
        "torchrun-rank",
        folder("temporary files", mount="/tmp", kind="tmpfs", total_bytes=2 * GIB, free_bytes=40 * MIB),
        "disk-full",
        says="temporary files",
    ),
    Fault(
        "home-full",
        "srun-rank",
        folder("home", total_bytes=50 * GIB, free_bytes=300 * MIB),
        "disk-full",
        says="home",
    ),
    Fault(
        "inodes-gone", "workstation-4090", folder("working folder", inodes_free=0), "disk-full", says="inodes"
    ),
    Fault(
        "disk-turned-read-only",
        "board-8xa100",
        folder("working folder", mount="/work", read_only=True, file_system_read_only=True, writable=False),
        "disk-full",
        says="read-only",
    ),
    Fault(
        "no-temporary-folder", "pod-8", edit("storage", temporary=None), "disk-full", says="no folder takes"
    ),
    Fault(
        "tmpdir-missing",
        "srun-rank",
        folder(
            "temporary files",
            path="/scratch/4711",
            variable="TMPDIR",
            error="No such file or directory",
            error_code=2,
            total_bytes=None,
            free_bytes=None,
            inodes=None,
            inodes_free=None,
        ),
        "disk-full",
        says="there is no such folder",
    ),
    Fault(
        "home-stalled",
        "srun-rank",
        folder("home", stalled=True, seconds=None),
        "storage-stalled",
        says="did not answer in 4 s",
    ),
    Fault(
        "data-stale",
        "board-8xh100",
        mounted("/data", "nfs4", error="Stale file handle", error_code=116),
        "storage-stalled",
        says="/data (nfs4) cannot be read",
    ),
    Fault(
        "fuse-dead",
        "pod-8",
        mounted("/mnt/bucket", "fuse.gcsfuse", error="Transport endpoint is not connected", error_code=107),
        "storage-stalled",
    ),
    Fault(
        "data-slow", "srun-rank", mounted("/lustre", "lustre", seconds=3.2), "storage-stalled", says="3.2 s"
    ),
    Fault(
        "nfs-in-log",
        "board-8xh100",
        log("nfs", "nfs: server filer1 not responding, still trying"),
        "storage-stalled",
    ),
    Fault(
        "kernel-3.10",
        "server-4xt4",
        edit("host", kernel="3.10.0-1160.el7.x86_64"),
        "kernel-too-old",
        says="3.10.0",
    ),
    Fault("kernel-5.4", "server-4xt4", edit("host", kernel="5.4.0-200-generic"), "kernel-too-old", note=True),
    # launch variables
    Fault(
        "world-too-small",
        "torchrun-rank",
        variables(WORLD_SIZE="4", RANK="1", LOCAL_RANK="1"),
        "launch-inconsistent",
    ),
    Fault("one-group", "torchrun-rank", variables(WORLD_SIZE="16"), "launch-inconsistent", says="one node"),
    Fault(
        "rank-not-due", "srun-torchrun-per-node", variables(RANK="3"), "launch-inconsistent", says="makes 11"
    ),
    Fault(
        "local-rank-word", "torchrun-rank", variables(LOCAL_RANK="three"), "launch-inconsistent", says="three"
    ),
    Fault(
        "more-ranks-than-gpus",
        "workstation-2x4090",
        variables(
            RANK="1",
            WORLD_SIZE="4",
            LOCAL_RANK="1",
            LOCAL_WORLD_SIZE="4",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29511",
        ),
        "launch-inconsistent",
        says="2 GPUs",
    ),
    Fault(
        "rank-of-batch-script",
        "srun-rank",
        variables(RANK="0", WORLD_SIZE="16", LOCAL_RANK="0", MASTER_ADDR="node1", MASTER_PORT="29511"),
        "launch-inconsistent",
        says="SLURM_PROCID is 9",
    ),
    Fault(
        "world-zero",
        "board-8xh100",
        variables(RANK="0", WORLD_SIZE="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29511"),
        "launch-inconsistent",
    ),
    Fault(
        "rank-beyond", "torchrun-rank", variables(RANK="8", **TORCHRUN), "rank-out-of-range", says="0 to 7"
    ),
    Fault(
        "slurm-one-gpu-local-rank",
        "srun-one-gpu-per-task",
        variables(RANK="9", WORLD_SIZE="16", LOCAL_RANK="1", MASTER_ADDR="node1", MASTER_PORT="29511"),
        "slurm-gpu-binding",
        says="cuda:1 does not exist",
    ),
    Fault(
        "slurm-torchrun-one-gpu",
        "srun-one-gpu-per-task",
        variables(
            TORCHELASTIC_RUN_ID="1",
            RANK="5",
            WORLD_SIZE="8",
            LOCAL_RANK="1",
            LOCAL_WORLD_SIZE="4",
            GROUP_RANK="1",
            GROUP_WORLD_SIZE="2",
            MASTER_ADDR="node1",
            MASTER_PORT="29511",
            SLURM_STEP_NUM_TASKS="2",
            SLURM_NTASKS="2",
            SLURM_STEP_TASKS_PER_NODE="1(x2)",
            SLURM_LOCALID="0",
            SLURM_PROCID="1",
            OMP_NUM_THREADS="1",
        ),
        "slurm-gpu-binding",
        says="torchrun's ranks share",
    ),
    Fault(
        "torchrun-in-every-task",
        "srun-rank",
        variables(
            TORCHELASTIC_RUN_ID="1",
            RANK="3",
            WORLD_SIZE="8",
            LOCAL_RANK="3",
            LOCAL_WORLD_SIZE="8",
            GROUP_RANK="0",
            GROUP_WORLD_SIZE="1",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29511",
            OMP_NUM_THREADS="1",
        ),
        "slurm-task-mismatch",
        says="64 processes for 8 GPUs",
    ),
    Fault(
        "world-not-tasks",
        "srun-rank",
        variables(RANK="9", WORLD_SIZE="32", LOCAL_RANK="1", MASTER_ADDR="node1", MASTER_PORT="29511"),
        "slurm-task-mismatch",
        says="started 16 tasks",
    ),
    Fault(
        "tasks-beyond-gpus",
        "srun-rank",
        variables(SLURM_GPUS_ON_NODE="4"),
        "slurm-task-mismatch",
        says="8 tasks",
    ),
    Fault(
        "each-node-alone",
        "srun-torchrun-per-node",
        variables(
            SLURM_STEP_NUM_NODES="2",
            SLURM_STEP_NUM_TASKS="2",
            SLURM_STEP_TASKS_PER_NODE="1(x2)",
            GROUP_WORLD_SIZE="1",
            GROUP_RANK="0",
            WORLD_SIZE="8",
            RANK="3",
            ROLE_RANK="3",
            ROLE_WORLD_SIZE="8",
            MASTER_ADDR="127.0.0.1",
        ),
        "slurm-task-mismatch",
        says="side by side",
    ),
    Fault(
        "gloo-no-such",
        "laptop-without-gpu",
        variables(GLOO_DEVICE_TRANSPORT="RDMA"),
        "gloo-device",
        says="no such transport",
    ),
    Fault("gloo-tls", "board-8xh100", variables(GLOO_DEVICE_TRANSPORT="TCP_TLS"), "gloo-device"),
    Fault(
        "port-root",
        "torchrun-rank",
        variables(MASTER_PORT="80", RANK="0", LOCAL_RANK="0"),
        "port-privileged",
        says="80",
    ),
    Fault(
        "port-taken",
        "torchrun-rank",
        both(
            variables(RANK="0", LOCAL_RANK="0", ROLE_RANK="0"),
            edit("sockets", listeners=lambda old: [*old, Listener(port=29500, pid=99, command="python")]),
        ),
        "port-in-use",
        says="29500",
    ),
    # every wrong form of CUDA_VISIBLE_DEVICES
    Fault(
        "visible-none",
        "board-8xh100",
        variables(CUDA_VISIBLE_DEVICES=""),
        "cuda-visible-devices",
        says="hides all",
    ),
    Fault(
        "visible-minus-first",
        "board-8xh100",
        variables(CUDA_VISIBLE_DEVICES="-1,0,1"),
        "cuda-visible-devices",
    ),
    Fault(
        "visible-word",
        "workstation-4090",
        variables(CUDA_VISIBLE_DEVICES="all"),
        "cuda-visible-devices",
        says="names all",
    ),
    Fault(
        "visible-mixed",
        "board-8xh100",
        variables(CUDA_VISIBLE_DEVICES="0,GPU-00000001"),
        "cuda-visible-devices",
    ),
    Fault(
        "visible-bad-uuid",
        "board-8xh100",
        variables(CUDA_VISIBLE_DEVICES="GPU-deadbeef-0000"),
        "cuda-visible-devices",
    ),
    Fault(
        "visible-gap",
        "board-8xa100",
        variables(CUDA_VISIBLE_DEVICES="0,,1"),
        "cuda-visible-devices",
        says="names nothing",
    ),
    Fault(
        "visible-bad-mig",
        "mig-7-slices",
        variables(CUDA_VISIBLE_DEVICES="MIG-deadbeef"),
        "cuda-visible-devices",
    ),
    Fault("visible-semicolon", "board-8xh100", variables(CUDA_VISIBLE_DEVICES="8;9"), "cuda-visible-devices"),
    Fault(
        "local-rank-beyond",
        "workstation-2x4090",
        variables(
            RANK="2",
            WORLD_SIZE="4",
            LOCAL_RANK="2",
            LOCAL_WORLD_SIZE="4",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29511",
        ),
        "cuda-visible-devices",
        says="LOCAL_RANK is 2",
    ),
    Fault(
        "shm-few-inodes",
        "board-8xh100",
        edit("host", shm_inodes_free=12),
        "shm-too-small",
        says="12 more files",
    ),
    Fault(
        "tmpdir-noexec",
        "board-8xh100",
        folder("temporary files", variable="TMPDIR", no_exec=True),
        "triton-toolchain",
        says="mounted noexec",
    ),
    Fault(
        "pid-max-low",
        "server-8xl40s",
        edit("host", pid_max=4096, threads_max=4_000_000, threads=1900),
        "pids-limit",
        says="(kernel.pid_max)",
    ),
    Fault("file-size-limit", "board-8xa100", limit("fsize", GIB), "resource-limit", says="ulimit -f"),
    Fault("address-space-limit", "board-8xh100", limit("as", 64 * GIB), "resource-limit", says="ulimit -v"),
    Fault(
        "preload-missing",
        "workstation-2x4090",
        both(
            variables(LD_PRELOAD="/opt/libtcmalloc.so.4"),
            edit("python", not_preloaded=["/opt/libtcmalloc.so.4"]),
        ),
        "variable-dangerous",
        says="could not load /opt/libtcmalloc.so.4",
    ),
]
