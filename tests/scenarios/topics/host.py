"""The operating system of a healthy machine."""

from gpudoctor.facts import Cgroup, Host, Limit, Numa, NumaNode
from tests.scenarios.machine import GIB, Machine

PATHS = {"docker": "/", "kubernetes": "/", None: "/user.slice/user-1000.slice/session-2.scope"}


def facts(machine: Machine) -> Host:
    """Return a server, a container or a guest with ample memory."""
    shm = machine.memory * GIB // 2
    own = int(machine.variables.get("SLURM_CPUS_PER_TASK", machine.cpus))
    return Host(
        system="Linux",
        os="Ubuntu 24.04.3 LTS",
        kernel=machine.kernel or ("6.6.87.2-microsoft-standard-WSL2" if machine.wsl else "6.8.0-60-generic"),
        machine="x86_64",
        libc="glibc-2.39",
        container=machine.container,
        wsl=machine.wsl,
        cpu_model="Intel(R) Xeon(R) Platinum 8480C",
        cpus=machine.cpus,
        cpus_usable=own,
        affinity=f"0-{own - 1}",
        memory_bytes=machine.memory * GIB,
        memory_available_bytes=machine.memory * GIB * 9 // 10,
        shm_bytes=shm,
        shm_free_bytes=shm,
        limits={
            "memlock": Limit() if machine.infiniband else Limit(soft=8 * 1024**2, hard=8 * 1024**2),
            "nofile": Limit(soft=1024, hard=1048576),
            "nproc": Limit(soft=4126000, hard=4126000),
            "core": Limit(soft=0),
        },
        root=machine.container is not None,
        capabilities=["net_bind_service"] if machine.container else [],
        unprivileged_port=0 if machine.container == "docker" else 1024,
        rdma=_rdma(machine),
        uptime_seconds=86400.0 * 20,
        core_pattern="|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -F%F -- %E",
        ptrace_scope=1,
        cgroup=Cgroup(
            version=2,
            path=PATHS.get(machine.container, "/"),
            memory_max_bytes=machine.memory_limit * GIB if machine.memory_limit else None,
            memory_used_bytes=GIB if machine.memory_limit else None,
            oom_kills=0,
            pids_max=None if machine.container else 65536,
            pids_current=None if machine.container else 310,
            cpus=f"0-{machine.cpus - 1}",
            mems=f"0-{machine.sockets - 1}",
        ),
        numa=_numa(machine),
    )


def _rdma(machine: Machine) -> dict[str, str]:
    kind = "Unspecified" if machine.efa else "Ethernet" if machine.roce else "InfiniBand"
    name = "rdmap{}s27" if machine.efa else "mlx5_{}"
    return {name.format(n): kind for n in range(machine.infiniband)}


def _numa(machine: Machine) -> Numa:
    each = machine.cpus // machine.sockets
    return Numa(
        nodes=[
            NumaNode(
                node=n, cpus=f"{n * each}-{(n + 1) * each - 1}",
                memory_bytes=machine.memory * GIB // machine.sockets,
                memory_free_bytes=machine.memory * GIB // machine.sockets * 9 // 10,
            )
            for n in range(machine.sockets)
        ],
        # The kernel's default, where there is more than one node.
        balancing=machine.sockets > 1,
        governors={} if machine.virtual or machine.wsl else {"powersave": machine.cpus}
        if machine.sockets == 1
        else {"performance": machine.cpus},
        governor_driver="" if machine.virtual or machine.wsl else "intel_pstate",
        clocksource="kvm-clock" if machine.virtual else "tsc",
    )  # fmt: skip
