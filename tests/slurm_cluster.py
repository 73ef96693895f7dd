"""A real Slurm on this machine: munged, slurmctld and a slurmd for each node, in a temporary folder."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

NEEDED = ("slurmctld", "slurmd", "munged", "srun", "sinfo")
WAIT = 30.0
"""Seconds until all nodes must be idle."""
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}
SlurmctldPort={ports[0]}
FirstJobId={first_job}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PlugStackConfig={folder}/plugstack.conf
"""


def missing() -> str | None:
    """Why no Slurm can be started here; ``None``: it can."""
    if os.geteuid() != 0:
        return "needs root"
    return next((f"needs {name}" for name in NEEDED if shutil.which(name) is None), None)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listening = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in listening:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in listening]


def start(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


@contextlib.contextmanager
def slurm(folder: Path, nodes: int) -> Iterator[dict[str, str]]:
    """Start a cluster of nodes that are this machine; yield the environment in which `srun` finds it."""
    ports = free_ports(1 + nodes)
    host = socket.gethostname().partition(".")[0]
    # a rendezvous takes its port from the job's number, and other workers have clusters on this machine too
    first_job = ports[0]
    text = CONFIGURATION.format(host=f"{host}(127.0.0.1)", folder=folder, ports=ports, first_job=first_job)
    for number in range(nodes):
        text += f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1 + number]} CPUs=2\n"
    text += f"PartitionName=all Nodes=n[0-{nodes - 1}] Default=YES MaxTime=10 State=UP OverSubscribe=YES\n"
    (folder / "slurm.conf").write_text(text)
    (folder / "plugstack.conf").write_text("")
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munge += [f"--key-file={folder}/munge.key", f"--log-file={folder}/munge.log"]
    munge += [f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed"]
    daemons = [munge, ["slurmctld", "-D"], *(["slurmd", "-D", "-N", f"n{number}"] for number in range(nodes))]
    running = []
    try:
        for command in daemons:
            running.append(start(command, environment))
            if command is munge:
                wait_for(lambda: (folder / "munge.socket").exists())
        wait_for(lambda: idle(environment) == nodes)
        yield environment
    finally:
        for process in reversed(running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def idle(environment: dict[str, str]) -> int:
    command = ["sinfo", "--noheader", "--Node", "--format=%T"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=10)
    return sum(state == "idle" for state in done.stdout.split())


def wait_for(condition) -> None:
    ends = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < ends, "Slurm did not start"
        time.sleep(0.2)
