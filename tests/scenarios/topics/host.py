"""The operating system of a healthy machine."""

from gpudoctor.facts import Host, Limit
from tests.scenarios.machine import GIB, Machine


def facts(machine: Machine) -> Host:
    """Return a server, a container or a guest with ample memory."""
    shm = machine.memory * GIB // 2
    return Host(
        system="Linux",
        os="Ubuntu 24.04.3 LTS",
        kernel="6.6.87.2-microsoft-standard-WSL2" if machine.wsl else "6.8.0-60-generic",
        machine="x86_64",
        libc="glibc-2.39",
        container=machine.container,
        wsl=machine.wsl,
        cpu_model="Intel(R) Xeon(R) Platinum 8480C",
        cpus=machine.cpus,
        cpus_usable=machine.cpus,
        memory_bytes=machine.memory * GIB,
        memory_available_bytes=machine.memory * GIB * 9 // 10,
        shm_bytes=shm,
        shm_free_bytes=shm,
        limits={
            "memlock": Limit() if machine.infiniband else Limit(soft=8 * 1024**2, hard=8 * 1024**2),
            "nofile": Limit(soft=1024, hard=1048576),
            "nproc": Limit(soft=4126000, hard=4126000),
        },
    )
