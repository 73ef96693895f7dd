"""The limit on locked memory (ulimit -l) is too low for RDMA.

## What happens

`ibv_reg_mr` or `ibv_create_cq` fails with "Cannot allocate memory", and NCCL ends, or leaves InfiniBand aside and takes
TCP, which is many times slower.

## Why

An RDMA network card reads and writes memory itself, so the pages that it uses are locked. `RLIMIT_MEMLOCK` limits how
much a process may lock, by default 64 KiB or 8 MiB; NCCL's buffers are more. Root with the right CAP_IPC_LOCK is not
limited, and neither is a container that was given it. The limit comes from whoever starts the process: the login or
containerd. Slurm gives a job the soft limit of the shell that submitted it, as far as slurmd's own hard limit allows,
unless the site leaves MEMLOCK out (`PropagateResourceLimitsExcept`).

## How to tell

`ulimit -l` where the training runs (`srun bash -c 'ulimit -l'`): it should say unlimited.

## See also

- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): "ibv_reg_mr failed", and the limit
- [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html): RLIMIT_MEMLOCK
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, byte_size
from gpudoctor.facts import Gpus, Host, Launch

# NCCL asks for unlimited; what is a large part of the memory is as good.
ENOUGH = 64 << 30

USER = Fix("Raise it as far as you may", "ulimit -l $(ulimit -Hl)")
DOCKER = Fix("In docker: start the container without the limit", "docker run --ulimit memlock=-1 IMAGE")
POD = Fix(
    "In Kubernetes: give the container the right, in the pod's specification",
    "securityContext: {capabilities: {add: [IPC_LOCK]}}",
    Kind.ADMIN,
)
PROPAGATE = Fix(
    "Under Slurm: take slurmd's limit and not that of the shell which submits; it should print unlimited",
    "srun --propagate=NONE bash -c 'ulimit -l'",
)
SLURM = Fix(
    "Under Slurm, where that prints a number too: no job gets more than slurmd has",
    "sudo systemctl edit slurmd  # [Service] LimitMEMLOCK=infinity; then: sudo systemctl restart slurmd",
    Kind.ADMIN,
)
LIMITS = Fix(
    "For logins, in force after the next one",
    "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-memlock.conf",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where nothing says that several nodes train, or where the process has CAP_IPC_LOCK",
    fixes=[USER, PROPAGATE, DOCKER, POD, SLURM, LIMITS],
    no_reproduction="needs RDMA hardware",
)


@check.environment
def environment(host: Host, gpus: Gpus | None, launch: Launch | None) -> Iterator[Finding]:
    """There are RDMA devices, and the limit on locked memory is finite."""
    if not host.rdma and not host.lock_refused:
        return
    limit = host.limits.get("memlock")
    if limit is None:
        raise CannotTell("the limit on locked memory (ulimit -l) is not known")
    enough = min(ENOUGH, host.memory_bytes // 2) if host.memory_bytes else ENOUGH
    if limit.soft is None or limit.soft >= enough or (gpus is not None and not gpus.devices):
        return
    if host.lock_refused:
        message = (
            f"a process may lock {byte_size(limit.soft)} of memory, and {host.lock_refused} got none for the RDMA adapter: "
            "NCCL locks more, and fails or falls back to TCP"
        )
        yield check.found(message, severity=Severity.ERROR, fixes=_fixes(host, launch))
        return
    names = ", ".join(list(host.rdma)[:3])
    message = (
        f"a process may lock {byte_size(limit.soft)} of memory, and {names} "
        f"{'is' if len(host.rdma) == 1 else 'are'} RDMA hardware: NCCL locks more, and fails or falls back to TCP"
    )
    if host.may("ipc_lock"):
        message += "; not in this process, which may lock what it likes (CAP_IPC_LOCK)"
    several = ((launch.nodes if launch else None) or 1) > 1
    used = several or "InfiniBand" in host.rdma.values()
    severity = Severity.WARNING if used and not host.may("ipc_lock") else Severity.NOTE
    yield check.found(message, severity=severity, fixes=_fixes(host, launch))


def _fixes(host: Host, launch: Launch | None) -> list[Fix]:
    if host.container == "kubernetes":
        return [POD]
    if host.container in ("docker", "podman"):
        return [Fix(DOCKER.summary, DOCKER.command.replace("docker", host.container))]
    job = launch is not None and "SLURM_JOB_ID" in launch.variables
    return [USER, PROPAGATE, SLURM, LIMITS] if job else [USER, LIMITS]
