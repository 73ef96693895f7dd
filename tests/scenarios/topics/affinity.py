"""Where the processes of a healthy machine may run."""

from gpudoctor.facts import Affinity, cpus_in
from tests.scenarios.machine import Machine


def node_cpus(machine: Machine, node: int) -> str:
    """Return the processors of a NUMA node; of each core the second thread is counted in the upper half."""
    if machine.sockets == 1 or machine.virtual:
        return f"0-{machine.cpus - 1}"
    part = machine.cpus // 4
    return f"{node * part}-{node * part + part - 1},{(node + 2) * part}-{(node + 3) * part - 1}"


def facts(machine: Machine) -> Affinity:
    """Return a process that may run everywhere; a Slurm task with one GPU is bound to that GPU's node."""
    nodes = {str(n): node_cpus(machine, n) for n in range(1 if machine.virtual else machine.sockets)}
    bound = "SLURM_GPUS_PER_TASK" in machine.variables
    return Affinity(
        cpus=sorted(cpus_in(nodes["0"])) if bound else list(range(machine.cpus)),
        online=list(range(machine.cpus)),
        memory_nodes=[int(n) for n in nodes],
        nodes=nodes,
    )
